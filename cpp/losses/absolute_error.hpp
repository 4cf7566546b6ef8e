// Absolute error: the median.
#pragma once
#include "losses/kinked.hpp"

namespace weald::losses {
struct AbsoluteError : Kinked<AbsoluteError> {
  static constexpr const char* name = "absolute_error";
  WEALD_HOST_DEVICE static double level(double) { return 0.5; }
  WEALD_HOST_DEVICE static double above(double) { return 1.0; }
  WEALD_HOST_DEVICE static double below(double) { return 1.0; }
};
}  // namespace weald::losses
