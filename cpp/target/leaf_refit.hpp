// New leaf values of a tree, estimated on other rows than those it was grown on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "target/gradients.hpp"

namespace weald::target {

// What leaf values are estimated from: derivatives at the current scores, [n_scores][n_rows].
struct RefitRows {
  const double *gradient, *hessian;  // hessian null: 1 each
  const std::int64_t* copies;        // null: 1 each
  const std::uint8_t* drawn;         // whether a row is used; null: all of them
  int n_scores;
};

struct RefitRules {
  std::string_view loss;  // its steps are capped if it requires that
  double parameter, rate, l1, l2;
};

struct RefittedLeaves {
  std::vector<double> values;    // [leaf][score]: Newton steps times the rate
  std::vector<double> hessians;  // sums of the rows of each leaf over all scores
};

// Estimates the values of the leaves and adds them to the scores of all rows.
RefittedLeaves refit_leaves(const RefitRows& rows, const Leaves& leaves, const RefitRules& rules,
                            double* scores, int n_threads);

}  // namespace weald::target
