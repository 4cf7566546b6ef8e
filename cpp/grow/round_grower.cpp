#include "grow/round_grower.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"

namespace weald::grow {
namespace {

// Smaller tables give the threads of one tree too little to do.
constexpr std::int64_t small_table = 2'000'000;

}  // namespace

RoundGrower::RoundGrower(std::function<std::unique_ptr<Grower>()> make, std::int64_t n_rows,
                         int n_columns, int n_threads)
    : make_(std::move(make)), size_(n_rows * n_columns), n_threads_(n_threads) {
  growers_.push_back(make_());
}

// One tree per thread avoids waiting inside a tree, but threads idle during the last trees.
bool RoundGrower::grows_in_parallel(std::int64_t n_trees) const {
  if (n_threads_ < 2 || n_trees < 2) return false;
  const std::int64_t turns = (n_trees + n_threads_ - 1) / n_threads_;
  return size_ < small_table || 5 * turns * n_threads_ <= 6 * n_trees;
}

std::vector<tree::Tree> RoundGrower::grow(const std::vector<target::Target>& targets,
                                          const std::vector<std::int32_t*>& leaf_of_row) {
  const auto n_trees = static_cast<std::int64_t>(targets.size());
  const int n_growers = grows_in_parallel(n_trees)
                            ? static_cast<int>(std::min<std::int64_t>(n_threads_, n_trees))
                            : 1;
  while (static_cast<int>(growers_.size()) < n_growers) growers_.push_back(make_());
  std::vector<tree::Tree> trees(targets.size());
  // A nested loop runs in the thread of its task: see parallel.hpp.
  parallel_for(n_trees, n_growers, [&](std::int64_t k, int worker) {
    trees[k] = growers_[worker]->grow(targets[k], leaf_of_row[k]);
  });
  return trees;
}

}  // namespace weald::grow
