// Basic types and macros of the core, usable from host and device code.
#pragma once

#include <cstdint>
#include <limits>

// Marks formulas shared by host and device. On the host they are always inlined: a copy compiled
// for one instruction set must not be linked into code for another.
#if defined(__CUDACC__)
#define WEALD_HOST_DEVICE __host__ __device__
#else
#define WEALD_HOST_DEVICE [[gnu::always_inline]]
#endif

namespace weald {

using Code = std::uint8_t;  // a binned value: 0 is missing, 1 the lowest bin
using Row = std::uint32_t;  // a row index; the bindings reject tables of 2^32 rows or more

constexpr int max_value_bins = 255;     // plus missing: a code fits one byte
constexpr int most_value_bins = 65535;  // for columns that are sorted instead of binned to bytes
constexpr int lanes = 8;                // columns whose codes one 64-bit load reads
constexpr int tile = 64;                // adjacent columns of a row: one cache line

// The binned table. Columns are stored in tiles of 64, row-major inside a tile, so that a row of a
// node, wherever it is, costs one cache line per 64 columns. The last tile is only as wide as
// needed. Codes are loaded eight at a time, also at the very end: hence the slack.
struct Codes {
  const Code* data;
  std::int64_t n_rows;
  int n_columns;
  const std::int32_t* n_bins;     // value bins of each column; codes are 1 .. n_bins
  const Code* columns = nullptr;  // the same codes column-major; null: not stored

  int n_groups() const { return (n_columns + lanes - 1) / lanes; }
  int lanes_of(int group) const {
    const int left = n_columns - group * lanes;
    return left < lanes ? left : lanes;
  }
  // The codes of a group of eight columns: row r at group(g) + r * stride(g).
  const Code* group(int g) const {
    const std::int64_t column = std::int64_t{g} * lanes;
    return data + column / tile * tile * n_rows + column % tile;
  }
  std::int64_t stride(int g) const { return tile_width(n_columns, g * lanes / tile); }
  Code at(Row row, int column) const {
    const int g = column / lanes;
    return group(g)[row * stride(g) + column % lanes];
  }

  // The codes of one column: row r at first[r * stride].
  struct Column {
    const Code* first;
    std::int64_t stride;
  };
  Column column(int c) const {
    if (columns) return {columns + c * n_rows, 1};
    return {group(c / lanes) + c % lanes, stride(c / lanes)};
  }

  // Near a power of two the width is rounded up to it, so that no row straddles two cache lines.
  static constexpr std::int64_t tile_width(std::int64_t n_columns, std::int64_t t) {
    const std::int64_t left = n_columns - t * tile;
    if (left >= tile) return tile;
    std::int64_t power = 1;
    while (power < left) power *= 2;
    return 5 * power <= 6 * left ? power : left;
  }
  static constexpr std::int64_t slack = lanes - 1;
  static constexpr std::int64_t bytes(std::int64_t n_rows, std::int64_t n_columns) {
    const std::int64_t last = (n_columns - 1) / tile;
    return n_rows * (last * tile + tile_width(n_columns, last)) + slack;
  }
};

// Range of admissible leaf values of a node under monotonic constraints.
struct Bounds {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  WEALD_HOST_DEVICE bool any() const {
    return lower > -std::numeric_limits<double>::infinity() ||
           upper < std::numeric_limits<double>::infinity();
  }
  WEALD_HOST_DEVICE bool admit(double value) const { return value >= lower && value <= upper; }
  WEALD_HOST_DEVICE double held(double value) const {
    const double raised = value < lower ? lower : value;
    return raised > upper ? upper : raised;
  }
};

// Regularisation terms of a node's score; the defaults have no effect.
struct Penalty {
  double l2 = 0.0;  // added to W
  double l1 = 0.0;  // subtracted from |S|, in the units of S
  Bounds bounds;    // of leaf values, in units of S
};

// What the sums of a criterion contain: gradients, regression targets, or class weights.
enum class SumsOf { gradients, numbers, classes };

// Sums over the rows of a node, as seen by the criteria. `sums` are in units of a power of two
// chosen per tree, so that squares cannot overflow; a common factor changes no comparison.
struct Sums {
  double weight;
  const double* sums;
  int n_channels;
};

}  // namespace weald
