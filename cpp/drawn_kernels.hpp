// Inner loops over cuts that are drawn between values; kernels/kernels.hpp says who has them.
#pragma once

#include <cstdint>

#include "count_impurities.hpp"
#include "shared.hpp"

namespace weald {

// Which of the values x go left.
template <class T>
struct DrawnTest {
  T cut;              // those up to it,
  bool missing_left;  // and, if so, what is missing

  bool goes_left(T x) const { return (x <= cut) | (missing_left & (x != x)); }
};

// A cut in each of several columns of a node.
struct alignas(64) DrawnCuts {
  static constexpr int most = 8;

  double share[most] = {};  // of the way from the least value to the largest one
  // What comes of it; the sums are of the words of rows that go left, and of those that miss a
  // value, where any does.
  double least[most], largest[most];  // infinity and its negative: all are missing
  double cut[most];                   // infinity if the others are one
  std::uint64_t left[2][most], missing[2][most];
  std::int32_t column[most] = {};
  std::uint32_t miss_some = 0;  // a bit for each column

  bool misses_some(int c) const { return (miss_some >> c & 1) != 0; }
};

template <class T>
struct DrawnKernelsOf {
  // The least and the largest of x[0, n); none is missing, and n is a multiple of 16.
  void (*range)(const T* x, std::int64_t n, T* least, T* most);

  // Sums over the rows that go left. Of two words a row; of copies << 1 | class, where all copies
  // fit 31 bits.
  void (*add_words)(const T* x, std::int64_t n, DrawnTest<T> test, const std::int64_t* words,
                    std::int64_t* sums);
  void (*add_counts)(const T* x, std::int64_t n, DrawnTest<T> test, const std::int32_t* rows,
                     PairLeft* left);

  // Moves the rows that go left to the front, and tells how many those are; both sides keep their
  // order. A row is a number, or two words. `spare` has room for n.
  std::int64_t (*part_rows)(const T* x, std::int64_t n, DrawnTest<T> test, Row* rows, Row* spare);
  std::int64_t (*part_words)(const T* x, std::int64_t n, DrawnTest<T> test, std::uint64_t* words,
                             std::uint64_t* spare);

  // Cuts n rows of two words in each of n_cuts columns: row r, the upper half of the first word,
  // has its values from values + r * stride on. `room` is for eight numbers a row, in whole lines.
  void (*cut_columns)(const T* values, std::int64_t stride, const std::uint64_t* rows,
                      std::int64_t n, int n_cuts, DrawnCuts* cuts, double* room);
};
struct DrawnKernels {
  DrawnKernelsOf<float> floats;
  DrawnKernelsOf<double> doubles;

  template <class T>
  const DrawnKernelsOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return floats;
    else
      return doubles;
  }
};

}  // namespace weald
