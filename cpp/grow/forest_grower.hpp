// The quick way to grow a forest's tree: depth first, written as it grows.
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

// Trees without a limit on leaves are the same in any order of growth. Depth first, left before
// right, a node is written where it stays; full trees have so many nodes that each must cost
// little. What a tree is does not differ from what Grower makes of it.
class ForestGrower {
 public:
  ForestGrower(std::shared_ptr<const data::RankedTable> table, std::string_view criterion,
               const tree::TreeParams& params);
  ForestGrower(const ForestGrower&) = delete;  // the engine refers to the growing_tree
  ForestGrower& operator=(const ForestGrower&) = delete;

  // Whether trees of such limits are grown here.
  static bool grows(const tree::TreeParams& params) { return params.max_leaf_nodes == 0; }

  // Writes the leaf of rows without copies only, and only if the parameters ask for it. An old tree
  // may lend its memory. All trees of a grower learn from one target, of which only the copies and
  // the member may differ.
  tree::Tree grow(const target::Target& target, std::int32_t* leaf_of_row, tree::Tree old = {});

  // From now on branches are given to others who want them; null: to nobody.
  void share(Branches* branches) { branches_ = branches; }
  // Grows branches of others, until there will be no more.
  void help(Branches& branches);

 private:
  struct Open : OpenNode {
    std::shared_ptr<Branch> branch = nullptr;  // null: nobody was asked to grow it
  };

  void begin_tree(std::int64_t n_rows);
  void make_room(std::int64_t n_rows);
  void grow_below(const OpenNode& root);
  void offer_a_branch();
  void grow_branch(Branch& branch);
  void graft(Branch& branch);
  void append(const tree::Tree& tree, const std::vector<std::uint32_t>& limits,
              const RawGrowingVector<double>& medians, const RawGrowingVector<double>& gains);
  bool grows_apart(const OpenNode& node, const std::int64_t* sums) const;
  void grow_within(const ForestGrower& whole, const OpenNode& root);
  void graft_apart(const OpenNode& node);
  bool is_small_enough(const OpenNode& node, const std::int64_t* sums) const;
  void finish(const OpenNode& node, const std::int64_t* sums);
  bool may_split(const OpenNode& node, const std::int64_t* sums) const;
  void write_split(const split::Split& split, const std::int64_t* sums);
  void write_leaf(const OpenNode& node, const std::int64_t* sums);
  void bound_children(const Bounds& bounds, const std::int64_t* left, const std::int64_t* right);
  void add_place(int feature, const split::Split* split);
  template <criteria::Criterion C>
  void weigh_leaf(const OpenNode& leaf);
  template <criteria::Criterion C>
  void complete(double score);
  template <criteria::Criterion C>
  double weigh(std::size_t place);
  template <criteria::Criterion C>
  double score_of_exact();

  std::int64_t n_rows_;
  bool knows_all_rows_ = false;  // what they teach is ready, and the same for every tree
  bool has_levels_;              // some column asks for sets of levels
  std::string criterion_;
  tree::TreeParams params_;
  tree::GrowingTree own_;  // its rows and channels; nodes are kept here
  tree::GrowingTree* growing_tree_ =
      &own_;                  // of the tree that grows, or of another's, of which a branch does
  std::uint64_t member_ = 0;  // of that one
  Branches* branches_ = nullptr;
  std::unique_ptr<ForestGrower> helper_;  // grows branches while this one waits for one
  std::unique_ptr<ForestGrower> apart_;   // grows nodes of small rows
  int n_waiting_ = 0;                     // growers that wait for a branch below this one
  forest::ForestEngine engine_;

  std::shared_ptr<const data::RankedTable> table_;
  std::unique_ptr<forest::SmallNodes>
      small_nodes_;  // finishes small nodes of a plain tree; null: it is not

  bool is_median_;
  bool counts_ = false;  // sums are counts of copies and need no other sum to be exact
  std::size_t cell_size_ = 0, n_exact_ = 0;
  std::vector<Open> open_;          // the next is the last
  std::vector<std::int64_t> sums_;  // of the open nodes
  tree::Tree tree_;
  std::vector<std::uint32_t> limits_;  // the last rank that goes left, where unseen rows want it
  RawGrowingVector<double> medians_, gains_;  // of leaves and of nodes, for absolute error

  // Where counts are not enough, W, S and gains come from the doubles of the rows: a node's as soon
  // as both its children have theirs. Open ones wait for one or both of them.
  struct Half {
    std::size_t place;
    bool has_left;
    double left_score;
  };
  void (ForestGrower::*weigh_leaf_)(const OpenNode&) = nullptr;
  void (ForestGrower::*complete_)(double) = nullptr;
  double (ForestGrower::*score_of_exact_)() = nullptr;
  std::vector<Half> halves_;
  std::vector<Int128> lefts_;  // [half][W, S of each channel], where it has the left one
  std::vector<Int128> exact_;  // of the node that was weighed last
  double score_ = 0.0;         // of the root, when it was weighed
  std::vector<double> exact_sums_;
};

}  // namespace weald::grow
