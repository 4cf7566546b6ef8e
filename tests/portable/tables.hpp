// Tables and targets made by integer arithmetic, the same on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/exact_sum.hpp"
#include "data/content.hpp"
#include "data/table.hpp"

namespace weald::portable {

inline std::uint64_t word_of(std::int64_t row, std::int64_t column) {
  return mix(mix(static_cast<std::uint64_t>(row) + 1) + static_cast<std::uint64_t>(column));
}
inline std::int64_t below(std::uint64_t word, std::uint64_t n) {
  return static_cast<std::int64_t>((word >> 20) % n);
}
inline double from_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }
// In [-1, 1), with all the bits a double has.
inline double even_draw(std::uint64_t word) {
  return static_cast<double>(static_cast<std::int64_t>(word) >> 11) * 0x1p-52;
}

inline constexpr double missing = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr int n_kinds = 14;

// Columns of every kind, over and over.
inline double value_at(std::int64_t row, std::int64_t column) {
  const std::uint64_t word = word_of(row, column), other = mix(word);
  switch (column % n_kinds) {
    case 0:
      return even_draw(word);
    case 1:  // some values missing
      return below(other, 16) == 0 ? missing : even_draw(word);
    case 2:  // a bin for each value
      return static_cast<double>(below(word, 50));
    case 3:  // mostly zero, the rest of any size
      if (below(other, 20) != 0) return 0.0;
      return even_draw(word) * power_of_two(static_cast<int>(below(mix(other), 80)) - 40);
    case 4:  // few values, many missing
      return below(other, 3) == 0 ? missing : static_cast<double>(below(word, 2));
    case 5: {  // both zeros and both infinities
      constexpr double few[] = {-infinity, -1.0, -0.0, 0.0, 0.25, infinity};
      return few[below(word, 6)];
    }
    case 6:  // subnormal as floats
      return static_cast<double>(below(word, 1000)) * 0x1p-148;
    case 7:  // subnormal as doubles, zero as floats
      return from_bits(static_cast<std::uint64_t>(below(word, 1000)));
    case 8:
      return 3.5;
    case 9:
      return missing;
    case 10:  // many doubles, few floats
      return 1e9 + static_cast<double>(below(word, 1000)) * 0x1p-7;
    case 11:  // near the first column
      return even_draw(word_of(row, column - 11)) + 0x1p-6 * even_draw(word);
    case 12:  // the third column turned round: splits that differ in rounding only, if at all
      return -static_cast<double>(below(word_of(row, column - 10), 50));
    default:  // any bits at all: numbers of all sizes, infinities, NaNs with and without sign
      return from_bits(word);
  }
}

// What rows teach, in [-2^21, 2^21) or so: two columns together, and noise of each member.
inline std::int64_t signal(std::int64_t row, int member) {
  const std::int64_t u = static_cast<std::int64_t>(word_of(row, 0)) >> 43;
  const std::int64_t noise = static_cast<std::int64_t>(word_of(row, -1 - member)) >> 44;
  return u * (below(word_of(row, 2), 50) - 20) / 25 + noise;
}

// Rows [first, first + n_rows), as floats row by row or as doubles column by column.
template <class T>
struct Data {
  std::vector<T> values;
  weald::data::Table<T> table;

  Data(const Data&) = delete;
  Data(std::int64_t first, std::int64_t n_rows, std::int64_t n_columns)
      : values(static_cast<std::size_t>(n_rows * n_columns)) {
    const bool by_row = sizeof(T) == 4;
    table = {values.data(), n_rows, n_columns, by_row ? n_columns : 1, by_row ? 1 : n_rows};
    for (std::int64_t row = 0; row < n_rows; ++row)
      for (std::int64_t column = 0; column < n_columns; ++column)
        values[row * table.row_stride + column * table.column_stride] =
            static_cast<T>(value_at(first + row, column));
  }
};

}  // namespace weald::portable
