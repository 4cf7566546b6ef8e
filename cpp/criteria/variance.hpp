// Squared error: channels are the outputs; score = sum of S^2 / W.
#pragma once
#include "base/types.hpp"

namespace weald::criteria {
struct Variance {
  static constexpr const char* name = "squared_error";
  static constexpr bool is_quadratic = true;
  static constexpr SumsOf sums_of = SumsOf::numbers;
  static constexpr bool needs_positive_sums = false;

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
  WEALD_HOST_DEVICE static double row_impurity(double number, double mean) {
    return (number - mean) * (number - mean);
  }
  WEALD_HOST_DEVICE static double leaf_value(double sum, double weight, const Penalty&) {
    return sum / weight;
  }
};
}  // namespace weald::criteria
