// Squared error, one half of it so that the gradient is the residual; the score is the prediction.
#pragma once
#include "losses/scored.hpp"

namespace weald {
struct SquaredError {
  static constexpr const char* name = "squared_error";
  static constexpr bool unit_hessian = true;

  WEALD_HOST_DEVICE static void gradients(const Scored& rows, Range range, double* gradient,
                                          double* hessian) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      gradient[row] = rows.scores[row] - rows.y[row];
      hessian[row] = 1.0;
    }
  }
  WEALD_HOST_DEVICE static void losses(const Scored& rows, Range range, double* loss) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const double residual = rows.scores[row] - rows.y[row];
      loss[row] = 0.5 * residual * residual;
    }
  }
  // The score at which the loss of all rows is least, from the mean target.
  WEALD_HOST_DEVICE static double base_score(double mean, int) { return mean; }
  WEALD_HOST_DEVICE static void predict(const double* score, int, double* prediction) {
    prediction[0] = score[0];
  }
};
}  // namespace weald
