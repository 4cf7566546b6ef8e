#include "predict/predictor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
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

// Codes of a categorical column: level + 1, 0 for values that are no level.
template <class T>
void encode_levels(const T* x, std::int64_t n, Code* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const bool in_range = x[i] >= T{0} && x[i] < T{max_value_bins};
    const int level = in_range ? static_cast<int>(x[i]) : -1;
    out[i] = static_cast<Code>(in_range && static_cast<T>(level) == x[i] ? level + 1 : 0);
  }
}

template <class T>
void encode(const T* x, std::int64_t n, const kernels::PaddedCuts<T>& cuts, Code* out) {
  if constexpr (sizeof(T) == 4)
    kernels::active().encode_float(x, n, cuts, out, 1);
  else
    kernels::active().encode_double(x, n, cuts, out, 1);
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

}  // namespace

Predictor::Predictor(const tree::Forest& forest, std::int64_t n_columns)
    : forest_(forest), n_columns_(n_columns) {
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
  values_.resize(static_cast<std::size_t>(forest.n_leaves * forest.n_values));
  for (std::int64_t t = 0; t < forest.n_trees; ++t)
    for (std::int64_t i = forest.first_leaf[t] * forest.n_values;
         i < forest.first_leaf[t + 1] * forest.n_values; ++i)
      values_[i] = forest.tree_weight[t] * forest.value[i];
  prepare_masks(n_columns);
}

// Codes by the thresholds of each column; if a column has too many of them, or a tree too many
// leaves, the forest is traversed node by node.
void Predictor::prepare_masks(std::int64_t n_columns) {
  for (std::int64_t t = 0; t < forest_.n_trees; ++t)
    if (forest_.first_leaf[t + 1] - forest_.first_leaf[t] > kernels::max_mask_leaves) return;
  std::vector<std::vector<double>> thresholds(static_cast<std::size_t>(n_columns));
  std::vector<std::uint8_t> has_threshold(static_cast<std::size_t>(n_columns), 0);
  std::vector<std::uint8_t> is_used(static_cast<std::size_t>(n_columns), 0);
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    const std::int32_t column = forest_.feature[i];
    if (column < 0) continue;
    is_used[column] = 1;
    if (forest_.set_of(i) >= 0) continue;
    has_threshold[column] = 1;
    thresholds[column].push_back(forest_.threshold[i]);
  }
  if (!prepare_sets(has_threshold)) return;
  std::vector<std::int32_t> slot(static_cast<std::size_t>(n_columns), -1);
  for (std::int64_t column = 0; column < n_columns; ++column) {
    auto& cuts = thresholds[column];
    if (!is_used[column]) continue;
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    if (cuts.size() >= max_value_bins) return;
    slot[column] = static_cast<std::int32_t>(used_columns_.size());
    used_columns_.push_back(static_cast<std::int32_t>(column));
    thresholds_.push_back(cuts);
  }
  mask_nodes_.resize(static_cast<std::size_t>(forest_.n_nodes));
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    if (forest_.feature[i] < 0) {
      mask_nodes_[i] = {-1, 0, 0, static_cast<Code>(forest_.right[i]), -1};
      continue;
    }
    if (const std::int32_t set = forest_.set_of(i); set >= 0) {
      mask_nodes_[i] = {slot[forest_.feature[i]], forest_.right[i], 0, 0, set};
      continue;
    }
    const auto& cuts = thresholds[forest_.feature[i]];
    const auto at = std::lower_bound(cuts.begin(), cuts.end(), forest_.threshold[i]);
    const Code offset = forest_.missing_left[i] ? 0 : 1;
    mask_nodes_[i] = {slot[forest_.feature[i]], forest_.right[i], offset,
                      static_cast<Code>(at - cuts.begin() + 1 - offset), -1};
  }
  for (std::int64_t t = 0; t < forest_.n_trees; ++t)
    mask_trees_.push_back({mask_nodes_.data() + forest_.first_node[t],
                           static_cast<int>(forest_.first_node[t + 1] - forest_.first_node[t]),
                           values_.data() + forest_.first_leaf[t] * forest_.n_values,
                           std::max(forest_.output[t], 0), code_sets_.data()});
  has_masks_ = true;
}

