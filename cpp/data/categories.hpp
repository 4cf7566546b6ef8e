// Categorical columns of a binned table, and codes too large for a byte.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace weald::data {

// The codes of a column with more categories, or bins of a number, than fit a byte. Its entries in
// `Codes` are all 0 (missing), so that column indices stay the same.
struct WideColumn {
  int column;
  const std::uint16_t* codes;  // [rows]; 0 is missing
  std::int32_t n_levels;
  bool is_number = false;
};

// The code of a category is one more than its level (its index in the column plan); levels are
// unordered.
struct Categories {
  std::vector<std::uint8_t> is_category;  // of each column; empty: no categorical columns
  std::vector<WideColumn> wide;           // by column

  bool holds(int column) const { return !is_category.empty() && is_category[column] != 0; }
  // Index of a column in `wide`; -1: its codes are bytes.
  int wide_place(int column) const {
    for (std::size_t w = 0; w < wide.size(); ++w)
      if (wide[w].column == column) return static_cast<int>(w);
    return -1;
  }
  bool has_wide_numbers() const {
    for (const WideColumn& one : wide)
      if (one.is_number) return true;
    return false;
  }
};

// A set of levels as a bit mask.
using LevelSet = std::vector<std::uint64_t>;

inline bool in_set(const std::uint64_t* words, std::int64_t level) {
  return (words[level / 64] >> (level % 64) & 1) != 0;
}

}  // namespace weald::data
