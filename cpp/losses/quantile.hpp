// Pinball loss; the parameter is the quantile level.
#pragma once
#include "losses/kinked.hpp"

namespace weald::losses {
struct Quantile : Kinked<Quantile> {
  static constexpr const char* name = "quantile";
  static constexpr bool has_parameter = true;
  WEALD_HOST_DEVICE static bool admits(double level) { return level >= 0.0 && level <= 1.0; }
  WEALD_HOST_DEVICE static double level(double parameter) { return parameter; }
  WEALD_HOST_DEVICE static double above(double level) { return 1.0 - level; }
  WEALD_HOST_DEVICE static double below(double level) { return level; }

  // Scores of several levels, in increasing order of level, are sorted: predicted quantiles never
  // cross, and the total loss does not increase.
  static constexpr bool has_many_predictions = true;
  WEALD_HOST_DEVICE static void predict(const double* score, int n_scores, double* prediction) {
    for (int k = 0; k < n_scores; ++k) {
      int at = k;
      for (; at > 0 && score[k] < prediction[at - 1]; --at) prediction[at] = prediction[at - 1];
      prediction[at] = score[k];
    }
  }
};
}  // namespace weald::losses
