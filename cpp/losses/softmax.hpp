// Shared by the classification losses: one score (log odds) for two classes, one score per class
// otherwise, gradient p - y.
#pragma once
#include "base/elementary.hpp"
#include "losses/scored.hpp"

namespace weald::losses {

// Clips a class share away from 0 and 1: a class without weight has share 0.
WEALD_HOST_DEVICE inline double clipped_share(double share) {
  constexpr double least = 0x1p-52;
  return share < least ? least : (share > 1.0 - least ? 1.0 - least : share);
}
WEALD_HOST_DEVICE inline double log_odds(double share) {
  const double p = clipped_share(share);
  return elementary::log(p / (1.0 - p));
}

namespace softmax {

WEALD_HOST_DEVICE inline double greater(double a, double b) { return a > b ? a : b; }

// log(1 + e^s) - y s, using only the exponential of a negative number.
WEALD_HOST_DEVICE inline double two_class_loss(double y, double s) {
  const double negative = s < 0.0 ? s : -s;
  return elementary::log1p(elementary::exp(negative)) + (s > 0.0 ? s : 0.0) - y * s;
}

// log-sum-exp over a row's scores in two parts: the largest score and the rest.
struct LogSum {
  double top, rest;
};
WEALD_HOST_DEVICE inline LogSum log_sum(const Scored& rows, std::int64_t row) {
  const double* const score = rows.scores + row;
  double top = score[0], total = 0.0;
  for (int k = 1; k < rows.n_scores; ++k) top = greater(score[k * rows.n_rows], top);
  for (int k = 0; k < rows.n_scores; ++k) total += elementary::exp(score[k * rows.n_rows] - top);
  return {top, elementary::log(total)};
}

// Class by class over blocks of rows, so that the inner loops run along rows and vectorise.
constexpr int block = 64;

// The same of the first rows of a range, as `log_sum`; returns their number.
struct LogSums {
  double top[block], rest[block];
};
WEALD_HOST_DEVICE inline int log_sums(const Scored& rows, Range range, LogSums& sums) {
  const std::int64_t n = rows.n_rows, left = range.end - range.begin;
  const int size = static_cast<int>(left < block ? left : block);
  const double* const score = rows.scores + range.begin;
  double total[block];
  for (int i = 0; i < size; ++i) sums.top[i] = score[i];
  for (int k = 1; k < rows.n_scores; ++k)
    for (int i = 0; i < size; ++i) sums.top[i] = greater(score[k * n + i], sums.top[i]);
  for (int i = 0; i < size; ++i) total[i] = 0.0;
  for (int k = 0; k < rows.n_scores; ++k)
    for (int i = 0; i < size; ++i) total[i] += elementary::exp(score[k * n + i] - sums.top[i]);
  for (int i = 0; i < size; ++i) sums.rest[i] = elementary::log(total[i]);
  return size;
}

template <class L>
WEALD_HOST_DEVICE inline void gradients(const Scored& rows, Range range, double* gradient,
                                        double* hessian) {
  const std::int64_t n = rows.n_rows;
  double top[block], total[block];
  for (std::int64_t begin = range.begin; begin < range.end; begin += block) {
    const int size = static_cast<int>(range.end - begin < block ? range.end - begin : block);
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
        g[i] = p - L::share(rows, begin + i, k);
        h[i] = p * (1.0 - p);
      }
    }
  }
}

// A step t changes the hessian p(1 - p) of a row by a factor of at most e^|t|, so the loss of a
// leaf by at most G t + H (e^|t| - |t| - 1). This bound is minimal at |t| = log(1 + |w|), where w =
// -G / H is Newton's step: up to there a step surely lowers the loss. For rows of a rare class
// Newton's step is far longer (1 / p for a pure leaf) and scores would not recover, because the
// hessian is uninformative where p is wrong but near 0 or 1. Steps of up to 2 (Newton's step from
// even odds to a pure leaf) are not shortened; with a learning rate of at most 0.9 they cannot
// raise the bound either.
WEALD_HOST_DEVICE inline double shorter_step(double newton, double rate) {
  constexpr double free_move = 2.0, most = 40.0;
  const double size = newton < 0.0 ? -newton : newton;
  if (rate * size <= free_move) return newton;
  const double sure = elementary::log1p(size);
  const double move = sure < free_move ? free_move : (sure > most ? most : sure);
  if (rate * size <= move) return newton;
  return (newton < 0.0 ? -move : move) / rate;
}

WEALD_HOST_DEVICE inline void predict(const double* score, int n_scores, double* prediction) {
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

}  // namespace softmax

// CRTP base of classification losses; L defines share(rows, row, k).
template <class L>
struct Softmax {
  static constexpr Hessian hessian = Hessian::own;
  static constexpr bool has_many_scores = true;
  static constexpr bool has_many_predictions = true;
  static constexpr bool has_parameter = false;
  static constexpr bool caps_steps = true;
  static constexpr BestConstant best_constant = BestConstant::of_mean;
  WEALD_HOST_DEVICE static double gradient_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double hessian_degree(double) { return 0.0; }
  WEALD_HOST_DEVICE static double loss_degree(double) { return 0.0; }

  WEALD_HOST_DEVICE static void gradients(const Scored& rows, Range range, double* gradient,
                                          double* curvature) {
    if (rows.n_scores > 1) return softmax::gradients<L>(rows, range, gradient, curvature);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const double p = elementary::sigmoid(rows.scores[row]);
      gradient[row] = p - rows.y[row];
      curvature[row] = p * (1.0 - p);
    }
  }
  // From the class share: log odds, or log share.
  WEALD_HOST_DEVICE static double base_score(double share, int n_scores) {
    return n_scores == 1 ? log_odds(share) : elementary::log(clipped_share(share));
  }
  WEALD_HOST_DEVICE static double capped_step(double newton, double rate, double) {
    return softmax::shorter_step(newton, rate);
  }
  WEALD_HOST_DEVICE static bool admits(double) { return true; }
  WEALD_HOST_DEVICE static void predict(const double* score, int n_scores, double* prediction) {
    softmax::predict(score, n_scores, prediction);
  }
};

}  // namespace weald::losses
