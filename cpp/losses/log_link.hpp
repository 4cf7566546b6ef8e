// Losses with log link (Tweedie family): the score is the log of the prediction.
//
// With A the sum of y e^((1-p)s) and B that of e^((2-p)s) over the rows of a leaf, the gradient is
// B - A, the hessian (p-1)A + (2-p)B and the best constant log(A / B): Poisson has p = 1, gamma 2.
#pragma once
#include "base/elementary.hpp"
#include "losses/row_wise.hpp"

namespace weald::losses {

// L defines power(parameter), the p above.
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

  // A mean of zero is replaced by a tiny positive number before taking the log.
  WEALD_HOST_DEVICE static double base_score(double mean, int) {
    constexpr double least = 0x1p-400;
    return elementary::log(mean > least ? mean : least);
  }
  WEALD_HOST_DEVICE static void predict(const double* score, int, double* prediction) {
    constexpr double most = 709.0;  // e^709 is finite
    prediction[0] = elementary::exp(score[0] > most ? most : score[0]);
  }

 protected:
  // Newton's step w determines A / B = (1 + (2-p)w) / (1 - (p-1)w) and thus the step to the best
  // constant, log(A / B). The step, before multiplication by the learning rate, is capped at that:
  // Newton's step explodes in a leaf of large targets. Where the exact step is infinite (a leaf of
  // zeros), Newton's is moderate.
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
