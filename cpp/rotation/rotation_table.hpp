// A table made ready for rotations: which columns are turned, what stands for missing values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/memory.hpp"
#include "data/table.hpp"

namespace weald::rotation {

// How a row of the user's table becomes the numbers that members rotate: first the rotated columns,
// then the kept ones as they are (levels, infinities), then one flag for each column of numbers
// that had missing values: 0 if the value is there, NaN if not.
struct RotationColumns {
  std::vector<std::int32_t> rotated, kept, flagged;  // columns of the user's table
  std::vector<double> centre, scale;                 // of the rotated ones

  int n_rotated() const { return static_cast<int>(rotated.size()); }
  int n_columns() const { return static_cast<int>(rotated.size() + kept.size() + flagged.size()); }
  // A rotated column's value: missing ones count as the mean, and no sum of products overflows.
  double ready(int i, double x) const {
    // Not std::clamp, which compilers turn into branches.
    return std::min(std::max((x != x ? centre[i] : x) * scale[i], -largest), largest);
  }

  static constexpr double largest = 0x1p500;
};

// Of a column that had missing values: is this one?
inline double flag_of(double x) { return x != x ? std::numeric_limits<double>::quiet_NaN() : 0.0; }

// What the columns are divided by before they are rotated.
enum class RotationScale { none, range, deviation };

class RotationTable {
 public:
  // Row i is row index[i] of the table; `mass` counts each (null: 1 each). Columns with levels
  // (n_levels > 0) are kept, as are those of infinite or extreme values; a column of one value that
  // is never missing is left out. With `known` columns the table is read as these have it.
  template <class T>
  RotationTable(const data::Table<T>& table, const std::int64_t* index, std::int64_t n_rows,
                const std::int64_t* mass, const std::int64_t* n_levels, RotationScale scale,
                const RotationColumns* known, int n_threads);

  std::int64_t n_rows() const { return n_rows_; }
  const RotationColumns& columns() const { return columns_; }
  const double* values_of(int column) const { return values_.data() + column * n_rows_; }
  // Of a kept column; 0: it holds numbers.
  std::int64_t n_levels(int kept) const { return n_levels_[kept]; }

 private:
  template <class At>
  void find_columns(std::int64_t n_columns, const std::int64_t* mass, const std::int64_t* n_levels,
                    RotationScale scale, int n_threads, At&& at);

  std::int64_t n_rows_;
  RotationColumns columns_;
  std::vector<std::int64_t> n_levels_;
  LargeVector<double> values_;  // column by column
};

}  // namespace weald::rotation
