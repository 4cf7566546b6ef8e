// Validated parameters of a tree.
#pragma once

#include <algorithm>

#include "bindings/border.hpp"
#include "criteria/criteria.hpp"
#include "grow/grower.hpp"

namespace weald::bindings {

class TreeArguments {
 public:
  TreeArguments(std::string of_criterion, const std::string& growth, const std::string& cells,
                std::int64_t max_leaf_nodes, std::int64_t max_depth, std::int64_t min_samples_split,
                std::int64_t min_samples_leaf, double min_child_weight, double min_gain,
                double prune_gain, double l2, double l1, int n_threads)
      : criterion(std::move(of_criterion)) {
    require(criteria::AllCriteria::with_name(criterion, [](auto) {}), "unknown criterion");
    require(growth == "best_first" || growth == "depth_wise" || growth == "symmetric",
            "unknown growth");
    require(cells == "automatic" || cells == "packed" || cells == "blocks" || cells == "wide" ||
                cells == "ordered",
            "unknown cells");
    require(max_leaf_nodes >= 0 && max_depth >= 0,
            "max_leaf_nodes and max_depth must not be negative");
    require(l1 >= 0.0 && l2 >= 0.0 && prune_gain >= 0.0,
            "l1, l2 and prune_gain must not be negative");
    params.growth = growth == "best_first"   ? tree::Growth::best_first
                    : growth == "depth_wise" ? tree::Growth::depth_wise
                                             : tree::Growth::symmetric;
    params.cells = cells == "automatic" ? target::Cells::automatic
                   : cells == "packed"  ? target::Cells::packed
                   : cells == "blocks"  ? target::Cells::blocks
                   : cells == "ordered" ? target::Cells::ordered
                                        : target::Cells::wide;
    params.max_leaf_nodes = max_leaf_nodes;
    params.max_depth = max_depth;
    params.min_samples_split = min_samples_split;
    params.split.min_samples_leaf = min_samples_leaf;
    params.split.min_child_weight = min_child_weight;
    params.split.min_gain = min_gain;
    params.split.penalty.l2 = l2;
    params.split.penalty.l1 = l1;
    params.prune_gain = prune_gain;
    params.n_threads = checked_threads(n_threads);
  }

  // Column sampling and interaction constraints. The grower, which knows the table, checks the
  // rest.
  void choose_columns(int max_features, const std::string& sampling, std::uint64_t seed,
                      std::vector<std::vector<int>> groups) {
    require(sampling == "tree" || sampling == "level" || sampling == "node", "unknown sampling");
    for (auto& group : groups) std::sort(group.begin(), group.end());
    params.columns = {max_features,
                      sampling == "tree"    ? data::Sampling::tree
                      : sampling == "level" ? data::Sampling::level
                                            : data::Sampling::node,
                      seed, std::move(groups)};
  }

  // Monotonic constraints: columns along which predictions increase (1) or decrease (-1).
  void keep_monotone(std::vector<double> direction) {
    for (const double one : direction)
      require(one == -1.0 || one == 0.0 || one == 1.0, "direction must be -1, 0 or 1");
    params.split.direction = std::move(direction);
  }

  std::string criterion;
  tree::TreeParams params;
};

}  // namespace weald::bindings
