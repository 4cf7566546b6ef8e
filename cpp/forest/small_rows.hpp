// What the rows of a small node teach, side by side and moved with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "criteria/count_impurities.hpp"
#include "criteria/criteria.hpp"
#include "forest/leaf_impurity.hpp"
#include "forest/scan.hpp"
#include "forest/small_nodes.hpp"
#include "kernels/kernels.hpp"
#include "kernels/random_thresholds.hpp"
#include "target/channels.hpp"

namespace weald::forest {

// A row of the table, and what a kind of rows keeps beside its number and in a word of its own: so
// little that rows are quickly moved. Both words are added up together, and what comes of the
// number, above, is cut off.
struct SmallRow {
  std::uint64_t row_and_more, word;

  Row row() const { return static_cast<Row>(row_and_more >> 32); }
  std::uint32_t more() const { return static_cast<std::uint32_t>(row_and_more); }
};

// So many rows are gone through one by one: kernels need more to be worth their call.
constexpr int few = 16;

// scale_by_power by always the same.
class Scale {
 public:
  explicit Scale(int exponent)
      : first_(power_of_two(exponent / 2)), second_(power_of_two(exponent - exponent / 2)) {}
  double operator()(double x) const { return x * first_ * second_; }

 private:
  double first_, second_;
};

// A kind of rows has the judge of forest_scan.hpp's scan of the same rows. `payload` is what a key
// tells of the i-th row of a node, in 15 bits, and `add_payload` adds the row that it tells of.

// A number each, and squared error: beside the row are its copies, then the integer of the number,
// times these. The model's sums are those of the numbers themselves.
class SmallNumbers {
 public:
  using Weighed = SmallNodes::Weighed;
  static constexpr int n_outputs = 1;
  static constexpr bool weighs_exactly = true;
  static constexpr std::int64_t most_copies = criteria::most_counted;

  explicit SmallNumbers(const target::Channels& channels)
      : channels_(channels),
        to_number_(channels.unit() - exact_bits),
        to_units_(-channels.unit()),
        to_gain_(criteria::gain_exponent<criteria::Variance>(channels.unit())) {}

  SmallRow small_row(Row row) const {
    const std::int64_t* const value = channels_.values() + 2 * std::int64_t{row};
    return {std::uint64_t{row} << 32 | static_cast<std::uint64_t>(value[0]),
            static_cast<std::uint64_t>(value[1])};
  }
  // Integers that differ, of as many copies, are of different numbers; others need not be.
  bool is_pure(const SmallRow* rows, int n, const criteria::PairLeft&) const {
    for (int i = 1; i < n; ++i)
      if ((rows[i].word != rows[0].word && copies(rows[i]) == copies(rows[0])) ||
          number(rows[i]) != number(rows[0]))
        return false;
    return true;
  }

  void load(const criteria::PairLeft& total) { squares_.load(total); }
  static void add(criteria::PairLeft& left, const SmallRow& row) {
    left.w += copies(row);
    left.s += static_cast<std::int64_t>(row.word);
  }
  static constexpr bool are_numbered = true;
  static std::uint32_t payload(const SmallRow&, int i) { return static_cast<std::uint32_t>(i); }
  static void add_payload(criteria::PairLeft& left, const SmallRow* rows, std::uint32_t payload) {
    add(left, rows[payload]);
  }
  static criteria::PairLeft side_of(std::uint64_t first, std::uint64_t second) {
    return {static_cast<std::uint32_t>(first), static_cast<std::int64_t>(second)};
  }
  bool beats(const criteria::PairLeft& left, double bar) const { return squares_.beats(left, bar); }
  double score(const criteria::PairLeft& left) const { return squares_.score(left); }
  static bool is_perfect(const criteria::PairLeft&) { return false; }
  int clear_best(const kernels::RandomThresholdKernels& kernels,
                 const kernels::RandomThresholds& cuts, int n_cuts) const {
    return cuts.miss_some == 0
               ? kernels.clear_best(cuts, n_cuts, squares_.total_weight(), squares_.total_sum())
               : -1;
  }
  bool left_is_heavier(const criteria::PairLeft& left) const {
    return squares_.left_is_heavier(left);
  }

  Weighed weigh_leaf(const SmallRow* rows, int n, const criteria::PairLeft& total,
                     double* value) const {
    Weighed leaf{total.w};
    for (int i = 0; i < n; ++i)
      leaf.sum += channels_.exact_number(number(rows[i]), copies(rows[i]));
    const double sum = weigh(leaf);
    const bool is_small = channels_.has_small_numbers();
    *value = (is_small ? sum_of_small(rows, n, leaf) : sum) / static_cast<double>(leaf.weight);
    return leaf;
  }
  // Leaves of several rows are rare.
  [[gnu::noinline]] double leaf_impurity(const SmallRow* rows, int n) const {
    return forest::leaf_impurity(criteria::Variance::name, channels_, all_of(rows, n).data(), n);
  }
  Weighed join(const Weighed& left, const Weighed& right, double& gain) const {
    Weighed both{left.weight + right.weight, left.sum + right.sum};
    weigh(both);
    gain = std::max(0.0, to_gain_(left.score + right.score - both.score));
    return both;
  }

