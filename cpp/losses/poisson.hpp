// Half the Poisson deviance for counts; the score is the log of the expected count.
#pragma once
#include "losses/log_link.hpp"

namespace weald::losses {
struct Poisson : LogLink<Poisson> {
  static constexpr const char* name = "poisson";
  WEALD_HOST_DEVICE static double power(double) { return 1.0; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double) {
    const double mean = elementary::exp(bounded_score(score));
    return {mean - y, mean};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double) {
    const double s = bounded_score(score), entropy = y > 0.0 ? y * (elementary::log(y) - s) : 0.0;
    return entropy + (elementary::exp(s) - y);
  }
  WEALD_HOST_DEVICE static double capped_step(double newton, double rate, double) {
    return shorter_step(newton, rate, 1.0);
  }
};
}  // namespace weald::losses
