// Inner loops for random thresholds (extra trees); availability: see kernels/kernels.hpp.
//
// Benchmark row `extra_trees_100k`: processor time of extra trees on 100,000 x 28 without
// cut_columns 1.29, without part_words 1.15 of that with them
// (docs/decisions/0019-modules-and-mechanisms.md).
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "criteria/count_impurities.hpp"

namespace weald::kernels {

// Split condition on values x.
template <class T>
struct RandomThresholdTest {
  T cut;              // x <= cut goes left,
  bool missing_left;  // and missing values if set

  bool goes_left(T x) const { return (x <= cut) | (missing_left & (x != x)); }
};

// Counter of the draw for the threshold of column 0; lower counters draw the columns.
constexpr std::uint64_t first_share = std::uint64_t{1} << 40;

// A random threshold in each of several columns of a node.
struct alignas(64) RandomThresholds {
  static constexpr int most = 8;

  // Results; the sums are over the words of rows that go left, and of rows with a missing value, if
  // any.
  double least[most], largest[most];  // infinity and its negative: all values are missing
  double cut[most];                   // infinity if the column is constant
  std::uint64_t left[2][most], missing[2][most];
  std::uint32_t vary = 0, miss_some = 0;  // a bit for each column

  // Inputs.
  std::uint64_t key = 0;  // random stream of the node
  std::int32_t column[most] = {};
  std::uint64_t columns_as_bytes = 0;  // the columns as bytes, if none is above 255

  bool varies(int c) const { return (vary >> c & 1) != 0; }
  bool misses_some(int c) const { return (miss_some >> c & 1) != 0; }
};

template <class T>
struct RandomThresholdKernelsOf {
  // All arrays are padded to a multiple of sixteen rows, up to which they are read.

  // Minimum and maximum of x[0, n); no missing values, n a multiple of 16.
  void (*range)(const T* x, std::int64_t n, T* least, T* most);

  // Sums over the rows that go left: of two words per row; or of copies << 1 | class, if all copies
  // fit 31 bits. Those of padding are 0.
  void (*add_words)(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                    const std::int64_t* words, std::int64_t* sums);
  void (*add_counts)(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                     const std::int32_t* rows, criteria::PairLeft* left);

  // The others are null where scalar code is as fast: they need AVX-512, and read the n rows only.

  // Stable in-place partition of rows that go left to the front; returns their number. A row is an
  // index, or two words. `spare` has space for n.
  std::int64_t (*part_rows)(const T* x, std::int64_t n, RandomThresholdTest<T> test, Row* rows,
                            Row* spare) = nullptr;
  std::int64_t (*part_words)(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                             std::uint64_t* words, std::uint64_t* spare) = nullptr;

  // Evaluate a threshold in each of n_cuts columns for n rows of two words: the values of row r
  // (upper half of the first word) start at values + r * stride. `buffer` has space for eight
  // doubles per row, in whole cache lines.
  void (*cut_columns)(const T* values, std::int64_t stride, const std::uint64_t* rows,
                      std::int64_t n, int n_cuts, RandomThresholds* cuts, double* buffer) = nullptr;
};
struct RandomThresholdKernels {
  RandomThresholdKernelsOf<float> floats;
  RandomThresholdKernelsOf<double> doubles;

  template <class T>
  const RandomThresholdKernelsOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return floats;
    else
      return doubles;
  }
};

}  // namespace weald::kernels
