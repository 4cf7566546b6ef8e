#include "predict/row_masks.hpp"

#include <algorithm>
#include <bit>

namespace weald::predict {
namespace {

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

}  // namespace

RowMasks::RowMasks(const tree::Forest& forest, const double* values, std::int64_t n_columns)
    : forest_(forest) {
  if (!may_fit() || !find_columns(n_columns) || !encode_sets()) return;
  encode_nodes();
  fits_ = collect_trees(values);
  if (!fits_) nodes_ = {};
}

bool RowMasks::pays(std::int64_t n_rows) const {
  return n_rows >= kernels::mask_rows &&
         forest_.n_nodes >= 4 * static_cast<std::int64_t>(thresholds_.size());
}

// Whether all trees are small or have as many leaves as a symmetric tree.
bool RowMasks::may_fit() const {
  for (std::int64_t t = 0; t < forest_.n_trees; ++t) {
    const auto n_leaves =
        static_cast<std::uint64_t>(forest_.first_leaf[t + 1] - forest_.first_leaf[t]);
    if (n_leaves > kernels::max_mask_leaves &&
        (!std::has_single_bit(n_leaves) || n_leaves > kernels::max_symmetric_leaves))
      return false;
  }
  return true;
}

// The columns in use and their thresholds; false if a column has too many, or sets besides.
bool RowMasks::find_columns(std::int64_t n_columns) {
  std::vector<std::vector<double>> thresholds(static_cast<std::size_t>(n_columns));
  std::vector<std::uint8_t> has_set(static_cast<std::size_t>(n_columns), 0);
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    const std::int32_t column = forest_.feature[i];
    if (column < 0) continue;
    if (forest_.set_of(i) >= 0)
      has_set[column] = 1;
    else
      thresholds[column].push_back(forest_.threshold[i]);
  }
  slot_.assign(static_cast<std::size_t>(n_columns), -1);
  for (std::int64_t column = 0; column < n_columns; ++column) {
    auto& cuts = thresholds[column];
    if (cuts.empty() && !has_set[column]) continue;
    if (!cuts.empty() && has_set[column]) return false;
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    if (cuts.size() >= max_value_bins) return false;
    slot_[column] = static_cast<std::int32_t>(used_columns_.size());
    used_columns_.push_back(static_cast<std::int32_t>(column));
    thresholds_.push_back(std::move(cuts));
  }
  return true;
}

// Sets of codes (level + 1); false if a set has more levels than fit a byte.
bool RowMasks::encode_sets() {
  sets_.resize(static_cast<std::size_t>(forest_.n_sets));
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    const std::int32_t set = forest_.set_of(i);
    if (set < 0) continue;
    const bool missing_left = forest_.missing_left[i] != 0;
    const std::int64_t n_levels = (forest_.first_word[set + 1] - forest_.first_word[set]) * 64;
    kernels::CodeSet& codes = sets_[set];
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

void RowMasks::encode_nodes() {
  nodes_.resize(static_cast<std::size_t>(forest_.n_nodes));
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    if (forest_.feature[i] < 0) {
      nodes_[i] = {-1, 0, 0, static_cast<Code>(forest_.right[i]), -1};
      continue;
    }
    const std::int32_t slot = slot_[forest_.feature[i]];
    if (const std::int32_t set = forest_.set_of(i); set >= 0) {
      nodes_[i] = {slot, forest_.right[i], 0, 0, set};
      continue;
    }
    const auto& cuts = thresholds_[slot];
    const auto at = std::lower_bound(cuts.begin(), cuts.end(), forest_.threshold[i]);
    const Code offset = forest_.missing_left[i] ? 0 : 1;
    nodes_[i] = {slot, forest_.right[i], offset, static_cast<Code>(at - cuts.begin() + 1 - offset),
                 -1};
  }
}

