// The condition by which a split sends rows left, on the codes of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "tree/partition.hpp"

namespace weald::engine {

// `left_set` null: a numerical column. Of a categorical column, and of wide codes, `sides` holds
// the side of each code, and must outlive the test.
inline tree::Partition::Test row_test(const Codes& codes, const data::Categories& categories,
                                      int column, int bin, bool missing_left,
                                      const std::uint64_t* left_set,
                                      std::vector<std::uint8_t>& sides) {
  const Code offset = missing_left ? 0 : 1;
  const auto [first, stride] = codes.column(column);
  tree::Partition::Test test{first, stride, offset, static_cast<Code>(bin - offset)};
  const int wide = categories.wide_place(column);
  if (!left_set && wide < 0) return test;
  const int n_levels = wide >= 0 ? categories.wide[wide].n_levels : codes.n_bins[column];
  sides.assign(static_cast<std::size_t>(n_levels) + 1, missing_left);
  for (int level = 0; level < n_levels; ++level)
    sides[level + 1] = left_set ? data::in_set(left_set, level) : level < bin;
  test.goes_left = sides.data();
  if (wide >= 0) test.wide_codes = categories.wide[wide].codes;
  return test;
}

// The same of a numerical column in lists.
inline tree::Partition::Test row_test(const data::ListedColumn& column, int bin,
                                      bool missing_left) {
  const Code offset = missing_left ? 0 : 1;
  tree::Partition::Test test{nullptr, 0, offset, static_cast<Code>(bin - offset)};
  test.listed = column;
  return test;
}

}  // namespace weald::engine
