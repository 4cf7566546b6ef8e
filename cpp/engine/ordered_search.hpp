// The best splits of a small table's nodes, found among their rows instead of among bins.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/row_order.hpp"
#include "split/splitting.hpp"
#include "tree/growing_tree.hpp"
#include "tree/split_engine.hpp"

namespace weald::engine {

// A node of 60 rows has hardly more than 60 different codes in a column, whatever the bins are, and
// of the cuts between them only 21 leave 20 rows on each side: rows in order tell how many those
// are. Every node owns the same range of every column's order. Its split is the one that the search
// over packed cells finds.
//
// Gain with default settings, measured with and without it: BoostedTreesClassifier on 569 x 30 rows
// takes 8.7 ms instead of 19.7 ms of processor time (2.3x), BoostedTreesRegressor 8.9 instead of
// 13.5 ms (1.5x); on 150 x 4 rows 2.0x and 1.5x.
class OrderedSearch {
 public:
  OrderedSearch(const data::RowOrder& order, const Codes& codes, const split::SplitLimits& limits,
                tree::GrowingTree& growing_tree)
      : order_(order), codes_(codes), limits_(limits), growing_tree_(growing_tree) {}

  // Whether the growing_tree's next tree can be grown so.
  bool suits() const;
  void start();
  // As SplitEngine has them.
  std::int64_t send_rows(int node);
  void search(const tree::Siblings& siblings);

 private:
  void divide(const tree::Siblings& siblings);
  void find(int node, data::ColumnLook columns);
  kernels::Ordered* own(int node, std::size_t k);
  const kernels::Ordered* rows_of(int node, std::size_t k);

  const data::RowOrder& order_;
  const Codes& codes_;
  const split::SplitLimits& limits_;
  tree::GrowingTree& growing_tree_;
  // [column][row], twice: the rows of nodes of even and of odd depth. Children are written where
  // their parent is not.
  std::vector<kernels::Ordered> work_[2];
};

}  // namespace weald::engine
