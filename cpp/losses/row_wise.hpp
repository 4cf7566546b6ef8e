// CRTP base of losses with one score per row: the loops and the defaults.
#pragma once
#include "losses/scored.hpp"

namespace weald::losses {

struct Derivatives {
  double gradient, hessian;
};

// Losses of e^score clip the score here: e^300 squared is still a finite double.
WEALD_HOST_DEVICE inline double bounded_score(double score) {
  constexpr double most = 300.0;
  const double lower = score < -most ? -most : score;
  return lower > most ? most : lower;
}

// L defines derivatives(y, score, parameter) and loss(y, score, parameter).
template <class L>
struct RowWise {
  static constexpr bool has_many_scores = false;
  static constexpr bool has_many_predictions = false;
  static constexpr bool has_parameter = false;
  static constexpr bool caps_steps = false;
  static constexpr BestConstant best_constant = BestConstant::of_mean;
  static constexpr Targets targets = Targets::numbers;

  WEALD_HOST_DEVICE static void gradients(const Scored& rows, Range range, double* gradient,
                                          double* hessian) {
    const double parameter = rows.parameter;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const Derivatives at = L::derivatives(rows.y[row], rows.scores[row], parameter);
      gradient[row] = at.gradient;
      hessian[row] = at.hessian;
    }
  }
  WEALD_HOST_DEVICE static void losses(const Scored& rows, Range range, double* loss) {
    for (std::int64_t row = range.begin; row < range.end; ++row)
      loss[row] = L::loss(rows.y[row], rows.scores[row], rows.parameter);
  }
  // The constant score of minimal loss, from the mean target.
  WEALD_HOST_DEVICE static double base_score(double mean, int) { return mean; }
  WEALD_HOST_DEVICE static double capped_step(double newton, double, double) { return newton; }
  WEALD_HOST_DEVICE static bool admits(double) { return true; }  // the parameter
  WEALD_HOST_DEVICE static void predict(const double* score, int, double* prediction) {
    prediction[0] = score[0];
  }
};

}  // namespace weald::losses
