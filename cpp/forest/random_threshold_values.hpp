// Values of the rows of a node, gathered column by column for random thresholds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/draws.hpp"
#include "base/mixing.hpp"
#include "base/raw_pages.hpp"
#include "base/types.hpp"
#include "kernels/kernels.hpp"
#include "kernels/random_thresholds.hpp"

namespace weald::forest {

// Loops over values work on whole vectors and read up to this many values behind the last row.
constexpr std::int64_t value_padding = 16;
constexpr std::int64_t padded(std::int64_t n) {
  return (n + value_padding - 1) / value_padding * value_padding;
}

// A threshold between minimum and maximum needs no sorting: values are copied once and then read
// sequentially. All columns of a row are copied while the row is in cache, each into its slot.
template <class T>
class RandomThresholdValues {
 public:
  static constexpr int most_slots = 8;

  struct Range {
    T least, most;
  };

  // Returns the number of slots for n rows: fewer where they would take more than 32 bytes per row
  // (24 for very many rows).
  int start(std::int64_t n) {
    constexpr std::int64_t small = 4096, large = 131'072;
    const int n_slots =
        n <= small ? most_slots : (n <= large ? 32 : 24) / static_cast<int>(sizeof(T));
    n_ = n;
    pitch_ = padded(n);
    const auto size = static_cast<std::size_t>(n_slots * pitch_);
    // Frees the memory of the first, large nodes before the tree itself is largest.
    constexpr std::size_t much = (std::size_t{8} << 20) / sizeof(T);
    const bool is_too_much = values_.size() > much && size < values_.size() / 8;
    // Swap instead of resize: there are never two arrays.
    if (is_too_much || values_.size() < size) RawVector<T>().swap(values_);
    if (values_.empty()) values_.resize(size);
    return n_slots;
  }

  // Row r of `table` starts at table + r * stride. Columns go into slots from `slot` on.
  void gather(const T* table, std::int64_t stride, const Row* rows, const int* columns,
              int n_columns, int slot) {
    // Rows that do not stay in cache between nodes are prefetched: 1.2x on 100,000 x 28.
    constexpr std::int64_t near = std::int64_t{1} << 19;
    const bool prefetches = n_ * stride * static_cast<std::int64_t>(sizeof(T)) > near;
    const auto some = [&]<int n>() {
      if (n == n_columns)
        (this->*(prefetches ? &RandomThresholdValues::gather_some<n, true>
                            : &RandomThresholdValues::gather_some<n, false>))(table, stride, rows,
                                                                              columns, slot);
    };
    [&]<int... n>(std::integer_sequence<int, n...>) {
      (some.template operator()<n + 1>(), ...);
    }(std::make_integer_sequence<int, most_slots>());
  }
  const T* slot(int s) const { return values_.data() + s * pitch_; }

  // Of a column without missing values.
  Range range(int s) const {
    Range range;
    kernels::active().drawn->of<T>().range(slot(s), pitch_, &range.least, &range.most);
    return range;
  }
  // Of the values that are present, if any.
  Range range_of_present(int s, std::int64_t& n_present) const {
    Range range{std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
    n_present = 0;
    for (const T *x = slot(s), *end = x + n_; x < end; ++x) {
      n_present += *x == *x;
      range.least = *x < range.least ? *x : range.least;
      range.most = *x > range.most ? *x : range.most;
    }
    return range;
  }

 private:
  template <int n_columns, bool prefetches>
  void gather_some(const T* table, std::int64_t stride, const Row* rows, const int* columns,
                   int slot) {
    T* const to = values_.data() + slot * pitch_;
    const T* from[n_columns];
    for (int c = 0; c < n_columns; ++c) from[c] = table + columns[c];
    constexpr std::int64_t soon = 24, line = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t near = std::min(stride, 2 * line);
    for (std::int64_t i = 0; i < n_; ++i) {
      if (prefetches && i + soon < n_) {
        const T* const row = table + rows[i + soon] * stride;
        for (std::int64_t at = 0; at < near; at += line) __builtin_prefetch(row + at);
        __builtin_prefetch(row + near - 1);  // rows need not begin where a line does
      }
      const std::int64_t offset = rows[i] * stride;
      for (int c = 0; c < n_columns; ++c) to[c * pitch_ + i] = from[c][offset];
    }
    for (int c = 0; c < n_columns; ++c)
      std::fill(to + c * pitch_ + n_, to + (c + 1) * pitch_, to[c * pitch_]);
  }

  std::int64_t n_ = 0, pitch_ = 0;
  RawVector<T> values_;
};

// Threshold uniform between the smallest and the largest value present.
inline double share_drawn(int column, const Draws& draws) {
  return draws.unit(kernels::first_share + static_cast<std::uint64_t>(column));
}
inline double draw_cut(int column, double low, double high, const Draws& draws) {
  return number_between(low, high, share_drawn(column, draws));
}

// The largest T that is at most x.
template <class T>
T at_most(double x) {
  const auto near = static_cast<T>(x);
  if (static_cast<double>(near) <= x) return near;
  return std::nextafter(near, -std::numeric_limits<T>::infinity());
}

}  // namespace weald::forest
