// Best split of a categorical column into two sets of levels, from the sums per level.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "data/categories.hpp"
#include "split/category_order.hpp"
#include "split/splitting.hpp"

namespace weald::split {

// Evaluation of a pair of sets: its score, whether it is allowed, or whether that requires
// counting.
struct Evaluation {
  double score = -std::numeric_limits<double>::infinity();
  bool allowed = false, undecided = false;
};

// The same as a gain, without the check whether it suffices.
struct PairGain {
  bool is_admitted = false;  // both sides are large enough
  double gain = 0.0;
};

// The best pair of sets of a column.
struct CategoryBest {
  double score = -std::numeric_limits<double>::infinity();
  double undecided = -std::numeric_limits<double>::infinity();
  data::LevelSet left;  // empty: none was found
  bool missing_left = false;
};

// Wide cells, any criterion; the score is the gain.
template <criteria::Criterion C>
class WideLevels {
 public:
  WideLevels(const target::Channels& channels, const SplitLimits& limits,
             const std::int64_t* totals, const Bounds& bounds)
      : channels_(channels),
        limits_(limits),
        penalty_(channels.in_units(limits.penalty, bounds)),
        totals_(totals),
        sums_(static_cast<std::size_t>(channels.n_channels())),
        right_(static_cast<std::size_t>(channels.cell_size())) {
    parent_score_ = score(totals, penalty_);
    gain_unit_ = criteria::gain_exponent<C>(channels.unit());
  }

  int cell_size() const { return channels_.cell_size(); }
  double mean_weight() const { return channels_.mean_weight(); }
  double weight(const std::int64_t* cell) const { return channels_.weight_of(cell); }
  double sum(const std::int64_t* cell, int k) const { return channels_.sum_of(cell, k); }
  std::int64_t steps(const std::int64_t* cell, int k) const { return cell[1 + k]; }
  std::int64_t heaviness(const std::int64_t* cell) const { return cell[0]; }
  const std::int64_t* totals() const { return totals_; }
  // Centre of the smoothing: the node's mean. Gradients are shrunk towards 0, like leaf values.
  double centre(int k) const {
    if constexpr (std::is_same_v<C, criteria::Newton>) return 0.0;
    return totals_[0] > 0 ? sum(totals_, k) / weight(totals_) : 0.0;
  }

  // The channels by whose means levels are sorted.
  std::vector<int> orders() const {
    return orders_of(channels_, totals_ + 1, limits_.category.most_orders);
  }

  Evaluation evaluate(const std::int64_t* left, std::int64_t, double more_l2) {
    const std::optional<double> sides = score_of_sides(left, more_l2);
    if (!sides) return {};
    const double gain = *sides - parent_score_;
    return {gain, limits_.is_worth(gain, *sides, gain_unit_), false};
  }
  PairGain gain_of(const std::int64_t* left, std::int64_t, double more_l2) {
    const std::optional<double> sides = score_of_sides(left, more_l2);
    return sides ? PairGain{true, *sides - parent_score_} : PairGain{};
  }
  bool any_admitted() const { return any_admitted_; }

 private:
  // Nothing if a side is too small.
  std::optional<double> score_of_sides(const std::int64_t* left, double more_l2) {
    for (std::size_t c = 0; c < right_.size(); ++c) right_[c] = totals_[c] - left[c];
    if (!big_enough(left) || !big_enough(right_.data())) return {};
    any_admitted_ = true;
    Penalty penalty = penalty_;
    penalty.l2 += more_l2;
    return score(left, penalty) + score(right_.data(), penalty);
  }
  double score(const std::int64_t* cell, const Penalty& penalty) {
    for (int k = 0; k < channels_.n_channels(); ++k) sums_[k] = channels_.sum_of(cell, k);
    return C::score({channels_.weight_of(cell), sums_.data(), channels_.n_channels()}, penalty);
  }
  bool big_enough(const std::int64_t* cell) const {
    if constexpr (C::needs_positive_sums)
      for (int k = 0; k < channels_.n_channels(); ++k)
        if (cell[1 + k] <= 0) return false;
    const int count = channels_.count_index();
    return cell[0] > 0 && (count < 0 || cell[count] >= limits_.min_samples_leaf) &&
           channels_.weight_of(cell) >= limits_.min_child_weight;
  }

