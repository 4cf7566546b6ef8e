// Half the squared error, so that the gradient is the residual; the score is the prediction.
#pragma once
#include "losses/row_wise.hpp"

namespace weald::losses {
struct SquaredError : RowWise<SquaredError> {
  static constexpr const char* name = "squared_error";
  static constexpr Hessian hessian = Hessian::one;
  static constexpr bool is_reported_twice = true;
  WEALD_HOST_DEVICE static double gradient_degree(double) { return 1.0; }
  WEALD_HOST_DEVICE static double hessian_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double loss_degree(double) { return 2.0; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double) {
    return {score - y, 1.0};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double) {
    const double residual = score - y;
    return 0.5 * residual * residual;
  }
};
}  // namespace weald::losses
