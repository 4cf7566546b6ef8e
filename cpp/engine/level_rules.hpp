// How the splits of a level are rated: over wide cells by any criterion, over sums of words by the
// newton criterion. Both offer the same to level_search.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/types.hpp"
#include "kernels/kernels.hpp"
#include "split/category_search.hpp"
#include "split/splitting.hpp"
#include "tree/growing_tree.hpp"

namespace weald::engine {

// Gains of the splits of a group's numerical columns, summed over the nodes of a level.
class LevelGains {
 public:
  // `has_missing`: whether a column of the group has missing values.
  LevelGains(int n_bins, bool has_missing)
      : gains_(2 * (static_cast<std::size_t>(n_bins) + 1) * lanes, none),
        has_values_left_(has_missing ? gains_.size() / 2 : 0) {}

  bool has_missing() const { return !has_values_left_.empty(); }
  kernels::GroupGains sums() {
    return {gains_.data(), has_missing() ? has_values_left_.data() : nullptr};
  }
  void add(int lane, int bin, bool missing_left, double gain, bool has_values_left) {
    double& sum = gains_[(2 * bin + missing_left) * lanes + lane];
    sum = (sum == none ? 0.0 : sum) + gain;
    if (missing_left) has_values_left_[bin * lanes + lane] |= has_values_left;
  }

  // The first of the largest gains of a column. Only missing values on the left mirrors only
  // missing values on the right.
  split::Split best(int column, int n_bins) const {
    const int lane = column % lanes;
    split::Split best;
    const auto take_better = [&](int bin, bool missing_left) {
      const double gain = gains_[(2 * bin + missing_left) * lanes + lane];
      if (gain > best.gain) best = {gain, column, bin, missing_left, 0.0, {}};
    };
    for (int bin = 1; bin <= n_bins; ++bin) {
      take_better(bin, false);
      if (has_missing() && has_values_left_[bin * lanes + lane] != 0) take_better(bin, true);
    }
    return best;
  }

 private:
  static constexpr double none = -std::numeric_limits<double>::infinity();
  std::vector<double> gains_;  // as in GroupGains
  std::vector<std::int64_t> has_values_left_;
};

// Whether a node admits a split: both children large enough and in the order of the constraint. The
// sums of packed cells may leave it open whether the children have enough copies.
enum class Verdict { refused, admitted, undecided };

template <criteria::Criterion C>
class WideRules {
 public:
  using Levels = split::WideLevels<C>;

  WideRules(const split::SplitLimits& limits, const tree::GrowingTree& growing_tree,
            const std::vector<int>& nodes)
      : limits_(limits), growing_tree_(growing_tree), nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) score_ += evaluator(i).parent_score();
  }

  // `copies` is for packed cells.
  Levels levels(std::size_t i, std::int64_t /*copies*/) const {
    return Levels(channels(), limits_, totals(i), bounds(i));
  }

  // Add the gains of the i-th node for the columns of a group that have n_bins > 0.
  void add_gains(std::size_t i, int group, const std::int64_t* cells,
                 const std::int64_t* /*counts*/, const int* n_bins, LevelGains& to) const {
    for (int lane = 0; lane < lanes; ++lane)
      if (n_bins[lane] > 0)
        add_gains_of_column(i, group * lanes + lane, cells + lane * channels().cell_size(),
                            n_bins[lane], to);
  }

  Verdict verdict(std::size_t i, const std::int64_t* left, double direction) const {
    return evaluator(i).judge(left, direction).is_admitted ? Verdict::admitted : Verdict::refused;
  }
  bool loses(std::size_t, const std::int64_t*) const { return false; }  // nothing is undecided
  std::int64_t heaviness(const std::int64_t* cell) const { return cell[0]; }

  // Whether the total gain of a level suffices.
  bool is_worth(double gain) const {
    return limits_.is_worth(gain, score_ + gain, criteria::gain_exponent<C>(channels().unit()));
  }
  double in_units(double gain) const { return gain; }

 private:
  using Judged = typename split::SplitEvaluator<C>::Judged;

  const target::Channels& channels() const { return growing_tree_.channels; }
  const std::int64_t* totals(std::size_t i) const { return growing_tree_.totals_of(nodes_[i]); }
  const Bounds& bounds(std::size_t i) const { return growing_tree_.nodes[nodes_[i]].bounds; }
  split::SplitEvaluator<C> evaluator(std::size_t i) const {
    return split::SplitEvaluator<C>(channels(), limits_, totals(i), bounds(i));
  }

  void add_gains_of_column(std::size_t i, int column, const std::int64_t* missing, int n_bins,
                           LevelGains& to) const {
    split::SplitEvaluator<C> evaluator = this->evaluator(i);
    const double direction = limits_.direction_of(column);
    const int size = channels().cell_size(), lane = column % lanes;
    const bool has_missing = evaluator.any_of(missing);
    std::vector<std::int64_t> left(static_cast<std::size_t>(size)), side(left.size());
    Judged to_right{false}, to_left{false};
    if (has_missing) to_left = evaluator.judge(missing, direction);
    for (int bin = 1; bin <= n_bins; ++bin) {
      const std::int64_t* const cell = missing + std::int64_t{bin} * lanes * size;
      if (evaluator.any_of(cell)) {  // otherwise the children are those of the split before
        for (int c = 0; c < size; ++c) left[c] += cell[c];
        to_right = evaluator.judge(left.data(), direction);
        for (int c = 0; c < size; ++c) side[c] = left[c] + missing[c];
        to_left = has_missing ? evaluator.judge(side.data(), direction) : to_right;
      }
      const bool has_values = left[0] > 0;
      if (to_right.is_admitted) to.add(lane, bin, false, to_right.gain, has_values);
      if (to.has_missing() && to_left.is_admitted)
        to.add(lane, bin, true, to_left.gain, has_values);
    }
  }

  const split::SplitLimits& limits_;
  const tree::GrowingTree& growing_tree_;
  const std::vector<int>& nodes_;
  double score_ = 0.0;  // of all nodes
};