  const target::Channels& channels_;
  const SplitLimits& limits_;
  Penalty penalty_;
  const std::int64_t* totals_;
  bool any_admitted_ = false;
  double parent_score_;
  int gain_unit_;
  std::vector<double> sums_;
  std::vector<std::int64_t> right_;
};

// Cells of sums of words, in their own units; the score is that of the kernel (kernels.hpp:
// LaneBests).
class PackedLevels {
 public:
  PackedLevels(const target::Channels& channels, const kernels::PackedNode& node,
               std::int64_t total_count)
      : channels_(channels),
        node_(node),
        total_{node.cell_size == 1 ? kernels::pack(node.g, node.h) : node.h, node.g},
        g_(static_cast<double>(node.g)),
        h_(static_cast<double>(node.h)),
        min_weight_(std::max(node.min_weight, 1.0)),
        total_count_(total_count) {}

  int cell_size() const { return node_.cell_size; }
  double mean_weight() const { return channels_.mean_weight() / channels_.packed_weight_step(); }
  double weight(const std::int64_t* cell) const { return static_cast<double>(heaviness(cell)); }
  double sum(const std::int64_t* cell, int k) const { return static_cast<double>(steps(cell, k)); }
  std::int64_t steps(const std::int64_t* cell, int) const {
    return kernels::g_of(cell, cell_size());
  }
  std::int64_t heaviness(const std::int64_t* cell) const {
    return kernels::h_of(cell, cell_size());
  }
  const std::int64_t* totals() const { return total_; }
  double centre(int) const { return 0.0; }
  std::vector<int> orders() const { return {0}; }

  // `count` is that of the left side; without total_count (-1) only h is checked.
  Evaluation evaluate(const std::int64_t* left, std::int64_t count, double more_l2) const {
    const double gl = sum(left, 0), hl = weight(left), gr = g_ - gl, hr = h_ - hl;
    const double dl = hl + node_.l2 + more_l2, dr = hr + node_.l2 + more_l2;
    const double lesser = hl < hr ? hl : hr;
    if (!(lesser >= min_weight_)) return {};
    // Same operations as the kernel, so that equal children have equal scores.
    const double sl = node_.shrunk(gl), sr = node_.shrunk(gr);
    const double score = node_.needs_values() ? node_.score(gl, dl) + node_.score(gr, dr)
                                              : (sl * sl * dr + sr * sr * dl) / (dl * dr);
    if (total_count_ >= 0) {
      const auto least = static_cast<std::int64_t>(node_.min_count);
      return {score, count >= least && total_count_ - count >= least, false};
    }
    const bool sure = lesser >= node_.sure_weight;
    return {score, sure, !sure};
  }
  // As the kernel for numerical columns: an undecided pair adds its gain if that is positive.
  PairGain gain_of(const std::int64_t* left, std::int64_t count, double more_l2) const {
    const Evaluation pair = evaluate(left, count, more_l2);
    const double gain = pair.score - node_.score();
    if (pair.undecided) return {true, std::max(gain, 0.0)};
    return {pair.allowed, gain};
  }

 private:
  const target::Channels& channels_;
  const kernels::PackedNode& node_;
  std::int64_t total_[2];  // as a cell
  double g_, h_, min_weight_;
  std::int64_t total_count_;
};

// Candidates, among the levels that have rows: each against the rest, if they are few; and all
// prefixes (hence all suffixes) of the order by smoothed mean S / W. Rare levels, and levels
// without rows, go with missing values to either side. Ties go to the first candidate; equal means
// are ordered by level.
template <class Levels>
class CategorySearch {
 public:
  CategorySearch(Levels& levels, const CategoryLimits& limits) : levels_(levels), limits_(limits) {}

