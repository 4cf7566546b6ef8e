// One test for all nodes of a level: the one whose gains, added over the nodes, are most.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "categories.hpp"
#include "histogram.hpp"
#include "level_sets.hpp"
#include "sapling.hpp"
#include "shared.hpp"
#include "splitting.hpp"

namespace weald {

// A node in which the test would leave a child too small does not take it and adds nothing. Ties go
// to the lowest column, then the lowest bin, then to missing on the right. Histograms are made for
// a few columns of one node at a time and not kept. Columns of levels: level_sets.hpp.
class LevelSearch {
 public:
  // `scratch`: for every thread room for a histogram.
  LevelSearch(const Codes& codes, const Categories& categories, const HistogramLayout& layout,
              const SplitLimits& limits, Sapling& sapling, std::vector<std::int64_t*> scratch);

  // Gives those of the nodes that take the best test their split, and returns them; none if no test
  // is worth it.
  std::vector<int> run(std::string_view criterion, const std::vector<int>& nodes,
                       ColumnLook columns);

 private:
  struct Found {
    Split split;
    bool any_admitted = false;
  };

  template <Criterion C>
  Found best_of_group(int group, const std::vector<int>& nodes, const ColumnLook& columns,
                      std::int64_t* cells) const;
  template <Criterion C>
  void tally(int column, int node, const std::int64_t* missing, std::vector<Tally>& tallies) const;
  template <Criterion C>
  std::vector<LevelSets> sets_of_group(int group, const std::vector<int>& nodes,
                                       const ColumnLook& columns, std::int64_t* cells) const;
  template <Criterion C>
  std::vector<int> settle(Split split, const std::vector<int>& nodes);
  template <Criterion C>
  std::vector<int> settle_sets(const Split& split, const std::vector<int>& nodes);

  void fill(int group, int node, std::int64_t* cells) const;
  void fill_levels(int column, int node, std::int64_t* cells) const;
  // The sums of a node's values up to a bin.
  std::vector<std::int64_t> values_up_to(int bin, const std::int64_t* missing) const;

  const Codes& codes_;
  const Categories& categories_;
  const HistogramLayout& layout_;
  const SplitLimits& limits_;
  Sapling& sapling_;
  const Channels& channels_;
  std::vector<std::int64_t*> scratch_;
};

}  // namespace weald
