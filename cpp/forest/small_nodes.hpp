// Grows the small nodes at the bottom of a forest's trees down to their leaves.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "data/ranks.hpp"
#include "forest/forest_engine.hpp"
#include "forest/small_sort.hpp"
#include "tree/tree.hpp"

namespace weald::forest {

//
// Nearly all nodes of a fully grown tree have only a few rows, where the per-node overhead of
// ForestEngine costs more than the rows themselves. In plain trees (one regression target or one
// class per row, no weights, no limits other than max_depth, no categories) a small node is
// therefore copied out of the tree: the targets of its rows are packed together, move with the
// rows, and nodes are written in pre-order as they are finished. Trees are bit for bit those of
// ForestEngine.
//
// Speeds up every forest of the benchmarks at default settings. docs/decisions/0009 has a figure
// for its sort only: see KeySorter.
class SmallNodes {
 public:
  struct Root {
    const Row* rows;
    int n_rows;
    const std::int64_t* sums;  // integer sums: weight, then the target's sum or each class count
    Draws draws;
    data::ConstantFeatures constants;
    std::int64_t depth;
  };
  // Regression: exact sums of a node, and its score S^2 / W. Unused by classification.
  struct NodeSums {
    std::int64_t weight = 0;
    Int128 sum = 0;
    double score = 0.0;
  };

  // For the tree that the engine was started for; null if that tree is not plain.
  static std::unique_ptr<SmallNodes> made_for(const data::RankedTable& table, ForestEngine& engine,
                                              const target::Channels& channels,
                                              std::int64_t max_depth);
  virtual ~SmallNodes() = default;

  // Whether a node of this many rows and copies is small. ForestEngine searches nodes of
  // KeySorter::most_keys copies or more by bins, so these are never small.
  bool takes(std::int64_t n_rows, std::int64_t copies) const {
    return n_rows <= few_rows_ && copies <= few_copies_ && copies < KeySorter::most_keys;
  }

  // Appends the node and its subtree to the tree, and the last rank that goes left of each node to
  // `limits` (may be null).
  virtual NodeSums grow(const Root& root, tree::Tree& tree, std::vector<std::uint32_t>* limits) = 0;

 protected:
  SmallNodes(int few_rows, std::int64_t few_copies)
      : few_rows_(few_rows), few_copies_(few_copies) {}

 private:
  int few_rows_;
  std::int64_t few_copies_;
};

}  // namespace weald::forest
