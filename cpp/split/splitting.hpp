// Best split of a node by a criterion, from sums per bin.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/types.hpp"
#include "criteria/criteria.hpp"
#include "data/categories.hpp"
#include "data/column_choice.hpp"
#include "kernels/kernels.hpp"
#include "split/category_order.hpp"
#include "split/histogram.hpp"
#include "target/channels.hpp"

namespace weald::split {

struct CategoryBest;

// Codes 1 .. bin go left; missing values (code 0) go where `missing_left` says. A split of present
// from missing values has all bins on the left and missing values on the right. Engines working on
// values set `threshold`, the largest value that goes left. For a categorical column the levels of
// `left_set` go left, and missing values as before.
struct Split {
  double gain = -std::numeric_limits<double>::infinity();
  int column = -1;
  int bin = 0;
  bool missing_left = false;
  double threshold = 0.0;
  data::LevelSet left_set = {};  // empty: numerical column
  bool parts_missing = false;    // all values go left, missing values right
  double middle = 0.0;  // midpoint of the children's values, if it does not follow from sums

  bool found() const { return column >= 0; }
};

struct SplitLimits {
  double min_gain = 0.0;              // gain must exceed this
  double min_child_weight = 0.0;      // minimum W of each child
  std::int64_t min_samples_leaf = 1;  // minimum copies in each child
  Penalty penalty;
  CategoryLimits category;
  // Monotonic constraint of each column, padded to whole groups: 1 increasing, -1 decreasing, 0
  // none; empty: none.
  std::vector<double> direction;

  bool is_directed() const { return !direction.empty(); }
  double direction_of(int column) const { return direction.empty() ? 0.0 : direction[column]; }

  // Trees grown until leaves are pure also split without a gain.
  bool takes_any_gain() const { return min_gain == -std::numeric_limits<double>::infinity(); }

  // Whether a gain, in units of 2^unit, suffices: it must also exceed the rounding error of the
  // children's scores.
  bool is_worth(double gain, double children, int unit) const {
    constexpr double rounding = 1e-13;
    if (takes_any_gain()) return true;
    return gain > rounding * std::abs(children) && scale_by_power(gain, unit) > min_gain;
  }
};

// Evaluates the splits of one node. Ties go to the split tried first. `Size` is the number of
// integers in a cell if known at compile time, otherwise 0.
template <criteria::Criterion C, int Size = 0>
class SplitEvaluator {
 public:
  template <class T>
  using Cell = std::conditional_t<Size == 0, std::vector<T>, std::array<T, Size>>;

  // `totals` are the integer sums of the node's rows.
  SplitEvaluator(const target::Channels& channels, const SplitLimits& limits,
                 const std::int64_t* totals, const Bounds& bounds = {})
      : channels_(channels),
        limits_(limits),
        penalty_(channels.in_units(limits.penalty, bounds)),
        totals_(totals),
        count_(channels.count_index()) {
    if constexpr (Size == 0) {
      sums_.resize(static_cast<std::size_t>(channels.n_channels()));
      right_.resize(static_cast<std::size_t>(channels.cell_size()));
    }
    parent_score_ = score(totals);
    gain_unit_ = criteria::gain_exponent<C>(channels.unit());
  }

  int cell_size() const { return Size > 0 ? Size : channels_.cell_size(); }

  bool any_of(const std::int64_t* cell) const {
    std::int64_t bits = 0;
    for (int c = 0; c < cell_size(); ++c) bits |= cell[c];
    return bits != 0;
  }

  // Whether the two cells sum to the whole node.
  bool is_rest(const std::int64_t* cell, const std::int64_t* other) const {
    for (int c = 0; c < cell_size(); ++c)
      if (cell[c] + other[c] != totals_[c]) return false;
    return true;
  }

