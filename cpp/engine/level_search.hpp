// Symmetric (oblivious) trees: one split for all nodes of a depth, with the largest total gain.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "split/histogram.hpp"
#include "split/splitting.hpp"
#include "tree/growing_tree.hpp"

namespace weald::engine {

// A node in which the split would leave a child too small does not use it and contributes nothing.
// Ties go to the lowest column, then the lowest bin, then to missing values on the right.
// Categorical columns: split/category_sets.hpp. Not a fast path: the only search of the `symmetric`
// growth policy.
//
// Gains are summed node after node, so threads share the columns, not the nodes. Packed cells do
// not know the copies of a child, and sums of gains are then upper bounds (level_rules.hpp): while
// the best split is not proven to leave enough copies, the copies of its column are counted.
class LevelSearch {
 public:
  // `kept`: the histogram of each node, by columns; null: it is counted group by group.
  LevelSearch(const Codes& codes, const data::Categories& categories,
              const split::HistogramLayout& layout, const std::uint8_t* has_missing,
              const split::SplitLimits& limits, tree::GrowingTree& growing_tree,
              const std::vector<int>& nodes, std::vector<const std::int64_t*> kept);

  // Assigns the best split to the nodes that use it and returns these; none if no split gains
  // enough.
  std::vector<int> run(std::string_view criterion, data::CandidateColumns columns, int n_threads);

 private:
  // A node that admits a split, and the sums of its left side.
  struct Taker {
    std::size_t node;
    std::vector<std::int64_t> left;
  };
  struct Takers {
    std::vector<Taker> nodes;
    bool gain_is_bound = false;  // the split may gain less than was summed without counting copies
  };
  // Candidates of a group: mark of each lane.
  struct Lanes {
    bool takes[lanes] = {};
  };

  template <class Rules>
  std::vector<int> search(const Rules& rules, data::CandidateColumns columns, int n_threads);
  template <class Rules>
  void search_group(const Rules& rules, int group, const Lanes& candidates, bool is_counted);
  template <class Rules>
  void search_sets(const Rules& rules, int column, bool is_counted);
  template <class Rules>
  Takers takers_of(const Rules& rules, const split::Split& split) const;
  template <class Rules>
  std::vector<int> settle(const Rules& rules, split::Split split, Takers takers);

  int best_column() const;
  Lanes lanes_of(int group, const data::CandidateColumns& columns) const;
  const std::int64_t* part_of(std::size_t i, int part, std::vector<std::int64_t>& own) const;
  const std::int64_t* cells_of(std::size_t i, int column, std::vector<std::int64_t>& own) const;
  void count_copies(std::size_t i, int column, std::int64_t* counts, std::int64_t stride) const;
  std::vector<std::uint8_t> sides_of(const split::Split& split) const;
  bool leaves_enough(std::size_t i, int column, const std::vector<std::uint8_t>& sides) const;

  const Codes& codes_;
  const data::Categories& categories_;
  const split::HistogramLayout& layout_;
  const std::uint8_t* has_missing_;  // of each column of the table; 1 also if unknown
  const split::SplitLimits& limits_;
  tree::GrowingTree& growing_tree_;
  const target::Channels& channels_;
  const std::vector<int>& nodes_;
  std::vector<const std::int64_t*> kept_;
  std::vector<split::Split> best_;  // of each column; the gain may be an upper bound
};

}  // namespace weald::engine
