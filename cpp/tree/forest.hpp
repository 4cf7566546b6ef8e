// The model: any number of trees as flat arrays, and the check that traversing them is safe.
#pragma once

#include <cstdint>
#include <vector>

namespace weald::tree {

// Trees are concatenated, each in pre-order, so the left child of a node is the next node. `right`
// is relative to the tree's first node; for a leaf (feature -1) it is the row of `value`, relative
// to the tree's first leaf.
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
  const double* tree_weight;       // factor of a tree's values
  std::int64_t n_trees;

  const double* base_score;  // [n_outputs]
  int n_outputs;

  // A node with a set (category_set >= 0) sends the levels of the set left, other levels right, and
  // values that are no level of its column with the missing values. Null: no node has a set.
  const std::int32_t* category_set = nullptr;
  const std::int64_t* first_word = nullptr;  // [sets + 1]
  const std::uint64_t* words = nullptr;      // one bit per level
  std::int64_t n_sets = 0, n_words = 0;

  std::int32_t set_of(std::int64_t node) const { return category_set ? category_set[node] : -1; }
  // Whether x goes left at a set; `otherwise` applies to values that are no level.
  bool sends_left(std::int32_t set, double x, bool otherwise) const {
    const std::int64_t begin = first_word[set];
    const auto n_bits = static_cast<double>((first_word[set + 1] - begin) * 64);
    if (!(x >= 0.0 && x < n_bits)) return otherwise;
    const auto level = static_cast<std::int64_t>(x);
    if (static_cast<double>(level) != x) return otherwise;
    return (words[begin + level / 64] >> (level % 64) & 1) != 0;
  }
};

// Checks one tree: pre-order (after a leaf comes the right child of the nearest pending ancestor),
// leaves numbered in order, columns in range, thresholds not NaN.
inline bool is_sound_tree(const Forest& forest, std::int64_t tree, std::int64_t n_columns,
                          std::vector<std::int64_t>& waiting) {
  const std::int64_t begin = forest.first_node[tree], n = forest.first_node[tree + 1] - begin;
  const std::int64_t n_leaves = forest.first_leaf[tree + 1] - forest.first_leaf[tree];
  std::int64_t leaves = 0;
  waiting.clear();
  for (std::int64_t here = 0; here < n; ++here) {
    const std::int64_t i = begin + here, right = forest.right[i];
    if (forest.feature[i] >= 0) {
      if (forest.feature[i] >= n_columns || forest.threshold[i] != forest.threshold[i])
        return false;
      if (forest.set_of(i) < -1 || forest.set_of(i) >= forest.n_sets) return false;
      waiting.push_back(right);
      continue;
    }
    if (forest.feature[i] != -1 || right != leaves++ || forest.set_of(i) != -1) return false;
    if (waiting.empty()) return here + 1 == n && leaves == n_leaves;
    if (waiting.back() != here + 1) return false;
    waiting.pop_back();
  }
  return false;
}

// Every set has its own words.
inline bool has_sound_sets(const Forest& forest) {
  if (!forest.category_set) return forest.n_sets == 0 && forest.n_words == 0;
  if (forest.first_word[0] != 0 || forest.first_word[forest.n_sets] != forest.n_words) return false;
  for (std::int64_t set = 0; set < forest.n_sets; ++set)
    if (forest.first_word[set] >= forest.first_word[set + 1]) return false;
  return true;
}

// Every index in range and every node reached once, so that a traversal ends in a leaf without
// further checks. Linear in the number of nodes.
inline bool is_sound(const Forest& forest, std::int64_t n_columns) {
  if (n_columns < 1 || forest.first_node[0] != 0 || forest.first_leaf[0] != 0) return false;
  if (forest.first_node[forest.n_trees] != forest.n_nodes) return false;
  if (forest.first_leaf[forest.n_trees] != forest.n_leaves) return false;
  if (!has_sound_sets(forest)) return false;
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    if (forest.first_node[t] >= forest.first_node[t + 1]) return false;
    if (forest.first_leaf[t] >= forest.first_leaf[t + 1]) return false;
    const std::int32_t output = forest.output[t];
    if (output < -1 || output >= forest.n_outputs) return false;
    if (forest.n_values != (output == -1 ? forest.n_outputs : 1)) return false;
  }
  std::vector<std::int64_t> waiting;
  for (std::int64_t t = 0; t < forest.n_trees; ++t)
    if (!is_sound_tree(forest, t, n_columns, waiting)) return false;
  return true;
}

}  // namespace weald::tree
