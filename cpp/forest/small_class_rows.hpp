// Rows of small nodes with several classes, in parallel arrays; every node owns a range of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "base/types.hpp"
#include "data/binary_columns.hpp"
#include "data/column_sampling.hpp"
#include "forest/class_scorer.hpp"
#include "forest/small_sort.hpp"
#include "target/channels.hpp"

namespace weald::forest {

// Which columns may vary in a node: one bit for each of 64 binary columns, of 256 others, and the
// last one, always set, for all further columns.
using VariedColumns = std::array<std::uint64_t, 6>;

// A row is one word (number, copies, class), its bits in the binary columns (binary_columns.hpp),
// and its copies in the packed class counts, whose number of words W shrinks with the nodes.
// small_search.hpp lists what a kind of rows offers.
template <class Impurity>
class MulticlassRows : public ClassScorer<Impurity> {
  using Scorer = ClassScorer<Impurity>;

 public:
  static constexpr bool are_pairs = false, uses_bits = true, has_exact_sums = false;
  static constexpr int most_words = Scorer::most_words;
  static constexpr int most_rows = static_cast<int>(KeySorter::most_keys) - 1;
  static constexpr std::uint32_t rows_per_rank = 2;
  template <int W>
  using Sums = ClassCounts<W>;
  using Constants = VariedColumns;
  struct NodeSums {};

  static std::int64_t most_copies(const target::Channels& channels) {
    return ClassLayout<most_words>(channels.n_channels()).most_copies();
  }
  static int few_rows(std::int64_t, bool) { return most_rows; }
  // All columns are drawn before the first is tried, because most are constant: skipping them then
  // needs no unpredictable branch.
  static int batch(int wanted) { return std::max(1, wanted); }

  MulticlassRows(const data::RankedTable& table, const target::Channels& channels)
      : Scorer(channels.n_channels()), channels_(channels), bits_of_(table.binary_columns()) {
    for (int c = 0; c < table.n_columns(); ++c) {
      const int bit = bits_of_.bit_of(c), other = 64 + bits_of_.place_of(c);
      bit_of_column_.push_back(static_cast<std::uint16_t>(bit >= 0 ? bit : std::min(other, 320)));
    }
  }

  Constants constants_of(const data::ConstantFeatures& constants) const {
    Constants varied;
    varied.fill(~std::uint64_t{0});
    for (int c = 0; c < static_cast<int>(bit_of_column_.size()); ++c)
      if (constants.has(c)) set_constant(varied, c);
    return varied;
  }
  bool is_constant(const Constants& varied, int column) const {
    const unsigned bit = bit_of_column_[column];
    return (varied[bit / 64] >> bit % 64 & 1) == 0;
  }
  void set_constant(Constants& varied, int column) const {
    const unsigned bit = bit_of_column_[column];
    if (bit < 320) varied[bit / 64] &= ~(std::uint64_t{1} << bit % 64);
  }

  int n_outputs() const { return Scorer::n_classes_; }
  void put(int i, Row row) {
    rows_[i] = std::uint64_t{row} << 32 | static_cast<std::uint64_t>(channels_.values()[row]) << 8 |
               static_cast<std::uint64_t>(channels_.target().classes[row]);
    bits_[i] = bits_of_.any() ? bits_of_.words()[row] : 0;
  }
  // Writes the counts of a node's rows in W words; returns their sum.
  template <int W>
  ClassCounts<W> root_sums(int begin, int n, const std::int64_t*) {
    ClassCounts<W> total;
    for (int i = begin; i < begin + n; ++i) {
      const auto counts = this->template layout<W>().of_row(class_of(i), copies(i));
      for (int w = 0; w < W; ++w) counts_[w][i] = counts.words[w];
      total += counts;
    }
    return total;
  }
  template <int W>
  bool is_pure(int begin, int, const ClassCounts<W>& total, std::int64_t weight) const {
    return Scorer::count(total, class_of(begin)) == weight;
  }

  const std::uint64_t* rows(int begin) const { return rows_.data() + begin; }
  static Row row_of(std::uint64_t word) { return static_cast<Row>(word >> 32); }
  std::int64_t copies(int i) const { return static_cast<std::int64_t>(rows_[i] >> 8 & 0xffff); }
  int class_of(int i) const { return static_cast<int>(rows_[i] & 0xff); }
  auto without_bit(int begin, int bit) const {
    return [=, bits = bits_.data() + begin](int i) { return (bits[i] >> bit & 1) == 0; };
  }
  void find_varied_bits(int begin, int n, Constants& varied) const {
    const std::uint64_t* const bits = bits_.data() + begin;
    std::uint64_t any = 0;
    for (int i = 1; i < n; ++i) any |= bits[i] ^ bits[0];
    varied[0] = any;
  }

