// Columns of two values, a bit each.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/memory.hpp"
#include "data/ranks.hpp"

namespace weald::data {

// A table of indicators (what a category becomes where no one keeps levels) has many columns that
// hold but two values, none missing. There is one cut to try in each, whichever way cuts are found:
// a row's answers to all of them fit one word. The other columns are kept beside each other, so
// that a row of a wide table is a line or two of memory.
class BinaryColumns {
 public:
  static constexpr int most = 64;  // such columns; more are like all others

  BinaryColumns(const RankedTable& table, int n_threads);

  bool any() const { return !words_.empty(); }
  bool are_many() const { return are_many_; }
  // Which bit says that the row has the higher value of the column; negative: none.
  int bit_of(int column) const { return bit_of_[column]; }
  const std::uint64_t* words() const { return words_.data(); }  // [row]
  double low(int bit) const { return low_[bit]; }
  double high(int bit) const { return high_[bit]; }

  // The ranks or values of row r in the other columns: others<T>()[r * stride() +
  // place_of(column)].
  template <class T>
  const T* others() const {
    return of<T>().others;
  }
  // The values of all rows in one of them, where are_many() and the table keeps values.
  template <class T>
  const T* column(int column) const {
    return of<T>().columns.data() + place_of_[column] * n_rows_;
  }
  std::int64_t stride() const { return stride_; }
  int place_of(int column) const { return place_of_[column]; }

 private:
  // Their own, where that makes rows much shorter; else the table's.
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
  bool are_many_ = false;  // so many that the others are worth a copy
};

}  // namespace weald::data