  // Cheap filter without divisions: false only if the split surely gains less than the best one.
  [[gnu::always_inline]] bool may_beat(const std::int64_t* left, const Split& best) {
    if constexpr (criteria::Quotient<C>) {
      for (int c = 0; c < cell_size(); ++c) right_[c] = totals_[c] - left[c];
      const Sums l = sums_of(left);
      const double left_above = C::numerator(l), left_below = C::denominator(l, penalty_);
      const Sums r = sums_of(right_.data());
      const double right_above = C::numerator(r);
      const double right_below = C::denominator(r, penalty_);
      const double reached = left_above * right_below + right_above * left_below;
      const double wanted = (best.gain + parent_score_) * left_below * right_below;
      // The slack is far larger than any rounding error; excludes underflow.
      return !(reached < wanted * (1.0 - 1e-12) && wanted > 1e-280);
    }
    return true;
  }

  struct Judged {
    bool is_admitted;  // both children are large enough and satisfy the monotonic constraint
    double gain = 0.0, children = 0.0;
  };
  Judged judge(const std::int64_t* left, double direction = 0.0) {
    for (int c = 0; c < cell_size(); ++c) right_[c] = totals_[c] - left[c];
    if (!big_enough(left) || !big_enough(right_.data())) return {false};
    if (direction != 0.0 && !keeps_order(left, right_.data(), direction)) return {false};
    any_admitted_ = true;
    const double children = score_of_children(left);
    return {true, children - parent_score_, children};
  }

  // A split of values from missing ones (`all_values`) is exempt from monotonic constraints.
  [[gnu::noinline]] void try_split(int column, int bin, bool missing_left, const std::int64_t* left,
                                   bool has_missing, Split& best, bool all_values = false) {
    const Judged judged = judge(left, all_values ? 0.0 : limits_.direction_of(column));
    if (!judged.is_admitted || !(judged.gain > best.gain)) return;
    if (!is_worth(judged.gain, judged.children)) return;
    // Values missing only at prediction time go to the heavier child.
    const bool heavier_left = left[0] >= right_[0];
    best = {judged.gain, column, bin, has_missing ? missing_left : heavier_left, 0.0, {}};
  }

  bool is_worth(double gain, double children) const {
    return limits_.is_worth(gain, children, gain_unit_);
  }

  // Whether any split satisfied the limits, whatever its gain.
  bool any_admitted() const { return any_admitted_; }

  double parent_score() const { return parent_score_; }

 private:
  // A cell of two integers is W and one channel.
  int n_channels() const { return Size == 2 ? 1 : channels_.n_channels(); }

  Sums sums_of(const std::int64_t* cell) {
    for (int k = 0; k < n_channels(); ++k) sums_[k] = channels_.sum_of(cell, k);
    return {channels_.weight_of(cell), sums_.data(), n_channels()};
  }

  // score(left) + score(right_). Channel by channel for both at once: each is a sum whose terms
  // wait for each other.
  double score_of_children(const std::int64_t* left) {
    if constexpr (requires { C::term(0.0, penalty_); }) {
      if (!penalty_.bounds.any()) {
        double of_left = 0.0, of_right = 0.0;
        for (int k = 0; k < n_channels(); ++k) {
          of_left += C::term(channels_.sum_of(left, k), penalty_);
          of_right += C::term(channels_.sum_of(right_.data(), k), penalty_);
        }
        const auto below = [this](const std::int64_t* cell) {
          return C::denominator({channels_.weight_of(cell), nullptr, 0}, penalty_);
        };
        return of_left / below(left) + of_right / below(right_.data());
      }
    }
    return score(left) + score(right_.data());
  }

  double score(const std::int64_t* cell) { return C::score(sums_of(cell), penalty_); }
  double value(const std::int64_t* cell) {
    const Sums sums = sums_of(cell);
    return C::leaf_value(sums.sums[n_channels() - 1], sums.weight, penalty_);
  }
  // Along a constrained column both children's values must lie within the node's bounds (as
  // newton's always do) and in the required order. Other splits are free: their leaf values are
  // clipped.
  bool keeps_order(const std::int64_t* left, const std::int64_t* right, double direction) {
    const double l = value(left), r = value(right);
    const Bounds& bounds = penalty_.bounds;
    return bounds.admit(l) && bounds.admit(r) && direction * (r - l) >= 0.0;
  }

  bool big_enough(const std::int64_t* cell) const {
    if constexpr (C::needs_positive_sums)
      for (int k = 0; k < n_channels(); ++k)
        if (cell[1 + k] <= 0) return false;
    return cell[0] > 0 && (count_ < 0 || cell[count_] >= limits_.min_samples_leaf) &&
           channels_.weight_of(cell) >= limits_.min_child_weight;
  }

