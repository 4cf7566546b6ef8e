// Split search for small tables: among the sorted rows of a node instead of among bins.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/row_order.hpp"
#include "split/splitting.hpp"
#include "tree/growing_tree.hpp"
#include "tree/split_engine.hpp"

namespace weald::engine {

// A node of 60 rows has at most 60 distinct codes in a column, however many bins there are, and
// with 20 rows required per leaf only 21 of the splits between them are allowed, which positions in
// the sorted order show directly. Every node owns the same range of every column's order. The split
// is the one that the search over packed cells finds.
//
// Benchmark row `small_breast_cancer` (up to 1,024 rows without missing values): without it a fit
// takes 1.7 times the processor time, with quality="fast" 2.2 times.
class OrderedSearch {
 public:
  OrderedSearch(const data::RowOrder& order, const Codes& codes, const split::SplitLimits& limits,
                tree::GrowingTree& growing_tree)
      : order_(order), codes_(codes), limits_(limits), growing_tree_(growing_tree) {}

  // Whether the next tree can be grown this way.
  bool suits() const;
  void start();
  // As in SplitEngine.
  std::int64_t send_rows(int node);
  void search(const tree::Siblings& siblings);

 private:
  void divide(const tree::Siblings& siblings);
  void find(int node, data::CandidateColumns columns);
  kernels::Ordered* own(int node, std::size_t k);
  const kernels::Ordered* rows_of(int node, std::size_t k);

  const data::RowOrder& order_;
  const Codes& codes_;
  const split::SplitLimits& limits_;
  tree::GrowingTree& growing_tree_;
  // [column][row], twice: nodes of even and of odd depth. Children are written to the buffer that
  // does not hold their parent.
  std::vector<kernels::Ordered> work_[2];
};

}  // namespace weald::engine
