// Prediction of rotation forests: sums of tree values, their variance, leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "data/table.hpp"
#include "rotation/rotation_table.hpp"
#include "tree/forest.hpp"

namespace weald::rotation {

// The rotations of all trees; see Rotation.
struct RotationsView {
  const std::vector<std::int64_t>& first_of_block;
  const std::int32_t* order;  // [tree][rotated column]
  const double* loading;      // [tree][loading]
};

// A block of rows is standardised once for all trees and passed through one tree after another:
// every node partitions its list of rows. A component is computed for the rows that need it, and
// for the whole block once half of its rows have needed it. Fewer than eight rows walk down several
// trees at a time instead. All ways give the same bits.
class RotationPredictor {
 public:
  // The forest must be valid, with -1 as the output of every tree, and outlive the predictor.
  RotationPredictor(const tree::Forest& forest, const RotationColumns& columns,
                    const RotationsView& rotations);

  // sums[row][output]: the values of the trees, added in their order.
  template <class T>
  void predict(const data::Table<T>& table, double* sums, int n_threads) const;

  // squares[row][output]: squared distances of the values of the trees from centre[row][output].
  template <class T>
  void spread(const data::Table<T>& table, const double* centre, double* squares,
              int n_threads) const;

  // leaves[row][tree]: the leaf index within the tree.
  template <class T>
  void apply(const data::Table<T>& table, std::int32_t* leaves, int n_threads) const;

 private:
  struct Node {
    double threshold;      // NaN for a leaf
    std::int32_t feature;  // 2 * column + missing_left
    std::int32_t right;    // index within the tree; a leaf's own index
  };
  // One product of a component; `slot` is a column of the standardised rows.
  struct Term {
    double loading;
    std::int32_t slot;
  };
  // Rows at a node: positions begin .. end of one of two lists.
  struct Waiting {
    std::int32_t node, begin, end, list;
  };
  // The rows from `first` on, and buffers of a thread.
  struct Block {
    std::int64_t first = 0;
    std::int32_t n = 0;
    std::vector<double> values;          // [slot][row]
    std::vector<double> components;      // [column][row], where computed for all rows
    std::vector<std::int64_t> needed;    // [column] rows of the tree that needed it
    std::vector<std::int32_t> lists[2];  // rows of the block, by node
    std::vector<Waiting> waiting;
  };

  template <class T, class Visit>
  void visit_leaves(const data::Table<T>& table, int n_threads, Visit&& visit) const;
  template <class T>
  void standardise(const data::Table<T>& table, Block& block) const;
  void rotate(const Term* term, const Block& block, double* out) const;
  double component(const Term* term, const double* row, std::int64_t stride) const;
  bool goes_left(std::int64_t node, double x) const;
  std::int32_t part(std::int64_t tree, const Waiting& rows, Block& block) const;
  template <class Visit>
  void pass(std::int64_t tree, Block& block, Visit&& visit) const;
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
  std::vector<Term> terms_;         // [tree][column][width]
  std::vector<std::int32_t> only_;  // [leaf] the only non-zero output; -1: several
};

}  // namespace weald::rotation
