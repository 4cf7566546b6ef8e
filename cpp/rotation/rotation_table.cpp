#include "rotation/rotation_table.hpp"

#include <cmath>
#include <limits>

#include "base/exact_sum.hpp"
#include "base/parallel.hpp"

namespace weald::rotation {
namespace {

struct Summary {
  bool has_missing = false, is_extreme = false;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  double centre = 0.0, scale = 1.0;

  bool has_values() const { return low <= high; }
  bool varies() const { return low < high; }
};

// Weighted mean of value(row) over rows where it is not NaN, by exact sums.
template <class Value>
double exact_mean(std::int64_t n_rows, const std::int64_t* mass, double largest, Value&& value) {
  const FixedPoint fixed(exponent_above(largest), exact_bits);
  Int128 sum = 0;
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double x = value(row);
    if (x != x) continue;
    const std::int64_t m = mass ? mass[row] : 1;
    sum += Int128{fixed(x)} * m;
    total += m;
  }
  return total == 0 ? 0.0 : to_double(sum, fixed.shift) / static_cast<double>(total);
}

template <class Value>
Summary summarise(std::int64_t n_rows, const std::int64_t* mass, RotationScale scale,
                  Value&& value) {
  Summary all;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double x = value(row);
    if (x != x) {
      all.has_missing = true;
      continue;
    }
    all.low = std::min(all.low, x);
    all.high = std::max(all.high, x);
  }
  if (!all.has_values()) return all;
  const double largest = std::max(std::abs(all.low), std::abs(all.high));
  all.is_extreme = largest >= RotationColumns::largest;
  if (all.is_extreme || !all.varies()) return all;
  all.centre = std::clamp(exact_mean(n_rows, mass, largest, value), all.low, all.high);
  const double range = all.high - all.low;
  double unit = 1.0;
  if (scale == RotationScale::range) unit = range;
  if (scale == RotationScale::deviation)
    unit = range * std::sqrt(exact_mean(n_rows, mass, 1.0, [&](std::int64_t row) {
             const double d = (value(row) - all.centre) / range;
             return d * d;
           }));
  // The inverse of a tiny range would overflow.
  all.scale = unit > 0x1p-1000 ? 1.0 / unit : 0x1p1000;
  return all;
}

}  // namespace

template <class At>
void RotationTable::find_columns(std::int64_t n_columns, const std::int64_t* mass,
                                 const std::int64_t* n_levels, RotationScale scale, int n_threads,
                                 At&& at) {
  std::vector<Summary> summaries(static_cast<std::size_t>(n_columns));
  parallel_for(n_columns, n_threads, [&](std::int64_t c, int) {
    summaries[c] = summarise(n_rows_, mass, scale, [&](std::int64_t row) { return at(row, c); });
  });
  for (std::int64_t c = 0; c < n_columns; ++c) {
    const Summary& one = summaries[c];
    const auto column = static_cast<std::int32_t>(c);
    if (!one.has_values()) continue;
    if (n_levels[c] > 0 || (one.is_extreme && one.varies())) {
      columns_.kept.push_back(column);
      continue;
    }
    if (one.has_missing) columns_.flagged.push_back(column);
    if (!one.varies()) continue;
    columns_.rotated.push_back(column);
    columns_.centre.push_back(one.centre);
    columns_.scale.push_back(one.scale);
  }
  if (columns_.n_columns() == 0) columns_.kept.push_back(0);  // a table needs a column
}

template <class T>
RotationTable::RotationTable(const data::Table<T>& table, const std::int64_t* index,
                             std::int64_t n_rows, const std::int64_t* mass,
                             const std::int64_t* n_levels, RotationScale scale,
                             const RotationColumns* known, int n_threads)
    : n_rows_(n_rows) {
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return static_cast<double>(table.at(index[row], column));
  };
  if (known)
    columns_ = *known;
  else
    find_columns(table.n_columns, mass, n_levels, scale, n_threads, at);
  for (const std::int32_t column : columns_.kept) n_levels_.push_back(n_levels[column]);
  const int n_rotated = columns_.n_rotated();
  const auto n_kept = static_cast<int>(columns_.kept.size());
  values_.resize(static_cast<std::size_t>(n_rows * columns_.n_columns()));
  parallel_for(columns_.n_columns(), n_threads, [&](std::int64_t task, int) {
    const auto i = static_cast<int>(task);
    double* const out = values_.data() + i * n_rows;
    for (std::int64_t row = 0; row < n_rows; ++row) {
      if (i < n_rotated)
        out[row] = columns_.standardised(i, at(row, columns_.rotated[i]));
      else if (i < n_rotated + n_kept)
        out[row] = at(row, columns_.kept[i - n_rotated]);
      else
        out[row] = flag_of(at(row, columns_.flagged[i - n_rotated - n_kept]));
    }
  });
}
template RotationTable::RotationTable(const data::Table<float>&, const std::int64_t*, std::int64_t,
                                      const std::int64_t*, const std::int64_t*, RotationScale,
                                      const RotationColumns*, int);
template RotationTable::RotationTable(const data::Table<double>&, const std::int64_t*, std::int64_t,
                                      const std::int64_t*, const std::int64_t*, RotationScale,
                                      const RotationColumns*, int);

}  // namespace weald::rotation