class PackedRules {
 public:
  using Levels = split::PackedLevels;

  PackedRules(const split::SplitLimits& limits, const tree::GrowingTree& growing_tree,
              const std::vector<int>& nodes)
      : limits_(limits), channels_(growing_tree.channels) {
    for (const int node : nodes) {
      nodes_.push_back(split::packed_node(channels_, limits, growing_tree.totals_of(node),
                                          growing_tree.nodes[node].bounds));
      scores_.push_back(nodes_.back().score());
      score_ += scores_.back();
    }
  }

  // `copies` of the node; -1: not counted.
  Levels levels(std::size_t i, std::int64_t copies) const {
    return Levels(channels_, nodes_[i], copies);
  }

  // All eight columns at once.
  void add_gains(std::size_t i, int group, const std::int64_t* cells, const std::int64_t* counts,
                 const int* n_bins, LevelGains& to) const {
    kernels::PackedNode node = nodes_[i];
    if (node.direction) node.direction += group * lanes;
    kernels::active().add_gains(cells, counts, *std::max_element(n_bins, n_bins + lanes), node,
                                scores_[i], to.sums());
  }

  Verdict verdict(std::size_t i, const std::int64_t* left, double direction) const {
    const kernels::PackedNode& node = nodes_[i];
    const auto gl = static_cast<double>(kernels::g_of(left, node.cell_size));
    const auto hl = static_cast<double>(kernels::h_of(left, node.cell_size));
    const double gr = static_cast<double>(node.g) - gl, hr = static_cast<double>(node.h) - hl;
    const double lesser = std::min(hl, hr);
    if (lesser < std::max(node.min_weight, 1.0)) return Verdict::refused;
    if (direction != 0.0) {
      const double rise = node.value(gr, hr + node.l2) - node.value(gl, hl + node.l2);
      if (!(direction * rise >= 0.0)) return Verdict::refused;
    }
    return lesser >= node.sure_weight ? Verdict::admitted : Verdict::undecided;
  }
  // Whether a split at a value has a negative gain.
  bool loses(std::size_t i, const std::int64_t* left) const {
    return levels(i, -1).evaluate(left, 0, 0.0).score < scores_[i];
  }
  std::int64_t heaviness(const std::int64_t* cell) const { return channels_.heaviness(cell); }

  // Scores of sums of words are doubled.
  bool is_worth(double gain) const {
    constexpr double rounding = 1e-13;
    return limits_.takes_any_gain() ||
           (gain > rounding * std::abs(score_ + gain) && in_units(gain) > limits_.min_gain);
  }
  double in_units(double gain) const { return split::true_gain(channels_, 0.5 * gain); }

 private:
  const split::SplitLimits& limits_;
  const target::Channels& channels_;
  std::vector<kernels::PackedNode> nodes_;
  std::vector<double> scores_;
  double score_ = 0.0;  // of all nodes
};

}  // namespace weald::engine
