// Entropy in bits: channels are class weights; score = sum of S log2(S / W).
#pragma once
#include "elementary.hpp"
#include "shared.hpp"

namespace weald {
struct Entropy {
  static constexpr const char* name = "entropy";
  static constexpr bool is_quadratic = false;

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
}  // namespace weald