 private:
  static std::int64_t copies(const SmallRow& row) { return row.more(); }
  double number(const SmallRow& row) const { return channels_.target().sums[row.row()]; }
  static std::vector<Row> all_of(const SmallRow* rows, int n) {
    std::vector<Row> all;
    for (int i = 0; i < n; ++i) all.push_back(rows[i].row());
    return all;
  }
  // As Channels::leaf_sum, where some numbers are small.
  [[gnu::noinline]] double sum_of_small(const SmallRow* rows, int n, const Weighed& leaf) const {
    const Int128 totals[2] = {leaf.weight, leaf.sum};
    if (n > few) return channels_.leaf_sum(all_of(rows, n).data(), n, totals, 0);
    Row near[few];
    for (int i = 0; i < n; ++i) near[i] = rows[i].row();
    return channels_.leaf_sum(near, n, totals, 0);
  }
  // Tells the sum in its own units.
  double weigh(Weighed& node) const {
    const double sum = to_number_(to_double(node.sum)), in_units = to_units_(sum);
    node.score = criteria::Variance::score({static_cast<double>(node.weight), &in_units, 1}, {});
    return sum;
  }

  const target::Channels& channels_;
  Scale to_number_, to_units_, to_gain_;
  SquaresOfPair squares_;
};

// One of two classes each, as many times as the row has copies: a word of these, above, and of
// those of the second class, below. Copies are fewer than 2^14, as PairCounts asks for: beside the
// row they and the class are a key's payload, and keys alone are enough to go through a column.
template <class Impurity>
class SmallClasses {
 public:
  using Weighed = SmallNodes::Weighed;
  static constexpr int n_outputs = 2;
  static constexpr bool weighs_exactly = false;
  static constexpr std::int64_t most_copies = Impurity::most_listed;

  explicit SmallClasses(const target::Channels& channels) : channels_(channels) {}

  SmallRow small_row(Row row) const {
    const auto w = static_cast<std::uint64_t>(channels_.values()[row]);
    const bool is_second = channels_.target().classes[row] == 1;
    return {std::uint64_t{row} << 32 | w << 1 | is_second, w << 32 | (is_second ? w : 0)};
  }
  static bool is_pure(const SmallRow*, int, const criteria::PairLeft& total) {
    return total.s == 0 || total.s == total.w;
  }

  void load(const criteria::PairLeft& total) {
    total_ = total;
    impurity_.load(total.w, 2, 1);
  }
  static void add(criteria::PairLeft& left, const SmallRow& row) { add_both(left, row.word); }
  static constexpr bool are_numbered = false;
  static std::uint32_t payload(const SmallRow& row, int) { return row.more(); }
  static void add_payload(criteria::PairLeft& left, const SmallRow*, std::uint32_t payload) {
    const std::int64_t w = payload >> 1;
    left.w += w;
    left.s += w & -static_cast<std::int64_t>(payload & 1);
  }
  static criteria::PairLeft side_of(std::uint64_t, std::uint64_t second) {
    criteria::PairLeft left;
    add_both(left, second);
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
  static int clear_best(const kernels::RandomThresholdKernels&, const kernels::RandomThresholds&,
                        int) {
    return -1;
  }

  // As SplitEvaluator says it.
  static double gain(const criteria::PairLeft& left, const criteria::PairLeft& total) {
    const double children =
        criterion_score(left) + criterion_score({total.w - left.w, total.s - left.s});
    return std::max(0.0, children - criterion_score(total));
  }
  static Weighed weigh_leaf(const SmallRow*, int, const criteria::PairLeft& total, double* value) {
    const auto weight = static_cast<double>(total.w);
    value[0] = static_cast<double>(total.w - total.s) / weight;
    value[1] = static_cast<double>(total.s) / weight;
    return {};
  }
  static double leaf_impurity(const SmallRow*, int) { return 0.0; }
  static Weighed join(const Weighed&, const Weighed&, double&) { return {}; }

 private:
  static double criterion_score(const criteria::PairLeft& side) {
    const double sums[2] = {static_cast<double>(side.w - side.s), static_cast<double>(side.s)};
    return Impurity::Criterion::score({static_cast<double>(side.w), sums, 2}, {});
  }
  static void add_both(criteria::PairLeft& left, std::uint64_t both) {
    left.w += static_cast<std::int64_t>(both >> 32);
    left.s += static_cast<std::int64_t>(both & 0xffffffff);
  }

  const target::Channels& channels_;
  Impurity impurity_;
  criteria::PairLeft total_;
};

}  // namespace weald::forest
