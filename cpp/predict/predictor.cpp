#include "predict/predictor.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/parallel.hpp"
#include "predict/batch_walk.hpp"

namespace weald::predict {
namespace {

constexpr std::int64_t row_block = 256;
constexpr std::int64_t worth_a_thread = 4'000;  // (row, tree) pairs
constexpr int together = 8;                     // rows traversed concurrently
constexpr std::int64_t batch_rows = 256;        // minimum rows to lay trees out for

constexpr std::uint64_t nan_bits = 0x7ff8000000000000;

double leaf_mark(std::int32_t leaf) {
  return std::bit_cast<double>(nan_bits | static_cast<std::uint32_t>(leaf));
}
double set_mark(std::int32_t set) { return -leaf_mark(set); }
bool is_set_mark(double mark) {
  return (std::bit_cast<std::uint64_t>(mark) & ~std::uint64_t{0xffffffff}) ==
         (nan_bits | std::uint64_t{1} << 63);
}
// The payload of a marker NaN.
std::int32_t number_of_mark(double mark) {
  return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(mark) & 0xffffffff);
}

// Next node of a traversal from `at`: the left child is the next node, a leaf its own successor.
//
// Not `?:`, which compilers turn into a branch that is mispredicted half of the time.
template <bool has_sets, class Node, class T>
std::int32_t next_node(const tree::Forest& forest, const Node& node, std::int32_t at, const T* row,
                       std::int64_t stride) {
  const auto x = static_cast<double>(row[(node.feature >> 1) * stride]);
  std::int32_t goes_left = (x <= node.threshold) | ((x != x) & (node.feature & 1));
  if constexpr (has_sets)
    if (is_set_mark(node.threshold))
      goes_left = forest.sends_left(number_of_mark(node.threshold), x, node.feature & 1);
  return node.right + ((at + 1 - node.right) & -goes_left);
}

// Leaf values times the tree weights.
std::vector<double> weighted_values(const tree::Forest& forest) {
  std::vector<double> values(static_cast<std::size_t>(forest.n_leaves * forest.n_values));
  for (std::int64_t t = 0; t < forest.n_trees; ++t)
    for (std::int64_t i = forest.first_leaf[t] * forest.n_values;
         i < forest.first_leaf[t + 1] * forest.n_values; ++i)
      values[i] = forest.tree_weight[t] * forest.value[i];
  return values;
}

}  // namespace

Predictor::Predictor(const tree::Forest& forest, std::int64_t n_columns)
    : forest_(forest),
      n_columns_(n_columns),
      values_(weighted_values(forest)),
      masks_(forest, values_.data(), n_columns) {
  nodes_.resize(static_cast<std::size_t>(forest.n_nodes));
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    for (std::int64_t i = forest.first_node[t]; i < forest.first_node[t + 1]; ++i) {
      if (forest.feature[i] < 0)
        nodes_[i] = {leaf_mark(forest.right[i]), 0,
                     static_cast<std::int32_t>(i - forest.first_node[t])};
      else
        nodes_[i] = {forest.set_of(i) < 0 ? forest.threshold[i] : set_mark(forest.set_of(i)),
                     2 * forest.feature[i] + (forest.missing_left[i] != 0), forest.right[i]};
    }
  }
}

template <class T>
void Predictor::predict(const data::Table<T>& table, double* scores, int n_threads,
                        Engine engine) const {
  const bool masks = masks_.fits() && (engine == Engine::masks ||
                                       (engine == Engine::automatic && masks_.pays(table.n_rows)));
  if (engine == Engine::batch || (engine == Engine::automatic && !masks && pays_as_batch(table)))
    return predict_batch(table, scores, n_threads);
  const auto cuts = masks ? masks_.cuts<T>() : std::vector<kernels::PaddedCuts<T>>{};
  const std::int64_t n_blocks = (table.n_rows + row_block - 1) / row_block;
  const bool pays = table.n_rows * forest_.n_trees >= worth_a_thread;
  parallel_for(n_blocks, pays ? n_threads : 1, [&](std::int64_t task, int) {
    const std::int64_t begin = task * row_block;
    const std::int64_t end = std::min(table.n_rows, begin + row_block);
    masks ? masks_.predict(table, cuts, begin, end, scores)
          : predict_walk(table, begin, end, scores);
  });
}

bool Predictor::has_batch() const {
  return fits_batch<float>(forest_, n_columns_) && fits_batch<double>(forest_, n_columns_);
}

// Laying out a tree costs as much as several traversals.
template <class T>
bool Predictor::pays_as_batch(const data::Table<T>& table) const {
  return table.n_rows >= batch_rows && 4 * table.n_rows * forest_.n_trees >= forest_.n_nodes &&
         fits_batch<T>(forest_, n_columns_);
}

