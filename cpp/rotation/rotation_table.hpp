// A standardised table: which columns are rotated, how missing values are imputed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/memory.hpp"
#include "data/table.hpp"

namespace weald::rotation {

// How a row of the user's table becomes the columns of a tree: first the rotated columns, then the
// kept ones unchanged (categories, columns with infinities), then one flag for each numeric column
// with missing values: 0 if present, NaN if missing.
struct RotationColumns {
  std::vector<std::int32_t> rotated, kept, flagged;  // column indices of the user's table
  std::vector<double> centre, scale;                 // of the rotated columns

  int n_rotated() const { return static_cast<int>(rotated.size()); }
  int n_columns() const { return static_cast<int>(rotated.size() + kept.size() + flagged.size()); }
  // The standardised value of rotated column i. Missing values become the mean; values are clamped
  // so that no sum of products overflows.
  double standardised(int i, double x) const {
    // Not std::clamp, which compiles to branches.
    return std::min(std::max((x != x ? centre[i] : x) * scale[i], -largest), largest);
  }

  static constexpr double largest = 0x1p500;
};

// Missing-value flag.
inline double flag_of(double x) { return x != x ? std::numeric_limits<double>::quiet_NaN() : 0.0; }

// What rotated columns are divided by.
enum class RotationScale { none, range, deviation };

class RotationTable {
 public:
  // Row i is row index[i] of `table` with weight mass[i] (null: 1). Categorical columns (n_levels >
  // 0) and those with infinite or extreme values are kept; constant columns without missing values
  // are dropped. `known`: the columns of an earlier table, used as they are.
  template <class T>
  RotationTable(const data::Table<T>& table, const std::int64_t* index, std::int64_t n_rows,
                const std::int64_t* mass, const std::int64_t* n_levels, RotationScale scale,
                const RotationColumns* known, int n_threads);

  std::int64_t n_rows() const { return n_rows_; }
  const RotationColumns& columns() const { return columns_; }
  const double* values_of(int column) const { return values_.data() + column * n_rows_; }
  // Of a kept column; 0: numeric.
  std::int64_t n_levels(int kept) const { return n_levels_[kept]; }

 private:
  template <class At>
  void find_columns(std::int64_t n_columns, const std::int64_t* mass, const std::int64_t* n_levels,
                    RotationScale scale, int n_threads, At&& at);

  std::int64_t n_rows_;
  RotationColumns columns_;
  std::vector<std::int64_t> n_levels_;
  LargeVector<double> values_;  // column-major
};

}  // namespace weald::rotation
