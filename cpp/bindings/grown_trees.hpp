// Trees grown by the core, as held by Python.
#pragma once

#include <vector>

#include "bindings/border.hpp"
#include "tree/joined_trees.hpp"

namespace weald::bindings {

// The core uses codes only: convert the last bin on the left of each split to a threshold. After
// the last bin every value goes left, and only missing ones right.
void find_thresholds(tree::Tree& tree, const double* cuts, const std::int64_t* first);

// The arrays of one tree.
nb::dict arrays_of(tree::Tree tree);

// The trees of a round. Converting ten arrays per tree and round to Python objects would take
// longer than growing small trees.
class GrownTrees {
 public:
  explicit GrownTrees(std::vector<tree::Tree> trees) : trees_(std::move(trees)) {}

  std::size_t size() const { return trees_.size(); }
  const std::vector<tree::Tree>& trees() const { return trees_; }
  std::vector<nb::dict> arrays() const;
  std::vector<std::int64_t> n_leaves() const;
  double take_steps(const std::string& loss, double parameter, double rate);
  void add_to(OutMatrix<double> scores, Matrix<std::int32_t> leaf_of_row, int n_threads) const;

 private:
  std::vector<tree::Tree> trees_;
};

}  // namespace weald::bindings
