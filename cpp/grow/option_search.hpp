// Option trees: near-optimal splits of a node, one stump each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "split/histogram.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"
#include "tree/growing_tree.hpp"
#include "tree/tree.hpp"

namespace weald::grow {

// The maximum number of splits, and the share of the best gain that each must reach.
struct OptionLimits {
  int most = 1;
  double ratio = 1.0;
  std::int64_t min_samples_split = 2;
};

// A tree of one split, and the side of every row: 0 left, 1 right, -1 without copies.
struct OptionStump {
  tree::Tree tree;
  std::vector<std::int32_t> side;
};

class OptionSearch {
 public:
  OptionSearch(const Codes& codes, data::Categories categories, std::string_view criterion,
               const split::SplitLimits& limits, int n_threads)
      : codes_(codes),
        categories_(std::move(categories)),
        criterion_(criterion),
        limits_(limits),
        n_threads_(n_threads) {}

  // The best split of the rows with positive copies and those that gain nearly as much, best first,
  // each of another column and with another partition. Empty: the node is a leaf.
  std::vector<OptionStump> look(const target::Target& target, const OptionLimits& options);

  // The stump of a given partition.
  OptionStump part(const target::Target& target, const std::uint8_t* goes_left);

 private:
  void start(const target::Target& target);
  bool may_split(const OptionLimits& options) const;
  std::vector<std::int64_t> histogram(const split::HistogramLayout& layout) const;
  template <criteria::Criterion C>
  std::vector<split::Split> best_of_columns(const split::HistogramLayout& layout,
                                            const std::vector<std::int64_t>& cells) const;
  template <class GoesLeft>
  OptionStump stump_of(const split::Split& split, GoesLeft&& goes_left);
  OptionStump stump_of(const split::Split& split);
  bool are_same_partition(const OptionStump& a, const OptionStump& b) const;

  Codes codes_;
  data::Categories categories_;
  std::string_view criterion_;
  split::SplitLimits limits_;
  int n_threads_;
  tree::GrowingTree growing_tree_;
};

}  // namespace weald::grow
