// Input of a loss: targets and scores of rows; and the traits a loss declares.
#pragma once
#include <cstdint>

#include "base/types.hpp"

namespace weald::losses {

// scores[score][row]; y is a number, a class index, or target probabilities y[score][row].
struct Scored {
  const double* y;
  const double* scores;
  const double* weight;        // null: 1 each
  const std::int64_t* copies;  // null: 1 each
  std::int64_t n_rows;
  int n_scores;
  double parameter = 0.0;   // of losses that have one: quantile level, width, power
  double base = 0.0;        // kinked losses: the base score, and the gradient of rows whose
  double base_slope = 0.0;  // target and score both equal it
};

struct Range {
  std::int64_t begin, end;
};

// The hessian: 1 everywhere, useless (1 is used instead), or defined by the loss.
enum class Hessian { one, none, own };

// How the best constant is found: from the mean target, or as a statistic of the residuals. In the
// latter case leaf values are refitted too, because Newton steps do not approximate them.
enum class BestConstant { of_mean, quantile, huber };

// The targets a loss is defined for: real numbers, non-negative numbers, positive numbers, class
// indices, or probabilities.
enum class Targets { numbers, not_negative, positive, classes, shares };

}  // namespace weald::losses
