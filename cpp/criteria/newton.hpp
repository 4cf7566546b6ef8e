// Second-order boosting: a channel is the gradient of a score, the weight the hessian, which
// several scores share; score = sum of S^2 / 2(W + l2).
#pragma once
#include "shared.hpp"

namespace weald {
struct Newton {
  static constexpr const char* name = "newton";
  static constexpr bool is_quadratic = true;

  WEALD_HOST_DEVICE static double numerator(const Sums& node) {
    double total = 0.0;
    for (int k = 0; k < node.n_channels; ++k) total += 0.5 * node.sums[k] * node.sums[k];
    return total;
  }
  WEALD_HOST_DEVICE static double denominator(const Sums& node, const Penalty& penalty) {
    return node.weight + penalty.l2;
  }
  WEALD_HOST_DEVICE static double score(const Sums& node, const Penalty& penalty) {
    return numerator(node) / denominator(node, penalty);
  }
  WEALD_HOST_DEVICE static double leaf_value(double sum, double weight, const Penalty& penalty) {
    const double curvature = weight + penalty.l2;
    return curvature > 0.0 ? -sum / curvature : 0.0;
  }
};
}  // namespace weald