// Trees of one output follow each other: the kernel adds several of them at once. Those of each
// output keep their order. False if a large tree is not symmetric.
bool RowMasks::collect_trees(const double* values) {
  for (std::int64_t t = 0; t < forest_.n_trees; ++t) {
    const std::int64_t first = forest_.first_node[t], first_leaf = forest_.first_leaf[t];
    const bool symmetric = is_symmetric(t);
    const auto n_nodes = static_cast<unsigned>(forest_.first_node[t + 1] - first);
    if (!symmetric && forest_.first_leaf[t + 1] - first_leaf > kernels::max_mask_leaves)
      return false;
    const auto n_levels = static_cast<unsigned>(std::bit_width(n_nodes) - 1);
    trees_.push_back({nodes_.data() + first, static_cast<int>(symmetric ? n_levels : n_nodes),
                      symmetric, values + first_leaf * forest_.n_values,
                      std::max(forest_.output[t], 0), sets_.data()});
  }
  std::stable_sort(trees_.begin(), trees_.end(),
                   [](const auto& a, const auto& b) { return a.output < b.output; });
  return true;
}

// Whether all leaves have the same depth, and all nodes of a depth the same split.
bool RowMasks::is_symmetric(std::int64_t tree) const {
  const std::int64_t n_nodes = forest_.first_node[tree + 1] - forest_.first_node[tree];
  const auto n_leaves = static_cast<std::uint64_t>(n_nodes + 1) / 2;
  if (!std::has_single_bit(n_leaves) || n_leaves > kernels::max_symmetric_leaves) return false;
  const kernels::MaskNode* const nodes = nodes_.data() + forest_.first_node[tree];
  const int n_levels = std::countr_zero(n_leaves);
  int depth = 0;
  std::uint64_t leaf = 0;
  for (std::int64_t i = 0; i < n_nodes; ++i) {
    if ((nodes[i].slot < 0) != (depth == n_levels)) return false;
    if (depth == n_levels)
      depth -= std::countr_zero(++leaf);  // of the right child of the last ancestor that waits
    else if (!are_same(nodes[i], nodes[depth++]))  // the first nodes are one of each depth
      return false;
  }
  return true;
}

bool RowMasks::are_same(const kernels::MaskNode& a, const kernels::MaskNode& b) const {
  if (a.slot != b.slot || (a.set < 0) != (b.set < 0)) return false;
  if (a.set < 0) return a.offset == b.offset && a.limit == b.limit;
  return std::ranges::equal(sets_[a.set].words, sets_[b.set].words);
}

template <class T>
std::vector<kernels::PaddedCuts<T>> RowMasks::cuts() const {
  std::vector<kernels::PaddedCuts<T>> cuts;
  for (const auto& one : thresholds_)
    cuts.emplace_back(one.data(), static_cast<std::int64_t>(one.size()));
  return cuts;
}

template <class T>
void RowMasks::predict(const data::Table<T>& table, const std::vector<kernels::PaddedCuts<T>>& cuts,
                       std::int64_t begin, std::int64_t end, double* scores) const {
  const int n_outputs = forest_.n_outputs;
  // Sums of a row are adjacent if trees add to all of them, otherwise those of an output.
  const bool by_row = forest_.n_values > 1;
  const int of_row = by_row ? n_outputs : 1, of_output = by_row ? 1 : kernels::mask_rows;
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
      for (int i = 0; i < kernels::mask_rows; ++i)
        sums[i * of_row + k * of_output] = forest_.base_score[k];
    kernels::active().add_trees(trees_.data(), forest_.n_trees, forest_.n_values, codes,
                                sums.data());
    for (std::int64_t i = 0; i < n; ++i)
      for (int k = 0; k < n_outputs; ++k)
        scores[(at + i) * n_outputs + k] = sums[i * of_row + k * of_output];
  }
}

template std::vector<kernels::PaddedCuts<float>> RowMasks::cuts() const;
template std::vector<kernels::PaddedCuts<double>> RowMasks::cuts() const;
template void RowMasks::predict(const data::Table<float>&,
                                const std::vector<kernels::PaddedCuts<float>>&, std::int64_t,
                                std::int64_t, double*) const;
template void RowMasks::predict(const data::Table<double>&,
                                const std::vector<kernels::PaddedCuts<double>>&, std::int64_t,
                                std::int64_t, double*) const;

}  // namespace weald::predict
