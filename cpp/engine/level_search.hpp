// Symmetric (oblivious) trees: one split for all nodes of a depth, with the largest total gain.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "split/category_sets.hpp"
#include "split/histogram.hpp"
#include "split/splitting.hpp"
#include "tree/growing_tree.hpp"

namespace weald::engine {

// A node in which the split would leave a child too small does not use it and contributes nothing.
// Ties go to the lowest column, then the lowest bin, then to missing values on the right.
// Histograms are built for a few columns of one node at a time and not kept. Categorical columns:
// split/category_sets.hpp. Not a fast path: the only search of the `symmetric` growth policy.
class LevelSearch {
 public:
  // `scratch`: a histogram buffer per thread.
  LevelSearch(const Codes& codes, const data::Categories& categories,
              const split::HistogramLayout& layout, const split::SplitLimits& limits,
              tree::GrowingTree& growing_tree, std::vector<std::int64_t*> scratch);

  // Assigns the best split to the nodes that use it and returns these; none if no split gains
  // enough.
  std::vector<int> run(std::string_view criterion, const std::vector<int>& nodes,
                       data::CandidateColumns columns);

 private:
  struct Found {
    split::Split split;
    bool any_admitted = false;
  };

  template <criteria::Criterion C>
  Found best_of_group(int group, const std::vector<int>& nodes,
                      const data::CandidateColumns& columns, std::int64_t* cells) const;
  template <criteria::Criterion C>
  void tally(int column, int node, const std::int64_t* missing,
             std::vector<split::Tally>& tallies) const;
  template <criteria::Criterion C>
  std::vector<split::CategorySets> sets_of_group(int group, const std::vector<int>& nodes,
                                                 const data::CandidateColumns& columns,
                                                 std::int64_t* cells) const;
  template <criteria::Criterion C>
  std::vector<int> settle(split::Split split, const std::vector<int>& nodes);
  template <criteria::Criterion C>
  std::vector<int> settle_sets(const split::Split& split, const std::vector<int>& nodes);

  void fill(int group, int node, std::int64_t* cells) const;
  void fill_levels(int column, int node, std::int64_t* cells) const;
  // The sums of a node's values up to a bin.
  std::vector<std::int64_t> values_up_to(int bin, const std::int64_t* missing) const;

  const Codes& codes_;
  const data::Categories& categories_;
  const split::HistogramLayout& layout_;
  const split::SplitLimits& limits_;
  tree::GrowingTree& growing_tree_;
  const target::Channels& channels_;
  std::vector<std::int64_t*> scratch_;
};

}  // namespace weald::engine
