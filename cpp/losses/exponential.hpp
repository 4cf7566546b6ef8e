// AdaBoost's exponential loss for two classes; the score is half the log odds.
#pragma once
#include "base/elementary.hpp"
#include "losses/row_wise.hpp"
#include "losses/softmax.hpp"

namespace weald::losses {
struct Exponential : RowWise<Exponential> {
  static constexpr const char* name = "exponential";
  static constexpr Hessian hessian = Hessian::own;
  static constexpr Targets targets = Targets::classes;
  static constexpr bool is_reported_twice = false;
  WEALD_HOST_DEVICE static double gradient_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double hessian_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double loss_degree(double) { return 0.0; }

  WEALD_HOST_DEVICE static Derivatives derivatives(double y, double score, double) {
    const double s = bounded_score(score);
    const double own = y * elementary::exp(-s), other = (1.0 - y) * elementary::exp(s);
    return {other - own, other + own};
  }
  WEALD_HOST_DEVICE static double loss(double y, double score, double) {
    const double s = bounded_score(score);
    return y * elementary::exp(-s) + (1.0 - y) * elementary::exp(s);
  }
  // Newton's step needs no cap: it is (a - b) / (a + b) for two non-negative sums.
  WEALD_HOST_DEVICE static double base_score(double share, int) { return 0.5 * log_odds(share); }
  WEALD_HOST_DEVICE static void predict(const double* score, int, double* prediction) {
    prediction[1] = elementary::sigmoid(2.0 * score[0]);
    prediction[0] = 1.0 - prediction[1];
  }
};
}  // namespace weald::losses
