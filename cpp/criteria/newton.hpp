// Second-order boosting: a channel is the gradient of a score, the weight the hessian, shared by
// all scores; score = sum of S^2 / 2(W + l2), after soft-thresholding S by l1. With bounds (one
// score only) it is the decrease of the loss at the best admissible value w: -(S w + (W + l2) w^2 /
// 2 + l1 |w|).
#pragma once
#include <cmath>

#include "base/types.hpp"

namespace weald::criteria {
struct Newton {
  static constexpr const char* name = "newton";
  static constexpr bool is_quadratic = true;
  static constexpr SumsOf sums_of = SumsOf::gradients;
  static constexpr bool needs_positive_sums = false;

  WEALD_HOST_DEVICE static double shrunk(double sum, const Penalty& penalty) {
    if (penalty.l1 == 0.0) return sum;
    const double size = std::fabs(sum) - penalty.l1;
    return size > 0.0 ? std::copysign(size, sum) : 0.0;
  }
  WEALD_HOST_DEVICE static double numerator(const Sums& node) {
    double total = 0.0;
    for (int k = 0; k < node.n_channels; ++k) total += 0.5 * node.sums[k] * node.sums[k];
    return total;
  }
  WEALD_HOST_DEVICE static double denominator(const Sums& node, const Penalty& penalty) {
    return node.weight + penalty.l2;
  }
  // Without bounds, the score is the sum of the terms of all channels, divided by the denominator.
  WEALD_HOST_DEVICE static double term(double channel, const Penalty& penalty) {
    const double sum = shrunk(channel, penalty);
    return 0.5 * sum * sum;
  }
  WEALD_HOST_DEVICE static double score(const Sums& node, const Penalty& penalty) {
    if (!penalty.bounds.any()) {
      double total = 0.0;
      for (int k = 0; k < node.n_channels; ++k) total += term(node.sums[k], penalty);
      return total / denominator(node, penalty);
    }
    const double w = leaf_value(node.sums[0], node.weight, penalty);
    return -(node.sums[0] * w + 0.5 * denominator(node, penalty) * w * w +
             penalty.l1 * std::fabs(w));
  }
  WEALD_HOST_DEVICE static double leaf_value(double sum, double weight, const Penalty& penalty) {
    const double curvature = weight + penalty.l2;
    return penalty.bounds.held(curvature > 0.0 ? -shrunk(sum, penalty) / curvature : 0.0);
  }
};
}  // namespace weald::criteria
