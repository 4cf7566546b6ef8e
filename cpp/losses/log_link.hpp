// Losses of amounts whose score is the logarithm of the prediction: Tweedie's family.
//
// With A the sum of y e^((1-p)s) and B that of e^((2-p)s) over the rows of a leaf, the gradient is
// B - A, the hessian (p-1)A + (2-p)B and the best constant log(A / B): Poisson has p = 1, gamma 2.
#pragma once
#include "base/elementary.hpp"
#include "losses/row_wise.hpp"

namespace weald::losses {

// L has power(parameter), the p above.
template <class L>
struct LogLink : RowWise<L> {
  static constexpr Hessian hessian = Hessian::own;
  static constexpr bool caps_steps = true;
  static constexpr Targets targets = Targets::not_negative;
  static constexpr bool is_reported_twice = false;
  WEALD_HOST_DEVICE static double gradient_degree(double parameter) {
    return 2.0 - L::power(parameter);
  }
  WEALD_HOST_DEVICE static double hessian_degree(double parameter) {
    return 2.0 - L::power(parameter);
  }
  WEALD_HOST_DEVICE static double loss_degree(double parameter) {
    return 2.0 - L::power(parameter);
  }

  // Amounts that are all zero have the logarithm of next to nothing.
  WEALD_HOST_DEVICE static double base_score(double mean, int) {
    constexpr double least = 0x1p-400;
    return elementary::log(mean > least ? mean : least);
  }
  WEALD_HOST_DEVICE static void predict(const double* score, int, double* prediction) {
    constexpr double most = 709.0;  // e^709 is a double
    prediction[0] = elementary::exp(score[0] > most ? most : score[0]);
  }

 protected:
  // Newton's step w tells A / B = (1 + (2-p)w) / (1 - (p-1)w), so also the step to the best
  // constant, its logarithm. A step that will be multiplied by the rate must not go beyond it:
  // where Newton's would explode (a leaf of large amounts) the exact one is taken. Where that is
  // infinite (a leaf of zeros) Newton's is moderate.
  WEALD_HOST_DEVICE static double shorter_step(double newton, double rate, double power) {
    const double most = 40.0 / rate;
    const double up = (2.0 - power) * newton, down = (1.0 - power) * newton;
    double step = newton;
    if (up > -1.0 && down > -1.0) {
      const double exact = (elementary::log1p(up) - elementary::log1p(down)) / rate;
      if (exact * exact < step * step) step = exact;
    }
    return step < -most ? -most : (step > most ? most : step);
  }
};

}  // namespace weald::losses
