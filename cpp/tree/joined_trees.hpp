// The trees of a boosting round, and the concatenation of all rounds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tree/tree.hpp"

namespace weald::tree {

// Sets leaf values to the Newton steps, capped if the loss requires it, times `rate`. Returns the
// largest absolute value; NaN if there is one.
double take_steps(std::vector<Tree>& trees, std::string_view loss, double parameter, double rate);

// Adds the values of tree k to scores [k][row] by the leaves [k][row]. False if a leaf index is out
// of range, in which case scores are unspecified.
bool add_values_of(const std::vector<Tree>& trees, const std::int32_t* leaf_of_row,
                   std::int64_t n_rows, double* scores, int n_threads);

// Concatenated trees. Node and leaf indices stay relative to their tree, those of sets and words
// become global.
struct JoinedTrees {
  Tree all;
  std::vector<std::int64_t> first_node{0}, first_leaf{0};

  // All trees must have the same number of outputs.
  explicit JoinedTrees(const std::vector<const Tree*>& trees);
};

}  // namespace weald::tree
