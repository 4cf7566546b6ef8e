// What the rows of a small node teach, side by side and moved with them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "channels.hpp"
#include "count_impurities.hpp"
#include "criteria/criteria.hpp"
#include "forest_scan.hpp"
#include "forest_thicket.hpp"

namespace weald {

// A kind of rows has the judge of forest_scan.hpp's scan of the same rows. `at` is where the row's
// values begin; the last 16 bytes of a row are added up together.
typedef std::int64_t TwoWords __attribute__((vector_size(16)));

template <class SmallRow>
TwoWords words_up_to(const SmallRow* rows, const double* x, int n, double cut) {
  typedef double TwoValues __attribute__((vector_size(16)));
  TwoWords sum{};
  for (int i = 0; i < n; ++i) {
    TwoWords words;
    std::memcpy(&words, reinterpret_cast<const char*>(rows + i + 1) - sizeof words, sizeof words);
    sum += words & (TwoValues{x[i], x[i]} <= cut);
  }
  return sum;
}

// scale_by_power by always the same.
class Scale {
 public:
  explicit Scale(int exponent)
      : first_(power_of_two(exponent / 2)), second_(power_of_two(exponent - exponent / 2)) {}
  double operator()(double x) const { return x * first_ * second_; }

 private:
  double first_, second_;
};

// A number each, and squared error. The model's sums are those of the numbers themselves.
class SmallNumbers {
 public:
  using Weighed = Thicket::Weighed;
  static constexpr int n_outputs = 1;
  static constexpr bool weighs_exactly = true;
  template <class T>
  struct SmallRow {
    const T* at;
    double number;
    std::int64_t w, s;
  };

  explicit SmallNumbers(const Channels& channels)
      : channels_(channels),
        to_number_(channels.unit() - exact_bits),
        to_units_(-channels.unit()),
        to_gain_(gain_exponent<Variance>(channels.unit())) {}

  template <class T>
  SmallRow<T> small_row(const T* at, Row row) const {
    const std::int64_t* const value = channels_.values() + 2 * std::int64_t{row};
    return {at, channels_.target().sums[row], value[0], value[1]};
  }
  template <class Rows>
  static bool is_pure(const Rows* rows, int n, const PairLeft&) {
    for (int i = 1; i < n; ++i)
      if (rows[i].number != rows[0].number) return false;
    return true;
  }

  void load(const PairLeft& total) { squares_.load(total); }
  template <class OneRow>
  static void add(PairLeft& left, const OneRow& row) {
    left.w += row.w;
    left.s += row.s;
  }
  template <class Rows>
  static PairLeft up_to(const Rows* rows, const double* x, int n, double cut) {
    const TwoWords sum = words_up_to(rows, x, n, cut);
    return {sum[0], sum[1]};
  }
  bool beats(const PairLeft& left, double bar) const { return squares_.beats(left, bar); }
  double score(const PairLeft& left) const { return squares_.score(left); }
  static bool is_perfect(const PairLeft&) { return false; }
  bool left_is_heavier(const PairLeft& left) const { return squares_.left_is_heavier(left); }

  template <class Rows>
  Weighed weigh_leaf(const Rows* rows, int n, const PairLeft& total, double* value) const {
    Weighed leaf{total.w};
    for (int i = 0; i < n; ++i) leaf.sum += channels_.exact_number(rows[i].number, rows[i].w);
    *value = weigh(leaf) / static_cast<double>(leaf.weight);
    return leaf;
  }
  Weighed join(const Weighed& left, const Weighed& right, double&, double& gain) const {
    Weighed both{left.weight + right.weight, left.sum + right.sum};
    weigh(both);
    gain = std::max(0.0, to_gain_(left.score + right.score - both.score));
    return both;
  }

 private:
  // Tells the sum in its own units.
  double weigh(Weighed& node) const {
    const double sum = to_number_(to_double(node.sum)), in_units = to_units_(sum);
    node.score = Variance::score({static_cast<double>(node.weight), &in_units, 1}, {});
    return sum;
  }

  const Channels& channels_;
  Scale to_number_, to_units_, to_gain_;
  SquaresOfPair squares_;
};

// One of two classes each, as many times as the row has copies.
template <class Impurity>
class SmallClasses {
 public:
  using Weighed = Thicket::Weighed;
  static constexpr int n_outputs = 2;
  static constexpr bool weighs_exactly = false;
  template <class T>
  struct SmallRow {
    const T* at;
    std::uint64_t both;  // copies above, those of the second class below
  };

  explicit SmallClasses(const Channels& channels) : channels_(channels) {}

  template <class T>
  SmallRow<T> small_row(const T* at, Row row) const {
    const auto w = static_cast<std::uint64_t>(channels_.values()[row]);
    return {at, w << 32 | (channels_.target().classes[row] == 1 ? w : 0)};
  }
  template <class Rows>
  static bool is_pure(const Rows*, int, const PairLeft& total) {
    return total.s == 0 || total.s == total.w;
  }

  void load(const PairLeft& total) {
    total_ = total;
    impurity_.load(total.w, 2, 1);
  }
  template <class OneRow>
  static void add(PairLeft& left, const OneRow& row) {
    add_both(left, row.both);
  }
  template <class Rows>
  static PairLeft up_to(const Rows* rows, const double* x, int n, double cut) {
    PairLeft left;
    add_both(left, static_cast<std::uint64_t>(words_up_to(rows, x, n, cut)[1]));
    return left;
  }
  bool beats(const PairLeft& left, double bar) const {
    return impurity_.pair_beats(left, total_, bar);
  }
  double score(const PairLeft& left) const { return impurity_.pair_score(left, total_); }
  bool is_perfect(const PairLeft& left) const {
    return (left.s == 0 && total_.w - left.w == total_.s) ||
           (left.s == left.w && left.s == total_.s);
  }
  bool left_is_heavier(const PairLeft& left) const { return left.w >= total_.w - left.w; }

  // As SplitJudge says it.
  static double gain(const PairLeft& left, const PairLeft& total) {
    const double children =
        criterion_score(left) + criterion_score({total.w - left.w, total.s - left.s});
    return std::max(0.0, children - criterion_score(total));
  }
  template <class Rows>
  static Weighed weigh_leaf(const Rows*, int, const PairLeft& total, double* value) {
    const auto weight = static_cast<double>(total.w);
    value[0] = static_cast<double>(total.w - total.s) / weight;
    value[1] = static_cast<double>(total.s) / weight;
    return {};
  }
  static Weighed join(const Weighed&, const Weighed&, double&, double&) { return {}; }

 private:
  static double criterion_score(const PairLeft& side) {
    using C = std::conditional_t<std::is_same_v<Impurity, EntropyOfCounts>, Entropy, Variance>;
    const double sums[2] = {static_cast<double>(side.w - side.s), static_cast<double>(side.s)};
    return C::score({static_cast<double>(side.w), sums, 2}, {});
  }
  static void add_both(PairLeft& left, std::uint64_t both) {
    left.w += static_cast<std::int64_t>(both >> 32);
    left.s += static_cast<std::int64_t>(both & 0xffffffff);
  }

  const Channels& channels_;
  Impurity impurity_;
  PairLeft total_;
};

}  // namespace weald
