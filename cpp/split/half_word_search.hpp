// Best splits of a node by the newton criterion from cells of half words (target/half_words.hpp).
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "data/column_choice.hpp"
#include "kernels/kernels.hpp"
#include "split/histogram.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::split {

// Eight numerical columns are searched at once. Finds the splits of SplitSearch, bit for bit: all
// steps are powers of two.
class HalfWordSearch {
 public:
  struct Found {
    Split split;
    bool any_admitted = false;
  };

  // `totals` are the sums of the node, as in wide cells.
  HalfWordSearch(const target::Channels& channels, const SplitLimits& limits,
                 const std::int64_t* totals);

  // The best split of those of a part's columns that are candidates.
  Found search_part(const data::Categories& categories, const HistogramLayout& layout, int part,
                    const std::int64_t* cells, const data::CandidateColumns& columns);

 private:
  // A column of a histogram: its cells are `stride` words apart.
  struct Column {
    int index;
    const std::int64_t* cells;
    std::int64_t stride;
    int n_bins;
  };

  bool try_numbers(const Column& column, double score, std::int64_t place, Found& best) const;
  void place_missing(const Column& column, Split& best) const;
  void try_levels(const Column& column, Found& best) const;

  const target::Channels& channels_;
  const SplitLimits& limits_;
  const std::int64_t* totals_;
  kernels::HalfWordNode node_;
  double scale_;  // a score of the kernel times this is one of the criterion
  double parent_;
};

}  // namespace weald::split
