// Grows a forest's tree depth first, writing nodes as they are split.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forest/forest_engine.hpp"
#include "forest/small_nodes.hpp"
#include "grow/forest_branches.hpp"
#include "grow/grower.hpp"
#include "tree/growing_tree.hpp"
#include "tree/tree.hpp"

namespace weald::grow {

// Without max_leaf_nodes the order of growth does not change a tree. Depth first, left before
// right, nodes are written at their final place; fully grown trees have so many nodes that each
// must be cheap. Grows the same trees as Grower.
class ForestGrower {
 public:
  ForestGrower(std::shared_ptr<const data::RankedTable> table, std::string_view criterion,
               const tree::TreeParams& params);
  ForestGrower(const ForestGrower&) = delete;  // the engine refers to the growing_tree
  ForestGrower& operator=(const ForestGrower&) = delete;

  // Whether trees with these parameters can be grown here.
  static bool grows(const tree::TreeParams& params) { return params.max_leaf_nodes == 0; }

  // Writes leaf_of_row for out-of-bag rows only, and only with sends_unseen_rows. `old` lends its
  // memory. All trees of a grower have the same target, except for copies and member.
  tree::Tree grow(const target::Target& target, std::int32_t* leaf_of_row, tree::Tree old = {});

  // Shares branches with other threads; null: does not.
  void share(Branches* branches) { branches_ = branches; }
  // Grows branches of other threads until there will be no more.
  void help(Branches& branches);

 private:
  struct Open : OpenNode {
    std::shared_ptr<Branch> branch = nullptr;  // null: not offered
  };

  void begin_tree(std::int64_t n_rows);
  void reserve(std::int64_t n_rows);
  void grow_below(const OpenNode& root);
  void offer_a_branch();
  void grow_branch(Branch& branch);
  void graft(Branch& branch);
  void append(const tree::Tree& tree, const std::vector<std::uint32_t>& limits,
              const RawGrowingVector<double>& medians, const RawGrowingVector<double>& gains);
  bool has_small_targets(const OpenNode& node, const std::int64_t* sums) const;
  void grow_within(const ForestGrower& whole, const OpenNode& root);
  void graft_small_targets(const OpenNode& node);
  bool is_small_enough(const OpenNode& node, const std::int64_t* sums) const;
  void finish(const OpenNode& node, const std::int64_t* sums);
  bool may_split(const OpenNode& node, const std::int64_t* sums) const;
  void write_split(const split::Split& split, const std::int64_t* sums);
  void write_leaf(const OpenNode& node, const std::int64_t* sums);
  void bound_children(const Bounds& bounds, const std::int64_t* left, const std::int64_t* right);
  void add_place(int feature, const split::Split* split);
  template <criteria::Criterion C>
  void sum_leaf(const OpenNode& leaf);
  template <criteria::Criterion C>
  void complete(double score);
  template <criteria::Criterion C>
  double write_weight(std::size_t place);
  template <criteria::Criterion C>
  double score_of_exact();

  std::int64_t n_rows_;
  bool knows_all_rows_ = false;  // channels are prepared and shared by all trees
  bool has_levels_;              // some column is categorical
  std::string criterion_;
  tree::TreeParams params_;
  tree::GrowingTree own_;                    // rows and channels
  tree::GrowingTree* growing_tree_ = &own_;  // of the current tree, possibly that of another grower
  std::uint64_t member_ = 0;                 // of growing_tree_
  Branches* branches_ = nullptr;
  std::unique_ptr<ForestGrower> helper_;  // grows branches while this one waits
  std::unique_ptr<ForestGrower> apart_;   // grows nodes of small targets
  int n_waiting_ = 0;                     // depth of nested growers waiting for a branch
  forest::ForestEngine engine_;

  std::shared_ptr<const data::RankedTable> table_;
  std::unique_ptr<forest::SmallNodes> small_nodes_;  // null: the tree is not plain

  bool is_median_;
  bool counts_ = false;  // sums are class counts, exact by themselves
  std::size_t cell_size_ = 0, n_exact_ = 0;
  std::vector<Open> open_;          // a stack
  std::vector<std::int64_t> sums_;  // of the open nodes
  tree::Tree tree_;
  std::vector<std::uint32_t> limits_;         // last rank that goes left, if sends_unseen_rows
  RawGrowingVector<double> medians_, gains_;  // of leaves, of nodes; for absolute error

  // Regression: W, S and gains come from exact sums of the targets, and are computed when both
  // children of a node have theirs. Open nodes wait for one or both children.
  struct Half {
    std::size_t place;
    bool has_left;
    double left_score;
  };
  void (ForestGrower::*sum_leaf_)(const OpenNode&) = nullptr;
  void (ForestGrower::*complete_)(double) = nullptr;
  double (ForestGrower::*score_of_exact_)() = nullptr;
  std::vector<Half> halves_;
  std::vector<Int128> lefts_;  // [half][W, S of each channel] of the left child
  std::vector<Int128> exact_;  // of the last finished node
  double score_ = 0.0;         // of the root
  std::vector<double> exact_sums_;
};

}  // namespace weald::grow
