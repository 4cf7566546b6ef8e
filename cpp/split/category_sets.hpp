// Best split of a categorical column into two sets of levels for all nodes of one depth at once
// (symmetric trees).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "split/category_order.hpp"
#include "split/category_search.hpp"

namespace weald::split {

// Total effect of a split over all nodes.
struct Tally {
  double gain = 0.0, children = 0.0;
  std::int64_t n_nodes = 0;
  bool has_values_left = false;
};

// All nodes share one order of the levels: by their total deviation from each node's mean, (sum of
// S - W * mean) / (sum of W), smoothed, since only deviations produce gain. Candidates and
// regularisation are those of category_search.hpp, with rows counted over all nodes.
//
// Two passes over the nodes: `gather` for all, `arrange`, then `tally` for all. Nodes must be
// visited in the same order, since deviations are floating-point sums.
class CategorySets {
 public:
  CategorySets(const target::Channels& channels, const CategoryLimits& limits, int n_levels,
               std::int64_t stride)
      : channels_(channels),
        limits_(limits),
        n_levels_(n_levels),
        stride_(stride),
        weights_(static_cast<std::size_t>(n_levels)),
        has_rows_(static_cast<std::size_t>(n_levels)),
        deviations_(static_cast<std::size_t>(n_levels) * channels.n_channels()),
        sums_(static_cast<std::size_t>(channels.n_channels())) {}

  // `missing` points to the column's first cell in a node's histogram.
  void gather(const std::int64_t* missing, const std::int64_t* totals) {
    const int n_channels = channels_.n_channels();
    const double weight = channels_.weight_of(totals);
    has_others_ |= any_of(missing);
    for (int k = 0; k < n_channels; ++k) {
      sums_[k] += totals[1 + k];
      const double mean = weight > 0.0 ? channels_.sum_of(totals, k) / weight : 0.0;
      for (int level = 0; level < n_levels_; ++level) {
        const std::int64_t* const one = cell(missing, level);
        deviations_[level * n_channels + k] +=
            channels_.sum_of(one, k) - mean * channels_.weight_of(one);
      }
    }
    for (int level = 0; level < n_levels_; ++level) {
      const std::int64_t* const one = cell(missing, level);
      weights_[level] += one[0];
      has_rows_[level] |= any_of(one);
    }
  }

  // Select the frequent levels and sort them.
  void arrange() {
    const double mean = channels_.mean_weight();
    const double least = limits_.least_weight(n_levels_, mean);
    for (int level = 0; level < n_levels_; ++level) {
      if (!has_rows_[level]) continue;
      if (weight_of(level) >= least)
        frequent_.push_back(level);
      else
        has_others_ = true;
    }
    if (frequent_.empty()) return;
    const std::size_t n = frequent_.size();
    for (std::size_t i = 0; limits_.are_few(n) && i < n; ++i)
      sequences_.push_back({{frequent_[i]}, 0.0, {}});
    for (const int channel : orders_of(channels_, sums_.data(), limits_.most_orders))
      sequences_.push_back(
          {ordered(channel, limits_.smoothing(n, mean)), limits_.more_l2(n, mean), {}});
    for (Sequence& one : sequences_) one.tallies.resize(2 * one.levels.size());
  }

  // Add the effect of every pair of sets in one node.
  template <criteria::Criterion C>
  void tally(WideLevels<C>& node, const std::int64_t* missing) {
    std::vector<std::int64_t> others(missing, missing + channels_.cell_size());
    std::vector<char> is_frequent(static_cast<std::size_t>(n_levels_));
    for (const int level : frequent_) is_frequent[level] = 1;
    for (int level = 0; level < n_levels_; ++level)
      if (!is_frequent[level]) add(others, cell(missing, level));
    for (Sequence& one : sequences_) {
      each_first_levels(
          one.levels, frequent_.size(), others, has_others_,
          [&](int level) { return cell(missing, level); },
          [&](const std::vector<std::int64_t>& left, std::size_t n, bool others_left) {
            note(node.gain_of(left.data(), one.more_l2), one.tallies[2 * (n - 1) + others_left]);
            return false;
          });
    }
  }

  // Replace `best` by the best pair with a sufficient gain if that is better; returns whether any
  // pair was admissible.
  template <criteria::Criterion C>
  bool take(int column, const SplitEvaluator<C>& evaluator, Split& best) const {
    const Sequence* from = nullptr;
    std::size_t place = 0;
    bool any_admitted = false;
    double gain = best.gain;
    for (const Sequence& one : sequences_)
      for (std::size_t at = 0; at < one.tallies.size(); ++at) {
        const Tally& all = one.tallies[at];
        if (all.n_nodes == 0) continue;
        any_admitted = true;
        if (!(all.gain > gain) || !evaluator.is_worth(all.gain, all.children)) continue;
        gain = all.gain;
        from = &one;
        place = at;
      }
    if (from) best = made(column, *from, place, gain);
    return any_admitted;
  }

 private:
  // An order of levels, and the effect of its prefixes: others right, others left.
  struct Sequence {
    std::vector<int> levels;
    double more_l2;
    std::vector<Tally> tallies;
  };

  const std::int64_t* cell(const std::int64_t* missing, int level) const {
    return missing + (level + 1) * stride_;
  }
  bool any_of(const std::int64_t* one) const {
    std::int64_t bits = 0;
    for (int c = 0; c < channels_.cell_size(); ++c) bits |= one[c];
    return bits != 0;
  }
  static void add(std::vector<std::int64_t>& to, const std::int64_t* one) {
    for (std::size_t c = 0; c < to.size(); ++c) to[c] += one[c];
  }
  double weight_of(int level) const { return channels_.weight_of(&weights_[level]); }
  template <class PairGain>
  static void note(const PairGain& pair, Tally& to) {
    if (!pair.is_admitted) return;
    to.gain += pair.gain;
    to.children += pair.children;
    ++to.n_nodes;
  }

  std::vector<int> ordered(int channel, double smooth) const {
    std::vector<int> levels = frequent_;
    LevelSorter().sort(levels, [&](int level) {
      const double deviation = deviations_[level * channels_.n_channels() + channel];
      return smoothed_mean(deviation, weight_of(level), smooth, 0.0);
    });
    return levels;
  }

  Split made(int column, const Sequence& from, std::size_t place, double gain) const {
    Split split;
    split.gain = gain;
    split.column = column;
    const std::size_t n = place / 2 + 1;
    split.missing_left =
        has_others_ ? place % 2 == 1 : first_are_heavier(from.levels, n, frequent_, [&](int level) {
          return weights_[level];
        });
    split.left_set = set_of_first(from.levels, n, frequent_, n_levels_, split.missing_left);
    return split;
  }

  const target::Channels& channels_;
  const CategoryLimits& limits_;
  int n_levels_;
  std::int64_t stride_;
  std::vector<std::int64_t> weights_;  // of each level, over all nodes
  std::vector<char> has_rows_;
  std::vector<double> deviations_;  // [level][channel]
  std::vector<std::int64_t> sums_;  // of each channel
  bool has_others_ = false;
  std::vector<int> frequent_;
  std::vector<Sequence> sequences_;
};

}  // namespace weald::split
