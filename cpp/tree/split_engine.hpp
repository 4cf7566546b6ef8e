// Interface of a split engine: finds the best splits of nodes and partitions rows by them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/column_choice.hpp"
#include "tree/growing_tree.hpp"
#include "tree/tree.hpp"

namespace weald::tree {

// Two new nodes, or the root alone, and whether a split of each is wanted.
struct Siblings {
  int parent;  // -1: the root, stored as left
  int left, right;
  bool wants_left, wants_right;
  data::CandidateColumns left_columns = {}, right_columns = {};  // candidate columns of each
};

// A node whose rows are to be partitioned; `looks_on`: splits of its children may be wanted next.
struct Announced {
  int node;
  bool looks_on;
};

class SplitEngine {
 public:
  virtual ~SplitEngine() = default;

  // Begin a tree: the channels are prepared and the root holds all rows. Again before search_level
  // if the integers of rows were rescaled.
  virtual void start() = 0;

  // Whether the threads share the work of several nodes, so that it pays to pass several at once.
  virtual bool shares_nodes() const { return false; }

  // Partition the rows of nodes by their splits, after their children were created; returns where
  // the right ones of each begin.
  virtual std::vector<std::int64_t> send_rows(const std::vector<Announced>& nodes) = 0;

  // Find the best splits of the siblings that want one, with the sums of the left side, and release
  // the state kept for their parents.
  virtual void search(const std::vector<Siblings>& siblings) = 0;

  // Repeat the search for single nodes (each passed as a left sibling) after the integers of their
  // rows and their sums were rescaled.
  virtual void search_again(const std::vector<Siblings>& nodes) = 0;

  // Instead of `search`, if the siblings are to be searched by search_level.
  virtual void keep(const std::vector<Siblings>& /*siblings*/) {}

  // Find one split for all nodes: sets the split, with the sums of its left side, of those nodes
  // that use it, and returns them.
  virtual std::vector<int> search_level(const std::vector<int>& nodes,
                                        data::CandidateColumns columns) = 0;

  // Write the leaf of every row that the target does not use, which no node holds.
  virtual void send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const = 0;
};

}  // namespace weald::tree
