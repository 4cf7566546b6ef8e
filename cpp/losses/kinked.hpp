// Losses with a kink at the target: absolute error and pinball loss.
//
// Below the target the gradient is -below(parameter), above it above(parameter); at the target any
// value in between is a subgradient: 0, except for rows still at the base score, which may be most
// of them and use base_slope (see weald.losses.pinball_start).
#pragma once
#include "losses/row_wise.hpp"

namespace weald::losses {

template <class L>
struct Kinked : RowWise<L> {
  static constexpr Hessian hessian = Hessian::none;
  static constexpr BestConstant best_constant = BestConstant::quantile;
  static constexpr bool is_reported_twice = false;
  WEALD_HOST_DEVICE static double gradient_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double hessian_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double loss_degree(double) { return 1.0; }

  WEALD_HOST_DEVICE static void gradients(const Scored& rows, Range range, double* gradient,
                                          double* curvature) {
    const double above = L::above(rows.parameter), below = L::below(rows.parameter);
    const double base = rows.base, base_slope = rows.base_slope;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const double y = rows.y[row], score = rows.scores[row];
      const double sloped = (score > y ? above : 0.0) - (score < y ? below : 0.0);
      gradient[row] = sloped + (((score == y) & (y == base)) ? base_slope : 0.0);
      curvature[row] = 1.0;
    }
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double parameter) {
    return score > y ? L::above(parameter) * (score - y) : L::below(parameter) * (y - score);
  }
};

}  // namespace weald::losses
