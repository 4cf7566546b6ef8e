// Rows and split scores of small nodes whose sides are two sums: regression and two classes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "criteria/count_impurities.hpp"
#include "criteria/criteria.hpp"
#include "data/column_sampling.hpp"
#include "forest/leaf_impurity.hpp"
#include "forest/scan.hpp"
#include "forest/small_nodes.hpp"
#include "kernels/kernels.hpp"
#include "target/channels.hpp"

namespace weald::forest {

inline criteria::PairLeft& operator+=(criteria::PairLeft& a, const criteria::PairLeft& b) {
  a.w += b.w;
  a.s += b.s;
  return a;
}
inline criteria::PairLeft& operator-=(criteria::PairLeft& a, const criteria::PairLeft& b) {
  a.w -= b.w;
  a.s -= b.s;
  return a;
}

// Up to this many rows scalar code beats a kernel call.
constexpr int scalar_rows = 16;

// The number of a row in the upper half of the first word; a payload in its lower half and the
// second word depend on the target. Sums add up both words; the row numbers in them are cut off.
struct PairRow {
  std::uint64_t row_and_payload, word;

  Row row() const { return static_cast<Row>(row_and_payload >> 32); }
  std::uint32_t payload() const { return static_cast<std::uint32_t>(row_and_payload); }
};

// What RegressionRows and BinaryClassRows share. small_search.hpp lists what a kind of rows offers.
class PairRows {
 public:
  static constexpr bool are_pairs = true, uses_bits = false;
  static constexpr int most_words = 1;
  static constexpr int most_rows = 1024;
  static constexpr std::uint32_t rows_per_rank = 1;
  template <int>
  using Sums = criteria::PairLeft;
  using Constants = data::ConstantFeatures;

  // The values of all rows should fit the L1 cache, because one column is read after another;
  // random thresholds with kernels read all columns of a row at once.
  static int few_rows(std::int64_t bytes_per_row, bool has_threshold_kernels) {
    constexpr std::int64_t cache = 32768, least = 64, most = 512;
    if (has_threshold_kernels) return most_rows;
    return static_cast<int>(std::clamp(cache / bytes_per_row, least, most));
  }
  static int batch(int) { return 1; }

  explicit PairRows(const target::Channels& channels) : channels_(channels) {}

  static Constants constants_of(const data::ConstantFeatures& constants) { return constants; }
  static bool is_constant(const Constants& constants, int column) { return constants.has(column); }
  static void set_constant(Constants& constants, int column) { constants.add(column); }

  const PairRow* rows(int begin) const { return rows_.data() + begin; }
  static Row row_of(const PairRow& row) { return row.row(); }
  std::uint64_t* words(int begin) { return &rows_[begin].row_and_payload; }
  std::uint64_t* spare_words() { return &moved_[0].row_and_payload; }

  static criteria::PairLeft left_of(criteria::PairLeft sums) { return sums; }
  static criteria::PairLeft sums_of(criteria::PairLeft left) { return left; }

  template <class Sums>
  criteria::PairLeft* cells() {
    return cells_.data();
  }
  static bool is_empty(const criteria::PairLeft& cell) { return cell.w == 0; }

  void keep(const criteria::PairLeft& left) { kept_ = left; }
  template <class Sums>
  criteria::PairLeft kept() const {
    return kept_;
  }

  // Stable partition without unpredictable branches; returns the number of rows on the left.
  template <class Sums, class GoesLeft>
  int part(int begin, int n, GoesLeft goes_left) {
    PairRow* const rows = rows_.data() + begin;
    int n_left = 0, n_right = 0;
    for (int i = 0; i < n; ++i) {
      const PairRow row = rows[i];
      const bool is_left = goes_left(i);
      rows[n_left] = row;
      moved_[n_right] = row;
      n_left += is_left;
      n_right += !is_left;
    }
    for (int i = 0; i < n_right; ++i) rows[n_left + i] = moved_[i];
    return n_left;
  }

 protected:
  const target::Channels& channels_;
  std::array<PairRow, most_rows> rows_, moved_;
  std::array<criteria::PairLeft, most_rows> cells_;
  criteria::PairLeft kept_;
};

// scale_by_power with a fixed exponent.
class Scale {
 public:
  explicit Scale(int exponent)
      : first_(power_of_two(exponent / 2)), second_(power_of_two(exponent - exponent / 2)) {}
  double operator()(double x) const { return x * first_ * second_; }

