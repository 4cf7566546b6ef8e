// Rows and rotated trees to sums of answers, their spread, and leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "data/table.hpp"
#include "rotation/rotation_table.hpp"
#include "tree/forest.hpp"

namespace weald::rotation {

// The rotations of all members, as Rotation (rotation.hpp) has those of one.
struct RotationsView {
  const std::vector<std::int64_t>& first_of_block;
  const std::int32_t* order;  // [trees][rotated columns]
  const double* loading;      // [trees][loadings of all blocks]
};

// A block of rows is made ready once for all trees and sifted through one tree after another: every
// node parts the list of its rows in two. A component is worked out for the rows that ask for it,
// and for the whole block once so many have asked that this is cheaper. A few rows walk one by one,
// down several trees side by side. All ways give the same bits.
class RotationPredictor {
 public:
  // The forest must be sound, with -1 as the output of every tree, and outlive the predictor.
  RotationPredictor(const tree::Forest& forest, const RotationColumns& columns,
                    const RotationsView& rotations);

  // sums[row][output]: the trees' values, added in their order.
  template <class T>
  void predict(const data::Table<T>& table, double* sums, int n_threads) const;

  // squares[row][output]: the squared distances of the trees' values from centre[row][output].
  template <class T>
  void spread(const data::Table<T>& table, const double* centre, double* squares,
              int n_threads) const;

  // leaves[row][tree]: the leaf a row ends in, counted from the tree's first leaf.
  template <class T>
  void apply(const data::Table<T>& table, std::int32_t* leaves, int n_threads) const;

 private:
  struct Node {
    double threshold;      // of a leaf NaN
    std::int32_t feature;  // twice the column, plus one if missing values go left
    std::int32_t right;    // counted from the tree's first node; of a leaf its own place
  };
  // One product of a component; `slot` is a column of the rows made ready.
  struct Term {
    double loading;
    std::int32_t slot;
  };
  // Rows that are at a node: places begin .. end of one of two lists.
  struct Waiting {
    std::int32_t node, begin, end, list;
  };
  // The rows from `first` on, and what a thread needs to sift them.
  struct Block {
    std::int64_t first = 0;
    std::int32_t n = 0;
    std::vector<double> values;          // [slots][n]
    std::vector<double> components;      // [columns][n], where whole
    std::vector<std::int64_t> asked;     // [columns] rows of the tree that asked
    std::vector<std::int32_t> lists[2];  // rows of the block, node by node
    std::vector<Waiting> waiting;
  };

  template <class T, class Visit>
  void visit_leaves(const data::Table<T>& table, int n_threads, Visit&& visit) const;
  template <class T>
  void make_ready(const data::Table<T>& table, Block& block) const;
  void rotate(const Term* term, const Block& block, double* out) const;
  double component(const Term* term, const double* row, std::int64_t stride) const;
  bool goes_left(std::int64_t node, double x) const;
  std::int32_t part(std::int64_t tree, const Waiting& rows, Block& block) const;
  template <class Visit>
  void sift(std::int64_t tree, Block& block, Visit&& visit) const;
  template <class Visit>
  void walk(const Block& block, Visit&& visit) const;

  const Term* terms_of(std::int64_t tree) const {
    return terms_.data() + tree * columns_.n_columns() * width_;
  }

  std::int32_t leaf_at(std::int64_t tree, std::int32_t node) const {
    return forest_.right[forest_.first_node[tree] + node];
  }

  tree::Forest forest_;
  RotationColumns columns_;
  int n_slots_, width_;
  std::vector<Node> nodes_;
  std::vector<Term> terms_;         // [trees][columns][width]
  std::vector<std::int32_t> only_;  // [leaves] the one output that is not 0; -1: several
};

}  // namespace weald::rotation
