// The codes of a table, and what is precomputed once for all trees grown on it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/categories.hpp"
#include "data/listed_codes.hpp"
#include "data/row_order.hpp"
#include "split/feature_bundles.hpp"
#include "split/sparse_columns.hpp"
#include "target/channels.hpp"

namespace weald::split {

// Immutable; shared by all engines on one table.
struct HistogramTable {
  HistogramTable(const Codes& of_codes, data::Categories of_categories, int n_threads,
                 target::Cells cells = target::Cells::automatic);
  // Of columns whose rows lie in parts elsewhere (tree/parts.hpp): `of_codes` has no rows.
  HistogramTable(const Codes& of_codes, data::Categories of_categories,
                 std::vector<std::uint8_t> column_has_missing);

  // Of sparse columns; `of_codes` has no data.
  HistogramTable(const Codes& of_codes, const data::ListedCodes& of_lists, int n_threads);

  Codes codes;
  data::ListedCodes listed;  // if any, `codes` has no data
  data::Categories categories;
  FeatureBundles bundles;
  Codes counted;  // what histograms are built from: the codes, or the bundles if there are any
  data::Categories counted_categories;
  SparseColumns sparse;  // of `counted`
  WideGroups wide_groups;
  LargeVector<Code> columns;              // column-major codes for partitioning; empty: too large
  std::vector<std::uint8_t> has_missing;  // of each column; 1 also if unknown
  data::RowOrder order;                   // of a small table; empty if histograms are used
};

}  // namespace weald::split
