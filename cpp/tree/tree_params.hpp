// The parameters of one tree, whichever grower grows it.
#pragma once

#include <cstdint>

#include "data/column_choice.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::tree {

// Which nodes are split first: those that gain most, or those nearest to the root; or all of a
// level by one test.
enum class Growth { best_first, depth_wise, symmetric };

struct TreeParams {
  Growth growth = Growth::best_first;
  std::int64_t max_leaf_nodes = 0;  // 0: no limit
  std::int64_t max_depth = 0;       // 0: no limit
  std::int64_t min_samples_split = 2;
  split::SplitLimits split;
  data::ColumnParams columns;
  double prune_gain = 0.0;  // afterwards splits that gain no more are taken back, leaves first
  target::Cells cells =
      target::Cells::automatic;   // packed where that is fine enough; tests force one
  bool sends_unseen_rows = true;  // leaves of rows without copies are wanted
  int n_threads = 1;

  // Of forests, whose nodes see a few columns each; their columns have no groups.
  bool random_cuts = false;       // one cut a column, drawn between its least and largest value
  double min_decrease = 0.0;      // of the impurity, as a share of the tree's weight
  double min_weight_share = 0.0;  // of each child, of the tree's weight
};

}  // namespace weald::tree
