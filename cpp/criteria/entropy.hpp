// Entropy in bits: channels are class weights; score = sum of S log2(S / W).
#pragma once
#include "base/elementary.hpp"
#include "base/types.hpp"

namespace weald::criteria {
struct Entropy {
  static constexpr const char* name = "entropy";
  static constexpr bool is_quadratic = false;
  static constexpr SumsOf sums_of = SumsOf::classes;
  static constexpr bool needs_positive_sums = false;

  WEALD_HOST_DEVICE static double score(const Sums& node, const Penalty&) {
    double total = 0.0;
    for (int k = 0; k < node.n_channels; ++k) {
      if (node.sums[k] > 0.0) total += node.sums[k] * elementary::log2(node.sums[k] / node.weight);
    }
    return total;
  }
  WEALD_HOST_DEVICE static double leaf_value(double sum, double weight, const Penalty&) {
    return sum / weight;
  }
};
}  // namespace weald::criteria
