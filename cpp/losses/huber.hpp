// Huber loss: squared for residuals up to the width (the parameter), linear beyond.
#pragma once
#include "losses/row_wise.hpp"

namespace weald::losses {
struct Huber : RowWise<Huber> {
  static constexpr const char* name = "huber";
  static constexpr Hessian hessian =
      Hessian::none;  // 0 beyond the width, so useless for leaves of outliers
  static constexpr bool has_parameter = true;
  static constexpr BestConstant best_constant = BestConstant::huber;
  static constexpr bool is_reported_twice = false;
  // The width is in the unit of the target too.
  WEALD_HOST_DEVICE static double gradient_degree(double) { return 1.0; }
  WEALD_HOST_DEVICE static double hessian_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double loss_degree(double) { return 2.0; }
  WEALD_HOST_DEVICE static bool admits(double width) { return width > 0.0 && width < 1e300; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double width) {
    const double residual = score - y;
    const double lower = residual < -width ? -width : residual;
    return {lower > width ? width : lower, 1.0};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double width) {
    const double residual = score > y ? score - y : y - score;
    return residual <= width ? 0.5 * residual * residual : width * (residual - 0.5 * width);
  }
};
}  // namespace weald::losses
