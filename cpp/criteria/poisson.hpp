// Half the Poisson deviance: channels are the outputs, which are non-negative; score = sum of S
// log(S / W). Another unit changes it by a multiple of S, which cancels in every gain.
#pragma once
#include "base/elementary.hpp"
#include "base/types.hpp"

namespace weald::criteria {
struct PoissonDeviance {
  static constexpr const char* name = "poisson";
  static constexpr bool is_quadratic = false;
  static constexpr SumsOf sums_of = SumsOf::numbers;
  static constexpr bool needs_positive_sums =
      true;  // a mean of 0 has infinite deviance from positive targets

  WEALD_HOST_DEVICE static double score(const Sums& node, const Penalty&) {
    double total = 0.0;
    for (int k = 0; k < node.n_channels; ++k) {
      if (node.sums[k] > 0.0) total += node.sums[k] * elementary::log(node.sums[k] / node.weight);
    }
    return total;
  }
  // Half the deviance; its linear terms cancel over the rows of a leaf.
  WEALD_HOST_DEVICE static double row_impurity(double number, double mean) {
    const double ratio = number > 0.0 ? number * elementary::log(number / mean) : 0.0;
    const double deviance = ratio + (mean - number);
    return deviance > 0.0 ? deviance : 0.0;
  }
  WEALD_HOST_DEVICE static double leaf_value(double sum, double weight, const Penalty&) {
    return sum / weight;
  }
};
}  // namespace weald::criteria