 private:
  double first_, second_;
};

// Squared error. The payload is the row's copies, the word its integer target times these. Leaf
// values and gains come from exact sums of the targets themselves.
class RegressionRows : public PairRows {
 public:
  using NodeSums = SmallNodes::NodeSums;
  static constexpr bool has_exact_sums = true;

  RegressionRows(const data::RankedTable&, const target::Channels& channels)
      : PairRows(channels),
        to_number_(channels.unit() - exact_bits),
        to_units_(-channels.unit()),
        to_gain_(criteria::gain_exponent<criteria::Variance>(channels.unit())) {}

  static std::int64_t most_copies(const target::Channels&) { return criteria::most_counted; }
  int n_outputs() const { return 1; }
  void put(int i, Row row) {
    const std::int64_t* const value = channels_.values() + 2 * std::int64_t{row};
    rows_[i] = {std::uint64_t{row} << 32 | static_cast<std::uint64_t>(value[0]),
                static_cast<std::uint64_t>(value[1])};
  }
  template <int>
  static criteria::PairLeft root_sums(int, int, const std::int64_t* sums) {
    return {sums[0], sums[1]};
  }
  // Different integers of equally many copies are different targets; equal ones may still be.
  bool is_pure(int begin, int n, const criteria::PairLeft&, std::int64_t) const {
    const PairRow* const rows = rows_.data() + begin;
    for (int i = 1; i < n; ++i)
      if ((rows[i].word != rows[0].word && copies_of(rows[i]) == copies_of(rows[0])) ||
          number(rows[i]) != number(rows[0]))
        return false;
    return true;
  }

  void load(const criteria::PairLeft& total, std::int64_t) { squares_.load(total); }
  std::int64_t copies(int i) const { return copies_of(rows_[i]); }
  void add_row(criteria::PairLeft& left, int i) const {
    left.w += copies_of(rows_[i]);
    left.s += static_cast<std::int64_t>(rows_[i].word);
  }
  static std::uint32_t payload(int begin, int i) { return static_cast<std::uint32_t>(i - begin); }
  void add_payload(criteria::PairLeft& left, int begin, std::uint32_t payload) const {
    add_row(left, begin + static_cast<int>(payload));
  }
  static criteria::PairLeft side_of(std::uint64_t first, std::uint64_t second) {
    return {static_cast<std::uint32_t>(first), static_cast<std::int64_t>(second)};
  }

  bool beats(const criteria::PairLeft& left, double bar) const { return squares_.beats(left, bar); }
  double score(const criteria::PairLeft& left) const { return squares_.score(left); }
  static bool is_perfect(const criteria::PairLeft&) { return false; }
  bool left_is_heavier(const criteria::PairLeft& left) const {
    return squares_.left_is_heavier(left);
  }
  NodeSums write_leaf(int begin, int n, const criteria::PairLeft& total, std::int64_t,
                      double* value, double& gain) const {
    const PairRow* const rows = rows_.data() + begin;
    if (n > 1) gain = impurity(rows, n);
    NodeSums leaf{total.w};
    for (int i = 0; i < n; ++i)
      leaf.sum += channels_.exact_number(number(rows[i]), copies_of(rows[i]));
    const double sum = compute_score(leaf);
    const bool is_small = channels_.has_small_numbers();
    *value = (is_small ? sum_of_small(rows, n, leaf) : sum) / static_cast<double>(leaf.weight);
    return leaf;
  }
  // The sums of a split from those of its children, and the split's gain.
  NodeSums join(const NodeSums& left, const NodeSums& right, double& gain) const {
    NodeSums both{left.weight + right.weight, left.sum + right.sum};
    compute_score(both);
    gain = std::max(0.0, to_gain_(left.score + right.score - both.score));
    return both;
  }

 private:
  static std::int64_t copies_of(const PairRow& row) { return row.payload(); }
  double number(const PairRow& row) const { return channels_.target().sums[row.row()]; }
  static std::vector<Row> row_numbers(const PairRow* rows, int n) {
    std::vector<Row> all;
    for (int i = 0; i < n; ++i) all.push_back(rows[i].row());
    return all;
  }
  // Leaves of several rows are rare.
  [[gnu::noinline]] double impurity(const PairRow* rows, int n) const {
    return leaf_impurity(criteria::Variance::name, channels_, row_numbers(rows, n).data(), n);
  }
  // Channels::leaf_sum, where some targets are small.
  [[gnu::noinline]] double sum_of_small(const PairRow* rows, int n, const NodeSums& leaf) const {
    const Int128 totals[2] = {leaf.weight, leaf.sum};
    if (n > scalar_rows) return channels_.leaf_sum(row_numbers(rows, n).data(), n, totals, 0);
    Row few[scalar_rows];
    for (int i = 0; i < n; ++i) few[i] = rows[i].row();
    return channels_.leaf_sum(few, n, totals, 0);
  }
  // Returns the sum as a double.
  double compute_score(NodeSums& node) const {
    const double sum = to_number_(to_double(node.sum)), in_units = to_units_(sum);
    node.score = criteria::Variance::score({static_cast<double>(node.weight), &in_units, 1}, {});
    return sum;
  }

