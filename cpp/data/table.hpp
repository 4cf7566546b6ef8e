// A read-only view of the user's array: any strides, float32 or float64, never copied.
#pragma once

#include <bit>
#include <cstdint>

namespace weald::data {

template <class T>
struct Table {
  const T* data;
  std::int64_t n_rows;
  std::int64_t n_columns;
  std::int64_t row_stride;     // in elements
  std::int64_t column_stride;  // in elements

  T at(std::int64_t row, std::int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
};

// Bits that are equal exactly when two values are the same to a tree: one zero, one NaN.
inline std::uint64_t canonical_bits(double x) {
  if (x != x) return 0x7ff8000000000000ULL;
  return std::bit_cast<std::uint64_t>(x + 0.0);
}

}  // namespace weald::data
