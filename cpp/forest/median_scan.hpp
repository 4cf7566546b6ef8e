// Absolute error: distances of the values of each side from its median.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "forest/scan.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::forest {

// Absolute error is not a function of sums over all rows, so it is not a criterion like the others.
// Sums below and above a median are kept in Fenwick trees over the values of the node: a row costs
// O(log n). All sums are integers, so that row order does not matter. Throws Interrupted inside a
// large node; the next tree starts anew.
class MedianScan {
 public:
  struct Left {};  // the left side is a member
  static constexpr const char* name = "absolute_error";
  // The properties of criteria.
  static constexpr bool is_quadratic = false;
  static constexpr SumsOf sums_of = SumsOf::numbers;
  static constexpr bool needs_positive_sums = false;

  void start(const target::Channels& channels, const split::SplitLimits& limits,
             std::int64_t n_rows);
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals);
  // Bounds of the next node to be loaded; monotonic direction of the next column.
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }
  void set_direction(double direction) { direction_ = direction; }
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(i); }

  // Sorts the rows by bin.
  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    first_of_bin_.assign(static_cast<std::size_t>(n_bins) + 2, 0);
    for (std::int64_t i = 0; i < n; ++i) ++first_of_bin_[code_of(i) + 1];
    for (int bin = 0; bin <= n_bins; ++bin) first_of_bin_[bin + 1] += first_of_bin_[bin];
    in_bins_.resize(static_cast<std::size_t>(n));
    std::vector<std::int64_t> place(first_of_bin_.begin(), first_of_bin_.end() - 1);
    for (std::int64_t i = 0; i < n; ++i) {
      in_bins_[place[code_of(i)]++] = static_cast<std::uint32_t>(i);
      steps_.take();
    }
  }
  int cell_width() const { return 1; }
  bool is_empty(int bin) const { return first_of_bin_[bin] == first_of_bin_[bin + 1]; }
  double bin_weight(int bin) const { return static_cast<double>(of_bin(bin).w); }
  double bin_sum(int bin, int) const { return static_cast<double>(of_bin(bin).s); }

  Left empty_left() {
    std::fill(left_tree_.begin(), left_tree_.end(), Mass{});
    std::fill(left_at_.begin(), left_at_.end(), Mass{});
    left_ = {};
    left_copies_ = 0;
    return {};
  }
  void add(Left&, std::uint32_t i) { put(i); }
  void add_if(Left&, std::uint32_t i, bool is_left) {
    if (is_left) put(i);
  }
  void prepare_thresholds(std::int64_t) {}
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i)
      add_if(left, static_cast<std::uint32_t>(i), (x[i] <= cut) | (missing_too & (x[i] != x[i])));
  }
  void add_bin(Left&, int bin) {
    for (std::int64_t k = first_of_bin_[bin]; k < first_of_bin_[bin + 1]; ++k) put(in_bins_[k]);
  }

  bool beats(const Left&, double bar);
  double score(const Left&) const { return score_; }
  bool is_perfect(const Left&) const { return false; }
  bool left_is_heavier(const Left&) const { return left_.w >= total_.w - left_.w; }
  void keep(const Left&);
  void write(std::vector<std::int64_t>& left) const { left = kept_; }

  // The kept split, in the form of SplitEvaluator.
  struct Judged {
    bool is_admitted;
    double gain, children;
  };
  Judged judge(const std::int64_t*) const { return {true, error_ + kept_score_, kept_score_}; }
  bool is_worth(double gain, double children) const {
    return limits_->is_worth(gain, children, channels_->unit());
  }
  double kept_middle() const { return kept_middle_; }

 private:
  struct Mass {
    std::int64_t w = 0, s = 0;
    Mass operator+(const Mass& other) const { return {w + other.w, s + other.s}; }
    Mass operator-(const Mass& other) const { return {w - other.w, s - other.s}; }
  };
  struct Place {
    std::size_t value;  // index
    Mass below;         // of all smaller ones
  };

  Mass of_bin(int bin) const {
    Mass sum;
    for (std::int64_t k = first_of_bin_[bin]; k < first_of_bin_[bin + 1]; ++k)
      sum = sum + row_mass_[in_bins_[k]];
    return sum;
  }
  void put(std::uint32_t i);
  bool is_big_enough(const Mass& side, std::int64_t copies) const;
  Mass in_tree(std::size_t at, bool of_right) const {
    return of_right ? all_tree_[at] - left_tree_[at] : left_tree_[at];
  }
  Mass at_value(std::size_t value, bool of_right) const {
    return of_right ? all_at_[value] - left_at_[value] : left_at_[value];
  }
  Mass side(bool of_right) const { return of_right ? total_ - left_ : left_; }
  template <class IsBelow>
  Place find(bool of_right, IsBelow&& is_below) const;
  Place median_of(bool of_right) const;
  double error_of(bool of_right) const;         // in the units of sums
  double median_value_of(bool of_right) const;  // the median

  const target::Channels* channels_ = nullptr;
  const split::SplitLimits* limits_ = nullptr;
  std::vector<std::uint32_t> rank_of_row_;  // of the target, by row of the tree
  std::vector<double> values_;              // of the node, ascending
  std::vector<std::uint32_t> value_of_;     // [row of the node] index of its value
  std::vector<Mass> row_mass_;
  std::vector<std::int64_t> row_copies_;
  std::vector<std::uint64_t> keys_;
  std::vector<Mass> all_tree_, left_tree_, all_at_, left_at_;
  std::size_t top_ = 1;  // the largest power of two <= number of values
  Mass total_, left_;
  std::int64_t total_copies_ = 0, left_copies_ = 0;
  double error_ = 0.0, score_ = 0.0, kept_score_ = 0.0, kept_middle_ = 0.0;
  std::vector<std::int64_t> kept_;
  std::vector<std::int64_t> first_of_bin_;
  std::vector<std::uint32_t> in_bins_;
  Bounds bounds_;
  double direction_ = 0.0;
  InterruptSteps steps_;
};

// Weighted median of the targets of some rows; the mean of the two middle values where both halves
// have equal weight.
double median_of_rows(const target::Channels& channels, const Row* rows, std::int64_t n);

}  // namespace weald::forest
