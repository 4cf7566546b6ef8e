// Columns of two values as one bit each.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/memory.hpp"
#include "data/ranks.hpp"

namespace weald::data {

// Tables of indicators (one-hot encoded categories) have many columns with exactly two values and
// none missing. Such a column has a single threshold, whatever the split search, so a row's sides
// for all of them fit one word. The remaining columns are stored compactly, so that a row of a wide
// table takes one or two cache lines.
//
// Benchmark rows `forest_covertype` and `extra_trees_covertype` (default settings). Measured on a
// synthetic table of that shape, 50,000 x 54 with 44 one-hot columns, 20 trees, one thread: random
// forests take 1.47 s of processor time instead of 1.82 s (1.2x), extra trees 0.23 s instead of
// 0.28 s (1.25x). See also docs/decisions/0009-small-nodes-of-forests.md.
class BinaryColumns {
 public:
  static constexpr int most = 64;  // further binary columns are treated like all others

  BinaryColumns(const RankedTable& table, int n_threads);

  bool any() const { return !words_.empty(); }
  bool are_many() const { return are_many_; }
  // The bit that is set if the row has the higher value of the column; negative: not a binary
  // column.
  int bit_of(int column) const { return bit_of_[column]; }
  const std::uint64_t* words() const { return words_.data(); }  // [row]
  double low(int bit) const { return low_[bit]; }
  double high(int bit) const { return high_[bit]; }

  // The ranks or values of row r in the remaining columns: others<T>()[r * stride() +
  // place_of(column)].
  template <class T>
  const T* others() const {
    return of<T>().others;
  }
  // The values of all rows in one of them, if are_many() and the table stores values.
  template <class T>
  const T* column(int column) const {
    return of<T>().columns.data() + place_of_[column] * n_rows_;
  }
  std::int64_t stride() const { return stride_; }
  int place_of(int column) const { return place_of_[column]; }

 private:
  // The compact copy if it makes rows much shorter, otherwise the table's own arrays.
  template <class T>
  struct Others {
    const T* others = nullptr;
    LargeVector<T> own, columns;
  };
  template <class T>
  const Others<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return floats_;
    else if constexpr (std::is_same_v<T, double>)
      return doubles_;
    else
      return ranks_;
  }
  template <class T>
  void find_binary_columns(const RankedTable& table, const T* values, int n_threads);
  template <class T>
  void part(const RankedTable& table, const T* values, Others<T>& others, int n_threads);

  std::vector<int> bit_of_, place_of_, column_of_;  // column_of_: of each bit
  std::vector<double> low_, high_;                  // of each bit
  LargeVector<std::uint64_t> words_;
  Others<Rank> ranks_;
  Others<float> floats_;
  Others<double> doubles_;
  std::int64_t n_rows_, stride_ = 0;
  bool are_many_ = false;  // enough binary columns to make copying the others pay
};

}  // namespace weald::data
