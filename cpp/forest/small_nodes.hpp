// The small nodes at the bottom of a forest's tree, grown to their leaves in one place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "data/ranks.hpp"
#include "forest/forest_engine.hpp"
#include "forest/small_sort.hpp"
#include "tree/tree.hpp"

namespace weald::forest {

// Nearly all nodes of a whole tree have but a few rows. What ForestEngine does for any node costs
// more there than the rows themselves; so where a tree is plain (one number or one class a row, no
// weights, no limits but on depth, no levels), a node of few rows is taken from it: what its rows
// teach is laid side by side once, moves with them, and nodes are written as they are left. Trees
// are the same bits.
class SmallNodes {
 public:
  static constexpr int most_rows = 512;  // of any table; twice as many where cuts are drawn

  struct Root {
    const Row* rows;
    int n_rows;
    const std::int64_t* sums;  // the integer sums: weight, and the number or each class
    Draws draws;
    data::ConstantFeatures known;
    std::int64_t depth;
  };
  // Of numbers: the exact sums of a node, and S^2 / W.
  struct Weighed {
    std::int64_t weight = 0;
    Int128 sum = 0;
    double score = 0.0;
  };

  // Null where the trees are not plain. Said of the tree that the engine was started for.
  static std::unique_ptr<SmallNodes> made_for(const data::RankedTable& table, ForestEngine& engine,
                                              const target::Channels& channels,
                                              std::int64_t max_depth);
  virtual ~SmallNodes() = default;

  // Whether so many rows, of so many copies, are few. Nodes of many copies are searched by bins.
  bool takes(std::int64_t n_rows, std::int64_t copies) const {
    return n_rows <= few_rows_ && copies <= few_copies_ && copies < KeySorter::most_keys;
  }

  // Adds the node and all below it to the tree, and to `limits` (null: nobody asks) the last ranks
  // that go left.
  virtual Weighed grow(const Root& root, tree::Tree& tree, std::vector<std::uint32_t>* limits) = 0;

 protected:
  explicit SmallNodes(int few_rows,
                      std::int64_t few_copies = std::numeric_limits<std::int64_t>::max())
      : few_rows_(few_rows), few_copies_(few_copies) {}
  // The values of all rows should fit the nearest cache: one column is read after another.
  static int rows_that_stay_near(std::int64_t bytes_a_row) {
    constexpr std::int64_t near = 32768, least = 64;
    return static_cast<int>(std::clamp<std::int64_t>(near / bytes_a_row, least, most_rows));
  }

 private:
  int few_rows_;
  std::int64_t few_copies_;
};

}  // namespace weald::forest
