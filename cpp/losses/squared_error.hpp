// Squared error, one half of it so that the gradient is the residual; the score is the prediction.
#pragma once
#include "shared.hpp"

namespace weald {
struct SquaredError {
  static constexpr const char* name = "squared_error";
  static constexpr bool unit_hessian = true;

  WEALD_HOST_DEVICE static void gradients(double y, const double* score, int, double* gradient,
                                          double* hessian) {
    gradient[0] = score[0] - y;
    hessian[0] = 1.0;
  }
  WEALD_HOST_DEVICE static double loss(double y, const double* score, int) {
    const double residual = score[0] - y;
    return 0.5 * residual * residual;
  }
  // The score at which the loss of all rows is least, from the mean target.
  WEALD_HOST_DEVICE static double base_score(double mean, int) { return mean; }
  WEALD_HOST_DEVICE static void predict(const double* score, int, double* prediction) {
    prediction[0] = score[0];
  }
};
}  // namespace weald
