// Accelerated failure time: log time = score + scale * error, with right-censored times.
#pragma once

#include <cstdint>
#include <string_view>

namespace weald::target {

// The errors are normal, logistic or extreme (the log of an exponential time: Weibull regression).
// y is the time of a row, negative if it was censored then.
struct AftRows {
  const double* y;
  const double* scores;
  const double* weight;        // null: 1 each
  const std::int64_t* copies;  // null: 1 each
  std::int64_t n_rows;
  double scale;
};

// Whether there is such a distribution.
bool is_distribution(std::string_view name);

// Derivatives of the negative log-likelihood. Where it is not convex enough for Newton's step, that
// is for logistic errors, the hessian is that of the quadratic which touches it from above.
void aft_gradients(std::string_view distribution, const AftRows& rows, double* gradient,
                   double* hessian, int n_threads);

// Mean negative log-likelihood of the times, over copies and weights.
double aft_mean_loss(std::string_view distribution, const AftRows& rows, int n_threads);

// log of the chance that an error exceeds each z.
void aft_log_survival(std::string_view distribution, const double* z, std::int64_t n, double* out,
                      int n_threads);

}  // namespace weald::target
