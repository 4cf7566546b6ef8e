// Parameters of a single tree, common to all growers.
#pragma once

#include <cstdint>

#include "data/column_choice.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::tree {

// Growth policy: leaf-wise (best_first), level-wise (depth_wise), or one split per depth
// (symmetric).
enum class Growth { best_first, depth_wise, symmetric };

struct TreeParams {
  Growth growth = Growth::best_first;
  std::int64_t max_leaf_nodes = 0;  // 0: no limit
  std::int64_t max_depth = 0;       // 0: no limit
  std::int64_t min_samples_split = 2;
  split::SplitLimits split;
  data::ColumnParams columns;
  double prune_gain = 0.0;  // post-pruning: splits of at most this gain are removed bottom-up
  target::Cells cells = target::Cells::automatic;  // packed if precise enough; tests force one
  bool sends_unseen_rows = true;                   // leaves of rows without copies are needed
  int n_threads = 1;

  // Forests only, which sample columns per node; no interaction constraints.
  bool random_cuts = false;       // extra trees: one random threshold per column
  double min_decrease = 0.0;      // minimum impurity decrease, as a share of the tree's weight
  double min_weight_share = 0.0;  // minimum child weight, as a share of the tree's weight
};

}  // namespace weald::tree