  // `missing` points to the first cell, `stride` is the distance between levels. `counts` (null:
  // none) are copies in the same layout, `count_stride` apart.
  CategoryBest search(const std::int64_t* missing, std::int64_t stride, int n_levels,
                      const std::int64_t* counts, std::int64_t count_stride) {
    cells_ = missing, stride_ = stride, counts_ = counts, count_stride_ = count_stride;
    n_levels_ = n_levels;
    separate_rare();
    best_ = {};
    if (frequent_.empty()) return best_;
    const double mean = levels_.mean_weight();
    const std::size_t n = frequent_.size();
    for (std::size_t i = 0; limits_.are_few(n) && i < n; ++i) scan({frequent_[i]}, 0.0);
    for (const int channel : levels_.orders()) {
      order_by(channel, limits_.smoothing(n, mean));
      scan(frequent_, limits_.more_l2(n, mean));
    }
    return best_;
  }

 private:
  const std::int64_t* cell(int level) const { return cells_ + (level + 1) * stride_; }
  std::int64_t count(int code) const { return counts_ ? counts_[code * count_stride_] : 0; }
  bool has_rows(const std::int64_t* one, int code) const {
    std::int64_t bits = count(code);
    for (int c = 0; c < levels_.cell_size(); ++c) bits |= one[c];
    return bits != 0;
  }
  void add(std::vector<std::int64_t>& to, const std::int64_t* one) const {
    for (int c = 0; c < levels_.cell_size(); ++c) to[c] += one[c];
  }

  // Separate the frequent levels from the rest, and sum the rest and missing values.
  void separate_rare() {
    const auto size = static_cast<std::size_t>(levels_.cell_size());
    others_.assign(cells_, cells_ + size);
    others_count_ = count(0);
    has_others_ = has_rows(cells_, 0);
    frequent_.clear();
    const double least = limits_.least_weight(n_levels_, levels_.mean_weight());
    for (int level = 0; level < n_levels_; ++level) {
      if (!has_rows(cell(level), level + 1)) continue;
      if (levels_.weight(cell(level)) >= least) {
        frequent_.push_back(level);
        continue;
      }
      add(others_, cell(level));
      others_count_ += count(level + 1);
      has_others_ = true;
    }
  }

  void order_by(int channel, double smooth) {
    const double centre = levels_.centre(channel);
    sorter_.sort(frequent_, [&](int level) {
      const std::int64_t* const one = cell(level);
      return smoothed_mean(levels_.sum(one, channel), levels_.weight(one), smooth, centre);
    });
  }

  void scan(const std::vector<int>& levels, double more_l2) {
    std::int64_t left_count = 0;
    each_first_levels(
        levels, frequent_.size(), others_, has_others_, [&](int level) { return cell(level); },
        [&](const std::vector<std::int64_t>& left, std::size_t n, bool others_left) {
          if (!others_left) left_count += count(levels[n - 1] + 1);
          const std::int64_t copies = left_count + (others_left ? others_count_ : 0);
          note(levels_.evaluate(left.data(), copies, more_l2), n, others_left);
          return false;
        });
    keep(levels);
  }

  void note(const Evaluation& evaluation, std::size_t n, bool others_left) {
    if (evaluation.undecided) best_.undecided = std::max(best_.undecided, evaluation.score);
    if (!evaluation.allowed || !(evaluation.score > best_.score)) return;
    best_.score = evaluation.score;
    best_.missing_left = others_left;
    noted_ = n;
  }

  // Store the set of the best pair, if it is a prefix of these levels.
  void keep(const std::vector<int>& levels) {
    if (noted_ == 0) return;
    if (!has_others_)
      best_.missing_left = first_are_heavier(
          levels, noted_, frequent_, [&](int level) { return levels_.heaviness(cell(level)); });
    best_.left = set_of_first(levels, noted_, frequent_, n_levels_, best_.missing_left);
    noted_ = 0;
  }

  Levels& levels_;
  const CategoryLimits& limits_;
  const std::int64_t* cells_ = nullptr;
  const std::int64_t* counts_ = nullptr;
  std::int64_t stride_ = 0, count_stride_ = 0;
  int n_levels_ = 0;
  std::vector<int> frequent_;
  LevelSorter sorter_;
  std::vector<std::int64_t> others_;
  std::int64_t others_count_ = 0;
  bool has_others_ = false;
  std::size_t noted_ = 0;  // prefix length of the best pair; 0: its set is stored already
  CategoryBest best_;
};

}  // namespace weald::split
