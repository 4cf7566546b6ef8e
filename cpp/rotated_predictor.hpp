// Rows and rotated trees to sums of answers, their spread, and leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "forest.hpp"
#include "rotation_table.hpp"
#include "table.hpp"

namespace weald {

// The rotations of all members, as Rotation (rotation.hpp) has those of one.
struct RotationsView {
  const std::vector<std::int64_t>& first_of_block;
  const std::int32_t* order;  // [trees][rotated columns]
  const double* loading;      // [trees][loadings of all blocks]
};

// Rows are made ready once for all trees. Of a table of few columns a block of rows is rotated for
// every tree, column by column, before its rows walk; of many columns every node on a row's way
// asks for the one component it needs, a few products. Both give the same bits.
class RotatedPredictor {
 public:
  // The forest must be sound, with -1 as the output of every tree, and outlive the predictor.
  RotatedPredictor(const Forest& forest, const RotationColumns& columns,
                   const RotationsView& rotations);

  // sums[row][output]: the trees' values, added in their order.
  template <class T>
  void predict(const Table<T>& table, double* sums, int n_threads) const;

  // squares[row][output]: the squared distances of the trees' values from centre[row][output].
  template <class T>
  void spread(const Table<T>& table, const double* centre, double* squares, int n_threads) const;

  // leaves[row][tree]: the leaf a row ends in, counted from the tree's first leaf.
  template <class T>
  void apply(const Table<T>& table, std::int32_t* leaves, int n_threads) const;

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

  // Rows [begin, end) made ready: value `slot` of row i is at i * row_stride + slot * slot_stride.
  struct ReadyRows {
    std::int64_t begin, end, row_stride, slot_stride;
    const double* values;
  };

  template <class T, class Visit>
  void walk_all(const Table<T>& table, int n_threads, Visit&& visit) const;
  template <class T>
  void make_ready(const Table<T>& table, const ReadyRows& rows, double* values) const;
  void rotate(std::int64_t tree, const ReadyRows& rows, double* components) const;
  template <int width>
  double component(const Term* terms, std::int32_t column, const double* row) const;
  template <bool has_sets, class Component, class Visit>
  void walk(std::int64_t tree, const ReadyRows& rows, Component&& component, Visit&& visit) const;
  template <class Visit>
  void walk_tree(std::int64_t tree, const ReadyRows& rows, double* components, Visit&& visit) const;

  Forest forest_;
  RotationColumns columns_;
  int n_slots_, width_;
  bool rotates_first_;
  std::vector<Node> nodes_;
  std::vector<Term> terms_;  // [trees][columns][width]
};

}  // namespace weald
