#include "predictor.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace weald {
namespace {

constexpr std::int64_t row_block = 256;
constexpr std::int64_t worth_a_thread = 20'000;  // steps from node to node, roughly

template <class T>
std::int32_t leaf_of(const Forest& forest, std::int64_t first, const Table<T>& table,
                     std::int64_t row) {
  const std::int32_t* const feature = forest.feature + first;
  const double* const threshold = forest.threshold + first;
  const std::int32_t* const right = forest.right + first;
  const std::uint8_t* const missing_left = forest.missing_left + first;
  std::int32_t at = 0;
  while (feature[at] >= 0) {
    const double x = static_cast<double>(table.at(row, feature[at]));
    const bool goes_left = x == x ? x <= threshold[at] : missing_left[at] != 0;
    at = goes_left ? at + 1 : right[at];
  }
  return right[at];
}

// Runs visit(tree, row, leaf) for all pairs, trees in order for each row; blocks of rows in
// parallel.
template <class T, class Visit>
void walk(const Forest& forest, const Table<T>& table, int n_threads, Visit&& visit) {
  const std::int64_t n_blocks = (table.n_rows + row_block - 1) / row_block;
  const bool pays = table.n_rows * forest.n_trees * 8 >= worth_a_thread;
  parallel_for(n_blocks, pays ? n_threads : 1, [&](std::int64_t task, int) {
    const std::int64_t begin = task * row_block;
    const std::int64_t end = std::min(table.n_rows, begin + row_block);
    for (std::int64_t tree = 0; tree < forest.n_trees; ++tree)
      for (std::int64_t row = begin; row < end; ++row)
        visit(tree, row, leaf_of(forest, forest.first_node[tree], table, row));
  });
}

}  // namespace

template <class T>
void predict(const Forest& forest, const Table<T>& table, double* scores, int n_threads) {
  const int n_outputs = forest.n_outputs, n_values = forest.n_values;
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    std::copy(forest.base_score, forest.base_score + n_outputs, scores + row * n_outputs);
  walk(forest, table, n_threads, [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
    const double* const value = forest.value + (forest.first_leaf[tree] + leaf) * n_values;
    const double weight = forest.tree_weight[tree];
    double* const score = scores + row * n_outputs + std::max(forest.output[tree], 0);
    for (int k = 0; k < n_values; ++k) score[k] += weight * value[k];
  });
}

template <class T>
void apply(const Forest& forest, const Table<T>& table, std::int32_t* leaves, int n_threads) {
  walk(forest, table, n_threads, [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
    leaves[row * forest.n_trees + tree] = leaf;
  });
}

template void predict(const Forest&, const Table<float>&, double*, int);
template void predict(const Forest&, const Table<double>&, double*, int);
template void apply(const Forest&, const Table<float>&, std::int32_t*, int);
template void apply(const Forest&, const Table<double>&, std::int32_t*, int);

}  // namespace weald