template <class T>
void Predictor::predict_batch(const data::Table<T>& table, double* scores, int n_threads) const {
  const int n_outputs = forest_.n_outputs;
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    std::copy(forest_.base_score, forest_.base_score + n_outputs, scores + row * n_outputs);
  walk_batch(forest_, values_.data(), table, scores, n_threads);
}

// Call visit(tree, row, leaf) for all rows of [begin, end), in the order of the trees for each row.
// Several rows are traversed concurrently to hide memory latency; with too few rows, several trees
// of one row.
template <class T, class Visit>
void Predictor::walk_any(const data::Table<T>& table, std::int64_t begin, std::int64_t end,
                         Visit&& visit) const {
  forest_.n_sets > 0 ? walk<true>(table, begin, end, visit) : walk<false>(table, begin, end, visit);
}

template <bool has_sets, class T, class Visit>
void Predictor::walk(const data::Table<T>& table, std::int64_t begin, std::int64_t end,
                     Visit&& visit) const {
  const std::int64_t rest = end - (end - begin) % together;
  for (std::int64_t tree = 0; tree < forest_.n_trees && begin < rest; ++tree) {
    const WalkNode* const nodes = nodes_.data() + forest_.first_node[tree];
    for (std::int64_t first = begin; first < rest; first += together) {
      std::int32_t at[together] = {};
      const T* rows[together];
      for (int i = 0; i < together; ++i) rows[i] = table.data + (first + i) * table.row_stride;
      for (std::int32_t moved = 1; moved != 0;) {
        moved = 0;
        for (int i = 0; i < together; ++i) {
          const std::int32_t next =
              next_node<has_sets>(forest_, nodes[at[i]], at[i], rows[i], table.column_stride);
          moved |= next ^ at[i];
          at[i] = next;
        }
      }
      for (int i = 0; i < together; ++i)
        visit(tree, first + i, number_of_mark(nodes[at[i]].threshold));
    }
  }
  for (std::int64_t row = rest; row < end; ++row) walk_row<has_sets>(table, row, visit);
}

template <bool has_sets, class T, class Visit>
void Predictor::walk_row(const data::Table<T>& table, std::int64_t row, Visit&& visit) const {
  const T* const values = table.data + row * table.row_stride;
  for (std::int64_t first = 0; first < forest_.n_trees; first += together) {
    const int n = static_cast<int>(std::min<std::int64_t>(together, forest_.n_trees - first));
    std::int32_t at[together] = {};
    // Past the last tree the first one is repeated without visiting, to avoid a branch.
    const WalkNode* trees[together];
    for (int i = 0; i < together; ++i)
      trees[i] = nodes_.data() + forest_.first_node[first + (i < n ? i : 0)];
    for (std::int32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int i = 0; i < together; ++i) {
        const std::int32_t next =
            next_node<has_sets>(forest_, trees[i][at[i]], at[i], values, table.column_stride);
        moved |= next ^ at[i];
        at[i] = next;
      }
    }
    for (int i = 0; i < n; ++i) visit(first + i, row, number_of_mark(trees[i][at[i]].threshold));
  }
}

template <class T>
void Predictor::predict_walk(const data::Table<T>& table, std::int64_t begin, std::int64_t end,
                             double* scores) const {
  const int n_outputs = forest_.n_outputs, n_values = forest_.n_values;
  for (std::int64_t row = begin; row < end; ++row)
    std::copy(forest_.base_score, forest_.base_score + n_outputs, scores + row * n_outputs);
  walk_any(table, begin, end, [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
    const double* const value = values_.data() + (forest_.first_leaf[tree] + leaf) * n_values;
    double* const score = scores + row * n_outputs + std::max(forest_.output[tree], 0);
    for (int k = 0; k < n_values; ++k) score[k] += value[k];
  });
}

template <class T>
void Predictor::apply(const data::Table<T>& table, std::int32_t* leaves, int n_threads) const {
  const std::int64_t n_blocks = (table.n_rows + row_block - 1) / row_block;
  parallel_for(n_blocks, n_threads, [&](std::int64_t task, int) {
    walk_any(table, task * row_block, std::min(table.n_rows, (task + 1) * row_block),
             [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
               leaves[row * forest_.n_trees + tree] = leaf;
             });
  });
}

template void Predictor::predict(const data::Table<float>&, double*, int, Engine) const;
template void Predictor::predict(const data::Table<double>&, double*, int, Engine) const;
template void Predictor::apply(const data::Table<float>&, std::int32_t*, int) const;
template void Predictor::apply(const data::Table<double>&, std::int32_t*, int) const;

}  // namespace weald::predict
