// The model: any number of trees as flat arrays, and the proof that walking them is safe.
#pragma once

#include <cstdint>

namespace weald {

// Trees lie one after another, each in pre-order, so the left child of a node is the next node.
// `right` counts from the tree's first node; for a leaf (feature -1) it is the row of `value`,
// counted from the tree's first leaf.
struct Forest {
  const std::int32_t* feature;
  const double* threshold;  // x <= threshold goes left
  const std::int32_t* right;
  const std::uint8_t* missing_left;
  const double* value;  // [leaves][n_values]
  std::int64_t n_nodes, n_leaves;
  int n_values;

  const std::int64_t* first_node;  // [trees + 1]
  const std::int64_t* first_leaf;  // [trees + 1]
  const std::int32_t* output;      // the score a tree adds to; -1: its n_values are all scores
  const double* tree_weight;       // what a tree's values are multiplied by
  std::int64_t n_trees;

  const double* base_score;  // [n_outputs]
  int n_outputs;
};

// Every index in range, every child after its parent, every node reached once: then a walk ends in
// a leaf without further checks. Linear in the number of nodes.
inline bool is_sound(const Forest& forest, std::int64_t n_columns) {
  if (forest.first_node[0] != 0 || forest.first_leaf[0] != 0) return false;
  if (forest.first_node[forest.n_trees] != forest.n_nodes) return false;
  if (forest.first_leaf[forest.n_trees] != forest.n_leaves) return false;
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    const std::int64_t begin = forest.first_node[t], end = forest.first_node[t + 1];
    const std::int64_t n_leaves = forest.first_leaf[t + 1] - forest.first_leaf[t];
    if (end <= begin || end > forest.n_nodes) return false;
    if (n_leaves < 1 || forest.first_leaf[t + 1] > forest.n_leaves) return false;
    const std::int32_t output = forest.output[t];
    if (output < -1 || output >= forest.n_outputs) return false;
    if (output == -1 ? forest.n_values != forest.n_outputs : forest.n_values != 1) return false;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t here = i - begin, right = forest.right[i];
      if (forest.feature[i] < -1 || forest.feature[i] >= n_columns) return false;
      if (forest.feature[i] == -1 ? (right < 0 || right >= n_leaves)
                                  : (right <= here + 1 || right >= end - begin))
        return false;
    }
  }
  return true;
}

}  // namespace weald