// Sets of codes (level + 1); false if a set has more levels than fit a byte, or a column has both
// sets and thresholds.
bool Predictor::prepare_sets(const std::vector<std::uint8_t>& has_threshold) {
  code_sets_.resize(static_cast<std::size_t>(forest_.n_sets));
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    const std::int32_t set = forest_.set_of(i);
    if (set < 0) continue;
    if (has_threshold[forest_.feature[i]]) return false;
    const bool missing_left = forest_.missing_left[i] != 0;
    const std::int64_t n_levels = (forest_.first_word[set + 1] - forest_.first_word[set]) * 64;
    kernels::CodeSet& codes = code_sets_[set];
    codes = {};
    for (std::int64_t code = 0; code <= std::max<std::int64_t>(n_levels, max_value_bins); ++code) {
      const bool left = code == 0
                            ? missing_left
                            : forest_.sends_left(set, static_cast<double>(code - 1), missing_left);
      if (code > max_value_bins && left != missing_left) return false;
      if (code <= max_value_bins && left) codes.words[code / 64] |= std::uint64_t{1} << code % 64;
    }
  }
  return true;
}

template <class T>
void Predictor::predict(const data::Table<T>& table, double* scores, int n_threads,
                        Engine engine) const {
  // Binning does not pay for a few rows, nor for many columns used by few nodes; plain traversal
  // needs no preparation.
  const bool pays_to_code = table.n_rows >= kernels::mask_rows &&
                            forest_.n_nodes >= 4 * static_cast<std::int64_t>(thresholds_.size());
  const bool masks =
      has_masks_ && (engine == Engine::masks || (engine == Engine::automatic && pays_to_code));
  if (engine == Engine::batch || (engine == Engine::automatic && !masks && pays_as_batch(table)))
    return predict_batch(table, scores, n_threads);
  std::vector<kernels::PaddedCuts<T>> cuts;
  for (std::size_t i = 0; masks && i < thresholds_.size(); ++i)
    cuts.emplace_back(thresholds_[i].data(), static_cast<std::int64_t>(thresholds_[i].size()));
  const std::int64_t n_blocks = (table.n_rows + row_block - 1) / row_block;
  const bool pays = table.n_rows * forest_.n_trees >= worth_a_thread;
  parallel_for(n_blocks, pays ? n_threads : 1, [&](std::int64_t task, int) {
    const std::int64_t begin = task * row_block;
    const std::int64_t end = std::min(table.n_rows, begin + row_block);
    masks ? predict_masks(table, cuts, begin, end, scores)
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

template <class T>
void Predictor::predict_masks(const data::Table<T>& table,
                              const std::vector<kernels::PaddedCuts<T>>& cuts, std::int64_t begin,
                              std::int64_t end, double* scores) const {
  const int n_outputs = forest_.n_outputs;
  std::vector<Code> space(used_columns_.size() * kernels::mask_rows + 64);
  Code* const codes = space.data() + (64 - reinterpret_cast<std::uintptr_t>(space.data()) % 64);
  std::vector<double> sums(static_cast<std::size_t>(n_outputs) * kernels::mask_rows);
  for (std::int64_t at = begin; at < end; at += kernels::mask_rows) {
    const std::int64_t n = std::min<std::int64_t>(kernels::mask_rows, end - at);
    for (std::size_t slot = 0; slot < used_columns_.size(); ++slot) {
      T values[kernels::mask_rows] = {};
      for (std::int64_t i = 0; i < n; ++i) values[i] = table.at(at + i, used_columns_[slot]);
      Code* const out = codes + slot * kernels::mask_rows;
      if (thresholds_[slot].empty())
        encode_levels(values, kernels::mask_rows, out);
      else
        encode(values, kernels::mask_rows, cuts[slot], out);
    }
    for (int k = 0; k < n_outputs; ++k)
      std::fill_n(sums.data() + k * kernels::mask_rows, kernels::mask_rows, forest_.base_score[k]);
    kernels::active().add_trees(mask_trees_.data(), forest_.n_trees, forest_.n_values, codes,
                                sums.data());
    for (std::int64_t i = 0; i < n; ++i)
      for (int k = 0; k < n_outputs; ++k)
        scores[(at + i) * n_outputs + k] = sums[k * kernels::mask_rows + i];
  }
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
