// The values of a node's rows in the columns that it looks at, each column by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "memory.hpp"
#include "shared.hpp"

namespace weald {

// As many values as are compared at once, and whole numbers beside them.
template <class T>
struct Lanes {
  static constexpr int n = 32 / static_cast<int>(sizeof(T));
  typedef T Values __attribute__((vector_size(32)));
  typedef std::int32_t Words __attribute__((vector_size(4 * n)));
  typedef std::uint16_t Halves __attribute__((vector_size(2 * n)));

  template <class Vector, class Item>
  static Vector load(const Item* items) {
    Vector vector;
    std::memcpy(&vector, items, sizeof vector);
    return vector;
  }
  // All bits of those that are at most `cut` or, on request, missing; none of the others.
  static Words sides(const T* x, T cut, bool missing_too) {
    const Values some = load<Values>(x);
    if (missing_too) return __builtin_convertvector((some <= cut) | (some != some), Words);
    return __builtin_convertvector(some <= cut, Words);
  }
};

// Passes over values go on to whole vectors: what lies behind the last row must be there.
constexpr std::int64_t value_padding = 16;
constexpr std::int64_t padded(std::int64_t n) {
  return (n + value_padding - 1) / value_padding * value_padding;
}

// A cut drawn between the least and the largest value needs no order of them: they are copied once,
// then read from front to back. Rows of a table lie apart, so all columns of a row are copied while
// it is near, into slots.
template <class T>
class DrawnValues {
 public:
  static constexpr int most_slots = 8;

  struct Range {
    T least, most;
  };

  // Slots for so many rows: fewer where they would take more than 32 bytes a row.
  int start(std::int64_t n) {
    constexpr std::int64_t small = 4096;
    const int n_slots = n <= small ? most_slots : 32 / static_cast<int>(sizeof(T));
    n_ = n;
    pitch_ = padded(n);
    const auto size = static_cast<std::size_t>(n_slots * pitch_);
    if (values_.size() < size) values_.resize(size);
    return n_slots;
  }

  // `table` holds row r from table + r * stride on. Columns come into the slots from `slot` on.
  void gather(const T* table, std::int64_t stride, const Row* rows, const int* columns,
              int n_columns, int slot) {
    for (; n_columns >= 4; n_columns -= 4, columns += 4, slot += 4)
      gather_some<4>(table, stride, rows, columns, values_.data() + slot * pitch_);
    T* const rest = values_.data() + slot * pitch_;
    if (n_columns == 3) gather_some<3>(table, stride, rows, columns, rest);
    if (n_columns == 2) gather_some<2>(table, stride, rows, columns, rest);
    if (n_columns == 1) gather_some<1>(table, stride, rows, columns, rest);
  }
  const T* slot(int s) const { return values_.data() + s * pitch_; }

  // Of a column without missing values.
  Range range(int s) const {
    using L = Lanes<T>;
    using Values = typename L::Values;
    const T* const x = slot(s);
    Values least = L::template load<Values>(x), most = least;
    for (std::int64_t i = L::n; i < pitch_; i += L::n) {
      const Values some = L::template load<Values>(x + i);
      least = some < least ? some : least;
      most = some > most ? some : most;
    }
    Range range{least[0], most[0]};
    for (int i = 1; i < L::n; ++i) {
      range.least = std::min(range.least, least[i]);
      range.most = std::max(range.most, most[i]);
    }
    return range;
  }
  // Of any: of those present, if there are any.
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
  template <int n_columns>
  void gather_some(const T* table, std::int64_t stride, const Row* rows, const int* columns,
                   T* to) const {
    const T* from[n_columns];
    for (int c = 0; c < n_columns; ++c) from[c] = table + columns[c];
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int64_t offset = rows[i] * stride;
      for (int c = 0; c < n_columns; ++c) to[c * pitch_ + i] = from[c][offset];
    }
    for (int c = 0; c < n_columns; ++c)
      std::fill(to + c * pitch_ + n_, to + (c + 1) * pitch_, to[c * pitch_]);
  }

  std::int64_t n_ = 0, pitch_ = 0;
  LargeVector<T> values_;
};

// The largest number of the type that is at most x: what is up to x is up to it.
template <class T>
T at_most(double x) {
  const auto near = static_cast<T>(x);
  if (static_cast<double>(near) <= x) return near;
  return std::nextafter(near, -std::numeric_limits<T>::infinity());
}

}  // namespace weald
