// Prediction of many rows with small or symmetric trees.
//
// Benchmark row `predict_200k` (default settings): walking from node to node instead takes 3.3
// times the processor time. docs/decisions/0014-prediction.md has that of other models.
#pragma once

#include <cstdint>
#include <vector>

#include "data/table.hpp"
#include "kernels/kernels.hpp"
#include "tree/forest.hpp"

namespace weald::predict {

// A forest over codes: values become codes by the thresholds of their column, so that a split is a
// comparison of bytes, made for 64 rows at once. A small tree tests all nodes; a symmetric tree
// (complete, one split a level) only one split a level, whose outcomes are the bits of the leaf's
// number.
class RowMasks {
 public:
  // Both must outlive this. `values` are the leaf values times the tree weights.
  RowMasks(const tree::Forest& forest, const double* values, std::int64_t n_columns);

  // Not if a tree is large and not symmetric, or a column has too many thresholds for a byte.
  bool fits() const { return fits_; }
  // Binning does not pay for a few rows, nor for many columns used by few nodes.
  bool pays(std::int64_t n_rows) const;

  template <class T>
  std::vector<kernels::PaddedCuts<T>> cuts() const;

  // Scores of the rows of [begin, end).
  template <class T>
  void predict(const data::Table<T>& table, const std::vector<kernels::PaddedCuts<T>>& cuts,
               std::int64_t begin, std::int64_t end, double* scores) const;

 private:
  bool may_fit() const;
  bool find_columns(std::int64_t n_columns);
  bool encode_sets();
  void encode_nodes();
  bool collect_trees(const double* values);
  bool is_symmetric(std::int64_t tree) const;
  bool are_same(const kernels::MaskNode& a, const kernels::MaskNode& b) const;

  tree::Forest forest_;
  bool fits_ = false;
  std::vector<std::int32_t> used_columns_;
  std::vector<std::int32_t> slot_;  // of each column among the used ones; -1: unused
  std::vector<std::vector<double>>
      thresholds_;  // of each used column, ascending; empty: it has sets
  std::vector<kernels::CodeSet> sets_;
  std::vector<kernels::MaskNode> nodes_;
  std::vector<kernels::MaskTree> trees_;
};

}  // namespace weald::predict
