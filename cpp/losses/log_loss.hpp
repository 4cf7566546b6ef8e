// Log loss: one score (the log odds of class 1) for two classes, a score per class for many.
#pragma once
#include "elementary.hpp"
#include "losses/scored.hpp"

namespace weald {
struct LogLoss {
  static constexpr const char* name = "log_loss";
  static constexpr bool unit_hessian = false;

  WEALD_HOST_DEVICE static void gradients(const Scored& rows, Range range, double* gradient,
                                          double* hessian) {
    if (rows.n_scores > 1) return many_gradients(rows, range, gradient, hessian);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const double p = elementary::sigmoid(rows.scores[row]);
      gradient[row] = p - rows.y[row];
      hessian[row] = p * (1.0 - p);
    }
  }

  WEALD_HOST_DEVICE static void losses(const Scored& rows, Range range, double* loss) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      if (rows.n_scores == 1) {
        // log(1 + e^s) - y s, with the exponential of a negative number only.
        const double s = rows.scores[row], negative = s < 0.0 ? s : -s;
        loss[row] =
            elementary::log1p(elementary::exp(negative)) + (s > 0.0 ? s : 0.0) - rows.y[row] * s;
        continue;
      }
      const double* const score = rows.scores + row;
      double top = score[0], total = 0.0;
      for (int k = 1; k < rows.n_scores; ++k) top = greater(score[k * rows.n_rows], top);
      for (int k = 0; k < rows.n_scores; ++k)
        total += elementary::exp(score[k * rows.n_rows] - top);
      const auto own = static_cast<std::int64_t>(rows.y[row]);
      loss[row] = elementary::log(total) + (top - score[own * rows.n_rows]);
    }
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
    double top = score[0], total = 0.0;
    for (int k = 1; k < n_scores; ++k) top = greater(score[k], top);
    for (int k = 0; k < n_scores; ++k) total += prediction[k] = elementary::exp(score[k] - top);
    for (int k = 0; k < n_scores; ++k) prediction[k] /= total;
  }

 private:
  WEALD_HOST_DEVICE static double greater(double a, double b) { return a > b ? a : b; }

  // Class by class over a few rows at a time, so that the inner loops run along the rows.
  WEALD_HOST_DEVICE static void many_gradients(const Scored& rows, Range range, double* gradient,
                                               double* hessian) {
    constexpr int step = 64;
    const std::int64_t n = rows.n_rows;
    double top[step], total[step];
    for (std::int64_t begin = range.begin; begin < range.end; begin += step) {
      const int size = static_cast<int>(range.end - begin < step ? range.end - begin : step);
      for (int i = 0; i < size; ++i) top[i] = rows.scores[begin + i];
      for (int k = 1; k < rows.n_scores; ++k)
        for (int i = 0; i < size; ++i) top[i] = greater(rows.scores[k * n + begin + i], top[i]);
      for (int i = 0; i < size; ++i) total[i] = 0.0;
      for (int k = 0; k < rows.n_scores; ++k) {
        double* const g = gradient + k * n + begin;
        for (int i = 0; i < size; ++i) {
          g[i] = elementary::exp(rows.scores[k * n + begin + i] - top[i]);
          total[i] += g[i];
        }
      }
      for (int k = 0; k < rows.n_scores; ++k) {
        double* const g = gradient + k * n + begin;
        double* const h = hessian + k * n + begin;
        for (int i = 0; i < size; ++i) {
          const double p = g[i] / total[i];
          g[i] = p - (rows.y[begin + i] == static_cast<double>(k) ? 1.0 : 0.0);
          h[i] = p * (1.0 - p);
        }
      }
    }
  }
};
}  // namespace weald
