// Half the gamma deviance for positive targets; the score is the log of the expected value.
#pragma once
#include "losses/log_link.hpp"

namespace weald::losses {
struct Gamma : LogLink<Gamma> {
  static constexpr const char* name = "gamma";
  static constexpr Targets targets = Targets::positive;
  WEALD_HOST_DEVICE static double power(double) { return 2.0; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double) {
    const double ratio = y * elementary::exp(-bounded_score(score));
    return {1.0 - ratio, ratio};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double) {
    const double s = bounded_score(score);
    return (s - elementary::log(y)) + (y * elementary::exp(-s) - 1.0);
  }
  WEALD_HOST_DEVICE static double capped_step(double newton, double rate, double) {
    return shorter_step(newton, rate, 2.0);
  }
};
}  // namespace weald::losses
