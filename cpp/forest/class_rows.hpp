// The rows of small nodes of several classes, in parallel arrays of which every node owns a range.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/types.hpp"
#include "forest/class_counts.hpp"

namespace weald::forest {

// A row is a word of its own (its number, its copies, its class), its answers to columns of two
// values (binary_columns.hpp), and its copies among the counts of classes.
template <int most_rows, int most_words>
class ClassRows {
 public:
  void put(int i, Row row, std::int64_t copies, int k, std::uint64_t bits) {
    rows_[i] = std::uint64_t{row} << 32 | static_cast<std::uint64_t>(copies) << 8 |
               static_cast<std::uint64_t>(k);
    bits_[i] = bits;
  }
  // Writes the counts of rows from `begin` on, and tells what they add up to.
  template <int W>
  ClassCounts<W> lay_counts(const ClassLayout<W>& layout, int begin, int n) {
    ClassCounts<W> total;
    for (int i = begin; i < begin + n; ++i) {
      const auto one = layout.of_row(class_of(rows_[i]), copies_of(rows_[i]));
      for (int w = 0; w < W; ++w) counts_[w][i] = one.words[w];
      total += one;
    }
    return total;
  }

  // There is room for one word behind the last row.
  std::uint64_t* rows(int begin) { return rows_.data() + begin; }
  const std::uint64_t* rows(int begin) const { return rows_.data() + begin; }
  const std::uint64_t* bits(int begin) const { return bits_.data() + begin; }
  const std::uint64_t* counts(int word, int begin) const { return counts_[word].data() + begin; }
  static Row row_of(std::uint64_t word) { return static_cast<Row>(word >> 32); }
  static std::int64_t copies_of(std::uint64_t word) {
    return static_cast<std::int64_t>(word >> 8 & 0xffff);
  }
  static int class_of(std::uint64_t word) { return static_cast<int>(word & 0xff); }

  // Which bits differ among the rows.
  std::uint64_t varied(int begin, int n) const {
    const std::uint64_t* const of_row = bits(begin);
    std::uint64_t any = 0;
    for (int i = 1; i < n; ++i) any |= of_row[i] ^ of_row[0];
    return any;
  }

  // The counts of rows that go left.
  template <int W, class GoesLeft>
  ClassCounts<W> sum(int begin, int n, GoesLeft goes_left) const {
    ClassCounts<W> sums;
    for (int w = 0; w < W; ++w) {
      const std::uint64_t* const of_row = counts(w, begin);
      std::uint64_t total = 0;
      for (int i = 0; i < n; ++i) total += of_row[i] & -static_cast<std::uint64_t>(goes_left(i));
      sums.words[w] = total;
    }
    return sums;
  }

  // Moves those that go left to the front and tells how many they are. Both sides keep their order;
  // no branch is to be guessed.
  template <int W, class GoesLeft>
  int part(int begin, int n, GoesLeft goes_left) {
    std::uint64_t* const rows = rows_.data() + begin;
    std::uint64_t* const bits = bits_.data() + begin;
    int n_left = 0, n_right = 0;
    for (int i = 0; i < n; ++i) {
      const bool is_left = goes_left(i);
      const std::uint64_t row = rows[i], of_row = bits[i];
      rows[n_left] = row;
      sent_rows_[n_right] = row;
      bits[n_left] = of_row;
      sent_bits_[n_right] = of_row;
      for (int w = 0; w < W; ++w) {
        std::uint64_t* const all = counts_[w].data() + begin;
        const std::uint64_t count = all[i];
        all[n_left] = count;
        sent_counts_[w][n_right] = count;
      }
      n_left += is_left;
      n_right += !is_left;
    }
    std::copy_n(sent_rows_.data(), n_right, rows + n_left);
    std::copy_n(sent_bits_.data(), n_right, bits + n_left);
    for (int w = 0; w < W; ++w)
      std::copy_n(sent_counts_[w].data(), n_right, counts_[w].data() + begin + n_left);
    return n_left;
  }

 private:
  using Words = std::array<std::uint64_t, most_rows + 1>;

  Words rows_, bits_, sent_rows_, sent_bits_;
  std::array<Words, most_words> counts_, sent_counts_;
};

}  // namespace weald::forest
