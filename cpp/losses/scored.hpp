// Rows, their targets and their scores, as a loss sees them, and what a loss says of itself.
#pragma once
#include <cstdint>

#include "base/types.hpp"

namespace weald::losses {

// scores[score][row]; y is a number, a class number, or the share of each score: y[score][row].
struct Scored {
  const double* y;
  const double* scores;
  const double* weight;        // null: 1 each
  const std::int64_t* copies;  // null: 1 each
  std::int64_t n_rows;
  int n_scores;
  double parameter = 0.0;   // of the losses that have one: a level, a width, a power
  double base = 0.0;        // of a kinked loss: where scores start, and the gradient of rows whose
  double base_slope = 0.0;  // target and score both are that
};

struct Range {
  std::int64_t begin, end;
};

// The second derivative: 1 everywhere, none that helps (1 stands in for it), or the loss's own.
enum class Hessian { one, none, own };

// Which constant is best: a function of the mean target, or one found among the residuals. A loss
// of the latter kind also has its leaves refined, since a Newton step knows nothing of it.
enum class BestConstant { of_mean, quantile, huber };

// The targets a loss is defined for: all numbers, counts and amounts, amounts above zero, class
// numbers, or shares (probabilities).
enum class Targets { numbers, not_negative, positive, classes, shares };

}  // namespace weald::losses
