// The trees of a round of boosting, and those of all rounds joined.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tree/tree.hpp"

namespace weald::tree {

// Makes the Newton steps of all leaves, each shortened where the loss could explode, and multiplied
// by `rate`, what they answer. Returns the largest of these without sign; NaN if there is one.
double take_steps(std::vector<Tree>& trees, std::string_view loss, double parameter, double rate);

// Adds what tree k answers to scores [k][row] by the leaves [k][row]. False, and nothing certain,
// if a leaf does not exist.
bool add_answers(const std::vector<Tree>& trees, const std::int32_t* leaf_of_row,
                 std::int64_t n_rows, double* scores, int n_threads);

// Trees one after another. Numbers of nodes and leaves still count from the begin of their tree,
// those of sets and words from the first of all.
struct JoinedTrees {
  Tree all;
  std::vector<std::int64_t> first_node{0}, first_leaf{0};

  // Of trees that answer the same number of outputs.
  explicit JoinedTrees(const std::vector<const Tree*>& trees);
};

}  // namespace weald::tree
