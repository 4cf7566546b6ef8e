#include "grove.hpp"

#include <algorithm>
#include <utility>

#include "parallel.hpp"

namespace weald {
namespace {

// A smaller table gives the threads of one tree too little to do.
constexpr std::int64_t small_table = 2'000'000;

}  // namespace

Grove::Grove(std::function<std::unique_ptr<Grower>()> make, std::int64_t n_rows, int n_columns,
             int n_threads)
    : make_(std::move(make)), size_(n_rows * n_columns), n_threads_(n_threads) {
  growers_.push_back(make_());
}

// A tree a thread spares all waiting inside a tree, but threads idle while the last trees grow.
bool Grove::one_a_thread(std::int64_t n_trees) const {
  if (n_threads_ < 2 || n_trees < 2) return false;
  const std::int64_t turns = (n_trees + n_threads_ - 1) / n_threads_;
  return size_ < small_table || 5 * turns * n_threads_ <= 6 * n_trees;
}

std::vector<Tree> Grove::grow(const std::vector<Target>& targets,
                              const std::vector<std::int32_t*>& leaf_of_row) {
  const auto n_trees = static_cast<std::int64_t>(targets.size());
  const bool side_by_side = one_a_thread(n_trees);
  const int n_growers =
      side_by_side ? static_cast<int>(std::min<std::int64_t>(n_threads_, n_trees)) : 1;
  while (static_cast<int>(growers_.size()) < n_growers) growers_.push_back(make_());
  std::vector<Tree> trees(targets.size());
  // A loop inside a task runs in its own thread: see parallel.hpp.
  parallel_for(n_trees, n_growers, [&](std::int64_t k, int worker) {
    trees[k] = growers_[worker]->grow(targets[k], leaf_of_row[k]);
  });
  return trees;
}

}  // namespace weald
