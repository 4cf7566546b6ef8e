// Types and marks that every part of the core, and later the GPU compiler, understands.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define WEALD_HOST_DEVICE __host__ __device__
#else
#define WEALD_HOST_DEVICE
#endif

namespace weald {

using Code = std::uint8_t;  // a binned value; the code after a column's last bin means "missing"
using Row = std::uint32_t;  // a row's number; the bindings refuse tables of 2^32 rows

constexpr int max_value_bins = 255;  // plus one code for missing: a code fits one byte
constexpr int lanes = 8;             // columns whose codes lie side by side: one 64-bit load per row

// The binned table. Columns are stored in groups of eight, row after row inside a group, so that
// one load brings the codes of eight columns: code(row, column) =
// data[((column / 8) * n_rows + row) * 8 + column % 8]. Lanes past the last column hold zeros.
struct Codes {
  const Code* data;
  std::int64_t n_rows;
  int n_columns;
  const std::int32_t* n_bins;  // value bins of each column; the missing code equals this number

  int n_groups() const { return (n_columns + lanes - 1) / lanes; }
  const Code* group(int g) const { return data + static_cast<std::int64_t>(g) * n_rows * lanes; }
  int lanes_of(int g) const {
    const int left = n_columns - g * lanes;
    return left < lanes ? left : lanes;
  }
  Code at(Row row, int column) const {
    return group(column / lanes)[static_cast<std::int64_t>(row) * lanes + column % lanes];
  }
};

// The part of a tree's settings that enters the score of a node; each has a neutral value.
struct Penalty {
  double l2 = 0.0;
};

// What the rows of a node add up to, as the criteria see it. `sums` are in units of a power of two
// chosen per tree (so that squares cannot overflow); a common factor changes no comparison.
struct Sums {
  double weight;
  const double* sums;
  int n_channels;
};

}  // namespace weald
