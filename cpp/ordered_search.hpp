// The best splits of a small table's nodes, found among their rows instead of among bins.
#pragma once

#include <cstdint>
#include <vector>

#include "row_order.hpp"
#include "sapling.hpp"
#include "shared.hpp"
#include "split_engine.hpp"
#include "splitting.hpp"

namespace weald {

// A node of 60 rows has hardly more than 60 different codes in a column, whatever the bins are, and
// of the cuts between them only 21 leave 20 rows on each side: rows in order tell how many those
// are. Every node owns the same range of every column's order. Its split is the one that the search
// over packed cells finds.
class OrderedSearch {
 public:
  OrderedSearch(const RowOrder& order, const Codes& codes, const SplitLimits& limits,
                Sapling& sapling)
      : order_(order), codes_(codes), limits_(limits), sapling_(sapling) {}

  // Whether the sapling's next tree can be grown so.
  bool suits() const;
  void start();
  // As SplitEngine has them.
  std::int64_t send_rows(int node);
  void search(const Siblings& siblings);

 private:
  void divide(const Siblings& siblings);
  void find(int node, ColumnLook columns);
  Ordered* own(int node, std::size_t k);
  const Ordered* rows_of(int node, std::size_t k);

  const RowOrder& order_;
  const Codes& codes_;
  const SplitLimits& limits_;
  Sapling& sapling_;
  // [column][row], twice: the rows of nodes of even and of odd depth. Children are written where
  // their parent is not.
  std::vector<Ordered> work_[2];
};

}  // namespace weald
