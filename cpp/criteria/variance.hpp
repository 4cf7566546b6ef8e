// Squared error: channels are the outputs; score = sum of S^2 / W.
#pragma once
#include "shared.hpp"

namespace weald {
struct Variance {
  static constexpr const char* name = "squared_error";
  static constexpr bool is_quadratic = true;

  WEALD_HOST_DEVICE static double numerator(const Sums& node) {
    double total = 0.0;
    for (int k = 0; k < node.n_channels; ++k) total += node.sums[k] * node.sums[k];
    return total;
  }
  WEALD_HOST_DEVICE static double denominator(const Sums& node, const Penalty&) {
    return node.weight;
  }
  WEALD_HOST_DEVICE static double score(const Sums& node, const Penalty& penalty) {
    return numerator(node) / denominator(node, penalty);
  }
  WEALD_HOST_DEVICE static double leaf_value(double sum, double weight, const Penalty&) {
    return sum / weight;
  }
};
}  // namespace weald
