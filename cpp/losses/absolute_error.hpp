// Absolute error: the median.
#pragma once
#include "losses/row_wise.hpp"

namespace weald {
struct AbsoluteError : RowWise<AbsoluteError> {
  static constexpr const char* name = "absolute_error";
  static constexpr Hessian hessian = Hessian::none;
  static constexpr BestConstant best_constant = BestConstant::quantile;
  WEALD_HOST_DEVICE static double level(double) { return 0.5; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double) {
    const double above = score > y ? 1.0 : 0.0, below = score < y ? 1.0 : 0.0;
    return {above - below, 1.0};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double) {
    return score > y ? score - y : y - score;
  }
};
}  // namespace weald
