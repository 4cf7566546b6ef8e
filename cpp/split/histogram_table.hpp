// The codes of a table, and what is made of them once for all trees that are grown on it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/categories.hpp"
#include "data/row_order.hpp"
#include "split/feature_bundles.hpp"
#include "split/sparse_columns.hpp"
#include "target/channels.hpp"

namespace weald::split {

// Engines on one table share it: nothing of it changes from tree to tree.
struct HistogramTable {
  HistogramTable(const Codes& of_codes, data::Categories of_categories, int n_threads,
                 target::Cells cells = target::Cells::automatic);

  Codes codes;
  data::Categories categories;
  FeatureBundles bundles;
  Codes counted;  // what histograms count: the codes, or the bundles if there are any
  data::Categories counted_categories;
  SparseColumns sparse;       // of what is counted
  LargeVector<Code> columns;  // the codes column by column, for sending rows; empty: too large
  std::vector<std::uint8_t> has_missing;  // of each column; 1 also if that was not looked at
  data::RowOrder order;                   // of a small table; none where bins are searched
};

}  // namespace weald::split
