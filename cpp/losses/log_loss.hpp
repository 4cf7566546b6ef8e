// Log loss: one score (the log odds of class 1) for two classes, a score per class for many.
#pragma once
#include "elementary.hpp"
#include "shared.hpp"

namespace weald {
struct LogLoss {
  static constexpr const char* name = "log_loss";
  static constexpr bool unit_hessian = false;

  WEALD_HOST_DEVICE static void gradients(double y, const double* score, int n_scores,
                                          double* gradient, double* hessian) {
    if (n_scores == 1) {
      const double p = elementary::sigmoid(score[0]);
      gradient[0] = p - y;
      hessian[0] = p * (1.0 - p);
      return;
    }
    const double normaliser = 1.0 / exp_shares(score, n_scores, gradient);
    for (int k = 0; k < n_scores; ++k) {
      const double p = gradient[k] * normaliser;
      gradient[k] = p - (y == static_cast<double>(k) ? 1.0 : 0.0);
      hessian[k] = p * (1.0 - p);
    }
  }

  WEALD_HOST_DEVICE static double loss(double y, const double* score, int n_scores) {
    if (n_scores == 1) {
      // log(1 + e^s) - y s, with the exponential of a negative number only.
      const double s = score[0], negative = s < 0.0 ? s : -s;
      return elementary::log1p(elementary::exp(negative)) + (s > 0.0 ? s : 0.0) - y * s;
    }
    const double top = largest(score, n_scores);
    double total = 0.0;
    for (int k = 0; k < n_scores; ++k) total += elementary::exp(score[k] - top);
    return elementary::log(total) + (top - score[static_cast<int>(y)]);
  }

  // From the share of the class: log odds, or log share. A class without weight has share 0.
  WEALD_HOST_DEVICE static double base_score(double share, int n_scores) {
    constexpr double least = 0x1p-52;
    const double p = share < least ? least : (share > 1.0 - least ? 1.0 - least : share);
    return n_scores == 1 ? elementary::log(p / (1.0 - p)) : elementary::log(p);
  }

  // Probabilities of both classes, or of every class.
  WEALD_HOST_DEVICE static void predict(const double* score, int n_scores, double* prediction) {
    if (n_scores == 1) {
      prediction[1] = elementary::sigmoid(score[0]);
      prediction[0] = 1.0 - prediction[1];
      return;
    }
    const double normaliser = 1.0 / exp_shares(score, n_scores, prediction);
    for (int k = 0; k < n_scores; ++k) prediction[k] *= normaliser;
  }

 private:
  WEALD_HOST_DEVICE static double largest(const double* score, int n_scores) {
    double top = score[0];
    for (int k = 1; k < n_scores; ++k) top = score[k] > top ? score[k] : top;
    return top;
  }
  // exp(score - largest) into `shares`; returns their sum.
  WEALD_HOST_DEVICE static double exp_shares(const double* score, int n_scores, double* shares) {
    const double top = largest(score, n_scores);
    double total = 0.0;
    for (int k = 0; k < n_scores; ++k) total += shares[k] = elementary::exp(score[k] - top);
    return total;
  }
};
}  // namespace weald
