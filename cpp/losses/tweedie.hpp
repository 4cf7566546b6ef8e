// Half the Tweedie deviance of power between 1 and 2 (the parameter), for non-negative targets with
// many zeros, such as claims; the score is the log of the expected value.
#pragma once
#include "losses/log_link.hpp"

namespace weald::losses {
struct Tweedie : LogLink<Tweedie> {
  static constexpr const char* name = "tweedie";
  static constexpr bool has_parameter = true;
  WEALD_HOST_DEVICE static bool admits(double power) { return power > 1.0 && power < 2.0; }
  WEALD_HOST_DEVICE static double power(double power) { return power; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double power) {
    const double s = bounded_score(score);
    const double a = y * elementary::exp((1.0 - power) * s);
    const double b = elementary::exp((2.0 - power) * s);
    return {b - a, (power - 1.0) * a + (2.0 - power) * b};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double power) {
    const double s = bounded_score(score), one = 1.0 - power, two = 2.0 - power;
    const double own = y > 0.0 ? elementary::exp(two * elementary::log(y)) / (one * two) : 0.0;
    return own - y * elementary::exp(one * s) / one + elementary::exp(two * s) / two;
  }
  WEALD_HOST_DEVICE static double capped_step(double newton, double rate, double power) {
    return shorter_step(newton, rate, power);
  }
};
}  // namespace weald::losses