  const target::Channels& channels_;
  const SplitLimits& limits_;
  Penalty penalty_;
  const std::int64_t* totals_;
  int count_;
  bool any_admitted_ = false;
  double parent_score_;
  int gain_unit_;  // true gain = computed gain * 2^gain_unit_
  Cell<double> sums_;
  Cell<std::int64_t> right_;
};

// Best split of a node from its histograms. Ties go to the lowest column, then the lowest bin, then
// to missing values on the right.
template <criteria::Criterion C>
class SplitSearch {
 public:
  SplitSearch(const target::Channels& channels, const SplitLimits& limits,
              const std::int64_t* totals, const Bounds& bounds)
      : judge_(channels, limits, totals, bounds),
        left_(static_cast<std::size_t>(channels.cell_size())),
        side_(left_.size()) {}

  // `missing` points to the column's first cell, `bin_stride` is the distance between bins.
  void try_column(int column, const std::int64_t* missing, std::int64_t bin_stride, int n_bins,
                  Split& best) {
    const int cell_size = judge_.cell_size();
    const bool has_missing = judge_.any_of(missing);
    std::fill(left_.begin(), left_.end(), 0);
    const int last = has_missing ? n_bins : n_bins - 1;
    for (int bin = 1; bin <= last; ++bin) {
      const std::int64_t* const cell = missing + bin * bin_stride;
      if (!judge_.any_of(cell)) continue;  // same children as the previous split
      for (int c = 0; c < cell_size; ++c) left_[c] += cell[c];
      const bool all_values = has_missing && judge_.is_rest(left_.data(), missing);
      judge_.try_split(column, all_values ? n_bins : bin, false, left_.data(), has_missing, best,
                       all_values);
      if (!has_missing || all_values) continue;
      for (int c = 0; c < cell_size; ++c) side_[c] = left_[c] + missing[c];
      judge_.try_split(column, bin, true, side_.data(), true, best);
    }
  }

  bool any_admitted() const { return judge_.any_admitted(); }

 private:
  SplitEvaluator<C> judge_;
  std::vector<std::int64_t> left_, side_;
};

// The node parameters for searches over sums of words by the newton criterion; and the best split
// with its gain if that is sufficient.
kernels::PackedNode packed_node(const target::Channels& channels, const SplitLimits& limits,
                                const std::int64_t* total, const Bounds& bounds);
double true_gain(const target::Channels& channels, double gain);  // of one in units of the cells
Split if_worth_it(Split best, double score, const kernels::PackedNode& node,
                  const target::Channels& channels, const SplitLimits& limits);

// The rows of a node, whose copies may have to be counted. If it is not by the codes of these rows,
// `by_code` tells the copies by the code of each of some columns. `all_columns` writes those of all
// columns that are not wide in the layout of packed cells, as fast as so many columns are counted.
struct CountedRows {
  const Row* rows = nullptr;
  std::int64_t n = 0;
  std::function<std::vector<std::vector<std::int64_t>>(const std::vector<int>& columns)> by_code =
      {};
  std::function<void(std::int64_t* cells)> all_columns = {};
  double all_in_columns = std::numeric_limits<double>::infinity();
};

// The same search for the newton criterion on sums of words, eight columns at once. Categorical
// columns are searched one by one (category_search.hpp); a wide column is its own part.
class PackedSearch {
 public:
  PackedSearch(const Codes& codes, const data::Categories& categories,
               const HistogramLayout& layout, const target::Channels& channels,
               const SplitLimits& limits, const std::uint8_t* has_missing,
               const std::int64_t* total, const Bounds& bounds);

  // The best splits of those of a part's columns that are candidates.
  kernels::LaneBests search_part(int part, const std::int64_t* cells,
                                 const data::CandidateColumns& columns) const;

  // Combines the parts. If a split that is not proven to leave enough rows on both sides might win,
  // its rows are counted until both sides have enough; if they have not, all rows in the bins of
  // such columns are counted. Benchmark row `small_digits`: counting these at once instead takes
  // 1.2 times the processor time.
  struct Decided {
    Split split;
    bool any_admitted = false;
  };
  Decided decide(const std::vector<kernels::LaneBests>& bests, const std::int64_t* cells,
                 const data::CandidateColumns& columns, const CountedRows& rows) const;