  template <int W>
  static const ClassCounts<W>& sums_of(const ClassLeft<W>& left) {
    return left.counts;
  }
  template <int W>
  void add_row(ClassCounts<W>& to, int i) const {
    for (int w = 0; w < W; ++w) to.words[w] += counts_[w][i];
  }
  static std::uint32_t payload(int begin, int i) { return static_cast<std::uint32_t>(i - begin); }
  template <int W>
  void add_payload(ClassLeft<W>& left, int begin, std::uint32_t payload) const {
    const int i = begin + static_cast<int>(payload);
    Scorer::add_copies(left, class_of(i), copies(i));
  }

  template <class Sums>
  Sums* cells() {
    return std::get<Cells<Sums::n_words>>(cells_).data();
  }
  template <int W>
  static bool is_empty(const ClassCounts<W>& counts) {
    std::uint64_t any = 0;
    for (const std::uint64_t word : counts.words) any |= word;
    return any == 0;
  }

  // The counts of rows that go left.
  template <class Sums, class GoesLeft>
  Sums sum_of(int begin, int n, GoesLeft goes_left) const {
    Sums sums;
    for (int w = 0; w < Sums::n_words; ++w) {
      const std::uint64_t* const counts = counts_[w].data() + begin;
      std::uint64_t total = 0;
      for (int i = 0; i < n; ++i) total += counts[i] & -static_cast<std::uint64_t>(goes_left(i));
      sums.words[w] = total;
    }
    return sums;
  }

  template <int W>
  void keep(const ClassLeft<W>& left) {
    kept_ = {{}, left.w, left.left_terms, left.right_terms};
    std::copy_n(left.counts.words.begin(), W, kept_.counts.words.begin());
  }
  template <class Sums>
  ClassLeft<Sums::n_words> kept() const {
    ClassLeft<Sums::n_words> left{{}, kept_.w, kept_.left_terms, kept_.right_terms};
    std::copy_n(kept_.counts.words.begin(), Sums::n_words, left.counts.words.begin());
    return left;
  }

  // Stable partition without unpredictable branches; returns the number of rows on the left.
  template <class Sums, class GoesLeft>
  int part(int begin, int n, GoesLeft goes_left) {
    std::uint64_t* const rows = rows_.data() + begin;
    std::uint64_t* const bits = bits_.data() + begin;
    int n_left = 0, n_right = 0;
    for (int i = 0; i < n; ++i) {
      const bool is_left = goes_left(i);
      const std::uint64_t row = rows[i], row_bits = bits[i];
      rows[n_left] = row;
      moved_rows_[n_right] = row;
      bits[n_left] = row_bits;
      moved_bits_[n_right] = row_bits;
      for (int w = 0; w < Sums::n_words; ++w) {
        std::uint64_t* const counts = counts_[w].data() + begin;
        const std::uint64_t count = counts[i];
        counts[n_left] = count;
        moved_counts_[w][n_right] = count;
      }
      n_left += is_left;
      n_right += !is_left;
    }
    std::copy_n(moved_rows_.data(), n_right, rows + n_left);
    std::copy_n(moved_bits_.data(), n_right, bits + n_left);
    for (int w = 0; w < Sums::n_words; ++w)
      std::copy_n(moved_counts_[w].data(), n_right, counts_[w].data() + begin + n_left);
    return n_left;
  }

  // Two rows of different classes.
  template <int W>
  double gain_of_two(int left_row, int right_row, const ClassCounts<W>& total) {
    return Scorer::gain_of_pair(copies(left_row), copies(right_row), total);
  }
  template <int W>
  NodeSums write_leaf(int begin, int n, const ClassCounts<W>& total, std::int64_t weight,
                      double* value, double&) const {
    if (n == 1 || is_pure(begin, n, total, weight)) {
      std::fill_n(value, n_outputs(), 0.0);
      value[class_of(begin)] = 1.0;
    } else {
      this->template layout<W>().each(total, n_outputs(), [&](int k, std::int64_t count) {
        value[k] = static_cast<double>(count) / static_cast<double>(weight);
      });
    }
    return {};
  }

 private:
  using Words = std::array<std::uint64_t, most_rows + 1>;

  const target::Channels& channels_;
  const data::BinaryColumns& bits_of_;
  std::vector<std::uint16_t> bit_of_column_;  // in VariedColumns
  Words rows_, bits_, moved_rows_, moved_bits_;
  std::array<Words, most_words> counts_, moved_counts_;
  template <int W>
  using Cells = std::array<ClassCounts<W>, most_rows>;
  std::tuple<Cells<1>, Cells<2>, Cells<most_words>> cells_;
  ClassLeft<most_words> kept_;
};

}  // namespace weald::forest
