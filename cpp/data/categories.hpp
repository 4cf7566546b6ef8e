// Which columns of a binned table hold categories, and codes that are too many for a byte.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace weald::data {

// The codes of one column with more levels than a byte has room for. Its bytes among `Codes` are
// all 0, so that it has a place there and no rows.
struct WideColumn {
  int column;
  const std::uint16_t* codes;  // [rows]; 0 is missing
  std::int32_t n_levels;
};

// A category's code is one more than the number of its level; levels have no order.
struct Categories {
  std::vector<std::uint8_t> is_category;  // of each column; empty: there are none
  std::vector<WideColumn> wide;

  bool holds(int column) const { return !is_category.empty() && is_category[column] != 0; }
  // The place of a column in `wide`; -1: its codes are bytes.
  int wide_place(int column) const {
    for (std::size_t w = 0; w < wide.size(); ++w)
      if (wide[w].column == column) return static_cast<int>(w);
    return -1;
  }
};

// Sets of levels: a bit for each.
using LevelSet = std::vector<std::uint64_t>;

inline bool in_set(const std::uint64_t* words, std::int64_t level) {
  return (words[level / 64] >> (level % 64) & 1) != 0;
}

}  // namespace weald::data
