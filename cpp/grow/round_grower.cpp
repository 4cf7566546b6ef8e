#include "grow/round_grower.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"

namespace weald::grow {
namespace {

// Smaller tables give the threads of one tree too little to do.
constexpr std::int64_t small_table = 2'000'000;

// Maximum number of row words kept at once; above it those of eight trees.
constexpr std::int64_t most_words = std::int64_t{1} << 24;

}  // namespace

RoundGrower::RoundGrower(std::function<std::unique_ptr<Grower>()> make,
                         std::shared_ptr<const split::HistogramTable> table, std::int64_t n_rows,
                         int n_columns, int n_threads)
    : make_(std::move(make)),
      table_(std::move(table)),
      n_rows_(n_rows),
      size_(n_rows * n_columns),
      n_threads_(n_threads) {
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
  const bool is_parallel = grows_in_parallel(n_trees), shares = table_ && n_trees > 1;
  const int n_growers =
      is_parallel ? static_cast<int>(std::min<std::int64_t>(n_threads_, n_trees)) : 1;
  while (static_cast<int>(growers_.size()) < n_growers) growers_.push_back(make_());
  std::vector<tree::Tree> trees(targets.size());
  const bool fits = n_rows_ * n_trees <= most_words;
  const std::int64_t step = shares && !fits ? kernels::most_shared : n_trees;
  for (std::int64_t first = 0; first < n_trees; first += step) {
    const std::int64_t size = std::min(step, n_trees - first);
    if (shares) prepare(targets.data() + first, static_cast<std::size_t>(size));
    // A nested loop runs in the thread of its task: see parallel.hpp.
    parallel_for(size, n_growers, [&](std::int64_t i, int worker) {
      const std::int64_t k = first + i;
      trees[k] = shares ? growers_[worker]->grow(root_states_[i], leaf_of_row[k])
                        : growers_[worker]->grow(targets[k], leaf_of_row[k]);
    });
  }
  return trees;
}

void RoundGrower::prepare(const target::Target* targets, std::size_t n_trees) {
  root_states_.resize(n_trees);
  growers_[0]->prepare(targets, root_states_);
  const tree::Partition& rows = growers_[0]->rows();
  count_roots(*table_, rows.holds_all_rows() ? nullptr : rows.at(0), rows.size(), n_threads_,
              root_states_);
}

}  // namespace weald::grow
