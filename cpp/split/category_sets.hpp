// Best split of a categorical column into two sets of levels for all nodes of one depth at once
// (symmetric trees).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "split/category_order.hpp"
#include "split/category_search.hpp"

namespace weald::split {

// All nodes share one order of the levels: by their total deviation from each node's mean, (sum of
// S - W * mean) / (sum of W), smoothed, since only deviations produce gain. Candidates and
// regularisation are those of category_search.hpp, with rows counted over all nodes.
//
// Two passes over the nodes: `gather` for all, `arrange`, then `tally` for all. Nodes must be
// visited in the same order, since deviations and gains are floating-point sums. `Levels` is that
// of category_search.hpp, for wide or packed cells.
template <class Levels>
class CategorySets {
 public:
  // `count_stride`: distance between the copies of levels, if they are counted.
  CategorySets(const target::Channels& channels, const CategoryLimits& limits, int n_levels,
               std::int64_t stride, std::int64_t count_stride)
      : channels_(channels),
        limits_(limits),
        n_levels_(n_levels),
        stride_(stride),
        count_stride_(count_stride),
        weights_(static_cast<std::size_t>(n_levels)),
        has_rows_(static_cast<std::size_t>(n_levels)),
        deviations_(static_cast<std::size_t>(n_levels) * channels.n_channels()),
        sums_(static_cast<std::size_t>(channels.n_channels())) {}

  // `missing` points to the column's first cell in a node's histogram.
  void gather(const Levels& node, const std::int64_t* missing) {
    const int n_channels = channels_.n_channels();
    const std::int64_t* const totals = node.totals();
    const double weight = node.weight(totals);
    has_others_ |= any_of(missing);
    for (int k = 0; k < n_channels; ++k) {
      sums_[k] += node.steps(totals, k);
      const double mean = weight > 0.0 ? node.sum(totals, k) / weight : 0.0;
      for (int level = 0; level < n_levels_; ++level) {
        const std::int64_t* const one = cell(missing, level);
        deviations_[level * n_channels + k] += node.sum(one, k) - mean * node.weight(one);
      }
    }
    for (int level = 0; level < n_levels_; ++level) {
      const std::int64_t* const one = cell(missing, level);
      weights_[level] += node.heaviness(one);
      has_rows_[level] |= any_of(one);
    }
  }

  // Select the frequent levels and sort them; units are those of any node.
  void arrange(const Levels& node) {
    const double mean = node.mean_weight();
    const double least = limits_.least_weight(n_levels_, mean);
    for (int level = 0; level < n_levels_; ++level) {
      if (!has_rows_[level]) continue;
      if (node.weight(&weights_[level]) >= least)
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
          {ordered(node, channel, limits_.smoothing(n, mean)), limits_.more_l2(n, mean), {}});
    for (Sequence& one : sequences_) one.gains.resize(2 * one.levels.size(), no_gain);
  }

  // Add the gain of every pair of sets in one node. `counts`: copies of the levels; null: unknown.
  void tally(Levels& node, const std::int64_t* missing, const std::int64_t* counts) {
    const auto count = [&](int code) { return counts ? counts[code * count_stride_] : 0; };
    std::vector<std::int64_t> others(missing, missing + channels_.cell_size());
    std::int64_t others_count = count(0);
    std::vector<char> is_frequent(static_cast<std::size_t>(n_levels_));
    for (const int level : frequent_) is_frequent[level] = 1;
    for (int level = 0; level < n_levels_; ++level) {
      if (is_frequent[level]) continue;
      add(others, cell(missing, level));
      others_count += count(level + 1);
    }
    for (Sequence& one : sequences_) {
      std::int64_t left_count = 0;
      std::size_t n_counted = 0;
      each_first_levels(
          one.levels, frequent_.size(), others, has_others_,
          [&](int level) { return cell(missing, level); },
          [&](const std::vector<std::int64_t>& left, std::size_t n, bool others_left) {
            while (n_counted < n) left_count += count(one.levels[n_counted++] + 1);
            const std::int64_t copies = left_count + (others_left ? others_count : 0);
            const PairGain pair = node.gain_of(left.data(), copies, one.more_l2);
            double& gain = one.gains[2 * (n - 1) + others_left];
            if (pair.is_admitted) gain = (gain == no_gain ? 0.0 : gain) + pair.gain;
            return false;
          });
    }
  }

  // The pair of the largest gain; none if no node admits any.
  Split best(int column) const {
    const Sequence* from = nullptr;
    std::size_t place = 0;
    double gain = no_gain;
    for (const Sequence& one : sequences_)
      for (std::size_t at = 0; at < one.gains.size(); ++at) {
        if (!(one.gains[at] > gain)) continue;
        gain = one.gains[at];
        from = &one;
        place = at;
      }
    return from ? made(column, *from, place, gain) : Split{};
  }

 private:
  static constexpr double no_gain = -std::numeric_limits<double>::infinity();

  // An order of levels, and the gains of its prefixes: others right, others left.
  struct Sequence {
    std::vector<int> levels;
    double more_l2;
    std::vector<double> gains;
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

  std::vector<int> ordered(const Levels& node, int channel, double smooth) const {
    std::vector<int> levels = frequent_;
    LevelSorter().sort(levels, [&](int level) {
      const double deviation = deviations_[level * channels_.n_channels() + channel];
      return smoothed_mean(deviation, node.weight(&weights_[level]), smooth, 0.0);
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
  std::int64_t stride_, count_stride_;
  std::vector<std::int64_t> weights_;  // of each level, over all nodes
  std::vector<char> has_rows_;
  std::vector<double> deviations_;  // [level][channel]
  std::vector<std::int64_t> sums_;  // of each channel
  bool has_others_ = false;
  std::vector<int> frequent_;
  std::vector<Sequence> sequences_;
};

}  // namespace weald::split