  Scale to_number_, to_units_, to_gain_;
  SquaresOfPair squares_;
};

// Two classes. The word holds the row's copies in its upper half and those of the second class in
// its lower half. Copies are fewer than 2^14 (PairCounts requires it), so that copies and class fit
// the payload of a key: a sorted column is scanned without reading rows.
template <class Impurity>
class BinaryClassRows : public PairRows {
 public:
  struct NodeSums {};
  static constexpr bool has_exact_sums = false;

  BinaryClassRows(const data::RankedTable&, const target::Channels& channels)
      : PairRows(channels) {}

  static std::int64_t most_copies(const target::Channels&) { return Impurity::most_listed; }
  int n_outputs() const { return 2; }
  void put(int i, Row row) {
    const auto w = static_cast<std::uint64_t>(channels_.values()[row]);
    const bool is_second = channels_.target().classes[row] == 1;
    rows_[i] = {std::uint64_t{row} << 32 | w << 1 | is_second, w << 32 | (is_second ? w : 0)};
  }
  template <int>
  static criteria::PairLeft root_sums(int, int, const std::int64_t* sums) {
    return {sums[0], sums[2]};
  }
  static bool is_pure(int, int, const criteria::PairLeft& total, std::int64_t) {
    return total.s == 0 || total.s == total.w;
  }

  void load(const criteria::PairLeft& total, std::int64_t) {
    total_ = total;
    impurity_.load(total.w, 2, 1);
  }
  std::int64_t copies(int i) const { return rows_[i].payload() >> 1; }
  void add_row(criteria::PairLeft& left, int i) const { add_word(left, rows_[i].word); }
  std::uint32_t payload(int, int i) const { return rows_[i].payload(); }
  static void add_payload(criteria::PairLeft& left, int, std::uint32_t payload) {
    const std::int64_t w = payload >> 1;
    left.w += w;
    left.s += w & -static_cast<std::int64_t>(payload & 1);
  }
  static criteria::PairLeft side_of(std::uint64_t, std::uint64_t second) {
    criteria::PairLeft left;
    add_word(left, second);
    return left;
  }

  bool beats(const criteria::PairLeft& left, double bar) const {
    return impurity_.template pair_beats<true>(left, total_, bar);
  }
  double score(const criteria::PairLeft& left) const { return impurity_.pair_score(left, total_); }
  bool is_perfect(const criteria::PairLeft& left) const {
    return (left.s == 0 && total_.w - left.w == total_.s) ||
           (left.s == left.w && left.s == total_.s);
  }
  bool left_is_heavier(const criteria::PairLeft& left) const { return left.w >= total_.w - left.w; }
  // The gain as SplitEvaluator computes it.
  static double gain(const criteria::PairLeft& left, const criteria::PairLeft& total) {
    const double children =
        criterion_score(left) + criterion_score({total.w - left.w, total.s - left.s});
    return std::max(0.0, children - criterion_score(total));
  }
  double gain_of_two(int left_row, int, const criteria::PairLeft& total) const {
    criteria::PairLeft left;
    add_row(left, left_row);
    return gain(left, total);
  }
  static NodeSums write_leaf(int, int, const criteria::PairLeft& total, std::int64_t, double* value,
                             double&) {
    const auto weight = static_cast<double>(total.w);
    value[0] = static_cast<double>(total.w - total.s) / weight;
    value[1] = static_cast<double>(total.s) / weight;
    return {};
  }

 private:
  static double criterion_score(const criteria::PairLeft& side) {
    const double sums[2] = {static_cast<double>(side.w - side.s), static_cast<double>(side.s)};
    return Impurity::Criterion::score({static_cast<double>(side.w), sums, 2}, {});
  }
  static void add_word(criteria::PairLeft& left, std::uint64_t word) {
    left.w += static_cast<std::int64_t>(word >> 32);
    left.s += static_cast<std::int64_t>(word & 0xffffffff);
  }

  Impurity impurity_;
  criteria::PairLeft total_;
};

}  // namespace weald::forest
