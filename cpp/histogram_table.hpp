// The codes of a table, and what is made of them once for all trees that are grown on it.
#pragma once

#include <cstdint>
#include <vector>

#include "bundles.hpp"
#include "categories.hpp"
#include "channels.hpp"
#include "memory.hpp"
#include "row_order.hpp"
#include "shared.hpp"
#include "unusual.hpp"

namespace weald {

// Engines on one table share it: nothing of it changes from tree to tree.
struct HistogramTable {
  HistogramTable(const Codes& of_codes, Categories of_categories, int n_threads,
                 Cells cells = Cells::automatic);

  Codes codes;
  Categories categories;
  Bundles bundles;
  Codes counted;  // what histograms count: the codes, or the bundles if there are any
  Categories counted_categories;
  Unusual unusual;            // of what is counted
  LargeVector<Code> columns;  // the codes column by column, for sending rows; empty: too large
  std::vector<std::uint8_t> has_missing;  // of each column; 1 also if that was not looked at
  RowOrder order;                         // of a small table; none where bins are searched
};

}  // namespace weald
