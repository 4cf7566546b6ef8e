// Cox's partial likelihood over all rows, with Breslow's or Efron's treatment of ties.
#pragma once

#include <cstdint>

namespace weald::target {

// Of d events at one time, Breslow's treatment takes all as at risk at each; Efron's takes them in
// turn, so that those of the event k = 0, 1, ..., d - 1 count 1 - k / d. Each is a row, and stands
// for their mean weight.
enum class Ties { breslow, efron };

// Rows of a survival target. The places of times on a grid are 1, 2, ..., n_times, in the order of
// the times; y is the place of a row's time, negative if it was censored then. Rows of 0 copies are
// in no risk set and have no derivatives.
struct SurvivalRows {
  const double* y;
  const double* scores;        // log hazard ratios
  const double* weight;        // null: 1 each
  const std::int64_t* copies;  // null: 1 each
  std::int64_t n_rows;
  std::int32_t n_times;
  Ties ties;

  bool is_event(std::int64_t row) const { return y[row] > 0.0; }
  // Position of the row's time on the grid, from 0.
  std::int32_t time(std::int64_t row) const {
    return static_cast<std::int32_t>(is_event(row) ? y[row] : -y[row]) - 1;
  }
};

// With H the estimate of the cumulative baseline hazard at the scores, the gradient of a row is
// e^score H(time) - is_event, where Efron's H is less for rows with an event at that time. The
// hessian is the first term, an upper bound of the curvature that also holds for sums over rows: H
// as it is, the likelihood is that of a Poisson count.
void cox_gradients(const SurvivalRows& rows, double* gradient, double* hessian, int n_threads);

// Mean over rows of is_event * (log of the sum of e^score over the risk set, as a share of all
// rows, - score): the negative log partial likelihood, comparable between sets of any size. Of
// Efron's ties, the logarithm is their mean.
double cox_mean_loss(const SurvivalRows& rows, int n_threads);

// Cumulative baseline hazard at each time of the grid: hazard[n_times].
void baseline_hazard(const SurvivalRows& rows, double* hazard, int n_threads);

}  // namespace weald::target