 private:
  // The best split of a column, to be used if both sides have enough rows.
  struct Choice {
    int part = -1, lane = 0, column = 0;
    double score = -std::numeric_limits<double>::infinity();
    std::int64_t place = 0;
    bool is_sure = false;

    bool comes_before(const Choice& other) const {
      if (score != other.score) return score > other.score;
      return column != other.column ? column < other.column : place < other.place;
    }
  };
  // Copies in the cells of a part, one integer each. Used are those of the columns in which an
  // unproven split might win, whatever else was counted.
  using OpenLanes = std::array<bool, lanes>;
  struct Copies {
    std::vector<std::int64_t> cells;
    OpenLanes has = {};
  };

  int lanes_of(int part) const { return layout_.lanes_of(part); }
  int column_of(int part, int lane) const { return layout_.column_of(part, lane); }
  // The distance between the copies of a column's bins.
  std::int64_t count_stride_of(int column) const {
    return layout_.stride_of(column) / layout_.cell_size();
  }
  bool any_of(const std::int64_t* cell) const {
    return (cell[0] | cell[layout_.cell_size() - 1]) != 0;
  }
  Copies no_copies(int part) const;
  // Calls visit(codes, stride) with the codes of a column, of one or two bytes.
  template <class Visit>
  void visit_codes(int column, Visit&& visit) const {
    if (const int wide = categories_.wide_place(column); wide >= 0)
      return visit(categories_.wide[wide].codes, std::int64_t{1});
    const auto [codes, stride] = codes_.column(column);
    visit(codes, stride);
  }
  kernels::LaneBests search_part(int part, const std::int64_t* cells,
                                 const data::CandidateColumns& columns, const Copies* copies) const;
  void search_numerical(int part, const std::int64_t* cells, const std::int64_t* counts,
                        const bool* is_searched, kernels::LaneBests& bests) const;
  kernels::LevelScores score_levels(int part, int lane, const std::int64_t* cells,
                                    const std::int64_t* counts) const;
  CategoryBest search_categorical(int part, int lane, const std::int64_t* cells,
                                  const std::int64_t* counts,
                                  const kernels::PackedNode& node) const;
  Choice first_choice(const std::vector<kernels::LaneBests>& bests, double most) const;
  bool prove_sets(const Choice& cut, const kernels::LaneBests& bests, const std::int64_t* cells,
                  const CountedRows& rows, Split& split) const;
  bool is_decided_by_sums(const Choice& cut, const std::int64_t* cells) const;
  bool leaves_enough(const Choice& cut, const CountedRows& rows) const;
  std::vector<Copies> count_open(std::vector<kernels::LaneBests>& bests, double score,
                                 const std::int64_t* cells, const data::CandidateColumns& columns,
                                 const CountedRows& rows) const;
  Decided joined(const std::vector<kernels::LaneBests>& bests, const std::int64_t* cells,
                 const std::vector<Copies>& counts) const;
  Decided decided(double score, Split best) const;
  Copies count_copies(int part, const kernels::LaneBests& bests, double score,
                      const CountedRows& rows) const;
  std::vector<std::int64_t> count_all(const std::vector<kernels::LaneBests>& bests, double score,
                                      const CountedRows& rows) const;
  OpenLanes open_lanes(int part, const kernels::LaneBests& bests, double score) const;
  Copies count_by_code(int part, const OpenLanes& open, const CountedRows& rows) const;
  void take(int part, const kernels::LaneBests& bests, const std::int64_t* cells,
            const Copies& copies, double& score, Split& best) const;
  void place(int lane, std::int64_t place, const std::int64_t* cells, const std::int64_t* counts,
             Split& best) const;

  const Codes& codes_;
  const data::Categories& categories_;
  const HistogramLayout& layout_;
  const target::Channels& channels_;
  const SplitLimits& limits_;
  const std::uint8_t* has_missing_;  // of each column of the table; 1 also if unknown
  kernels::PackedNode node_;
};

}  // namespace weald::split
