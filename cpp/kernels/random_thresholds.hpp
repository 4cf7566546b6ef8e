// Inner loops over cuts that are drawn between values; kernels/kernels.hpp says who has them.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "criteria/count_impurities.hpp"

namespace weald::kernels {

// Which of the values x go left.
template <class T>
struct RandomThresholdTest {
  T cut;              // those up to it,
  bool missing_left;  // and, if so, what is missing

  bool goes_left(T x) const { return (x <= cut) | (missing_left & (x != x)); }
};

// The draw that says where column 0 is cut; those of columns themselves come before.
constexpr std::uint64_t first_share = std::uint64_t{1} << 40;

// A cut in each of several columns of a node.
struct alignas(64) RandomThresholds {
  static constexpr int most = 8;

  // What comes of the draws; the sums are of the words of rows that go left, and of those that miss
  // a value, where any does.
  double least[most], largest[most];  // infinity and its negative: all are missing
  double cut[most];                   // infinity if the others are one
  std::uint64_t left[2][most], missing[2][most];
  std::uint32_t vary = 0, miss_some = 0;  // a bit for each column

  // What is asked.
  std::uint64_t key = 0;  // of the node's draws
  std::int32_t column[most] = {};
  std::uint64_t columns_as_bytes = 0;  // the same, where none is above 255

  bool varies(int c) const { return (vary >> c & 1) != 0; }
  bool misses_some(int c) const { return (miss_some >> c & 1) != 0; }
};

template <class T>
struct RandomThresholdKernelsOf {
  // The least and the largest of x[0, n); none is missing, and n is a multiple of 16.
  void (*range)(const T* x, std::int64_t n, T* least, T* most);

  // Sums over the rows that go left. Of two words a row; of copies << 1 | class, where all copies
  // fit 31 bits.
  void (*add_words)(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                    const std::int64_t* words, std::int64_t* sums);
  void (*add_counts)(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                     const std::int32_t* rows, criteria::PairLeft* left);

  // Moves the rows that go left to the front, and tells how many those are; both sides keep their
  // order. A row is a number, or two words. `spare` has room for n.
  std::int64_t (*part_rows)(const T* x, std::int64_t n, RandomThresholdTest<T> test, Row* rows,
                            Row* spare);
  std::int64_t (*part_words)(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                             std::uint64_t* words, std::uint64_t* spare);

  // Cuts n rows of two words in each of n_cuts columns: row r, the upper half of the first word,
  // has its values from values + r * stride on. `room` is for eight numbers a row, in whole lines.
  void (*cut_columns)(const T* values, std::int64_t stride, const std::uint64_t* rows,
                      std::int64_t n, int n_cuts, RandomThresholds* cuts, double* room);
};
struct RandomThresholdKernels {
  // Of n_cuts columns of numbers, none of which misses any, the one whose cut is the best by more
  // than a billionth: it is, in whatever order they are judged. -1: there is none. A row's words
  // are its copies, below, and the integer of its number; `weight` and `sum` are those of all rows.
  int (*clear_best)(const RandomThresholds& cuts, int n_cuts, double weight, std::int64_t sum);

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
