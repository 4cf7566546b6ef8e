// Squared error, one half of it so that the gradient is the residual; the score is the prediction.
#pragma once
#include "losses/row_wise.hpp"

namespace weald {
struct SquaredError : RowWise<SquaredError> {
  static constexpr const char* name = "squared_error";
  static constexpr Hessian hessian = Hessian::one;

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double) {
    return {score - y, 1.0};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double) {
    const double residual = score - y;
    return 0.5 * residual * residual;
  }
};
}  // namespace weald
