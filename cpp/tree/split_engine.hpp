// What the growth loop asks of an engine: the best splits of nodes, and rows sent by them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/column_choice.hpp"
#include "tree/growing_tree.hpp"
#include "tree/tree.hpp"

namespace weald::tree {

// Two new nodes, or the root alone, and whether a split of each is wanted.
struct Siblings {
  int parent;  // -1: there is only one, as the left one
  int left, right;
  bool wants_left, wants_right;
  data::ColumnLook left_columns = {}, right_columns = {};  // those looked at for a split
};

class SplitEngine {
 public:
  virtual ~SplitEngine() = default;

  // Begins a tree: the growing_tree's channels are prepared and its root holds all rows.
  virtual void start() = 0;

  // Whether rows of several nodes may be sent, and their children's splits searched, side by side.
  virtual bool works_side_by_side() const { return false; }

  // Says which nodes' rows are sent next, when their children have been made: one, or several side
  // by side.
  virtual void expect(const std::vector<int>& /*nodes*/) {}

  // Sends the rows of a node left and right, as its split says, and returns where the right ones
  // begin. `looks_on`: a split of its children may be wanted next.
  virtual std::int64_t send_rows(int node, bool looks_on) = 0;

  // Finds the best split of those who want one, with the sums of its left side, and forgets what
  // it kept of their parent.
  virtual void search(const Siblings& siblings) = 0;

  // Finds the best splits of nodes anew, each of them a left one alone, after the integers of their
  // rows and their sums were made anew.
  virtual void search_again(const std::vector<Siblings>& nodes) = 0;

  // One test, of one of the columns, for all the nodes: gives those that take it their split, with
  // the sums of its left side, and returns them.
  virtual std::vector<int> search_level(const std::vector<int>& nodes,
                                        data::ColumnLook columns) = 0;

  // Writes the leaf of every row that no node holds, because it has no copies.
  virtual void send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const = 0;
};

}  // namespace weald::tree
