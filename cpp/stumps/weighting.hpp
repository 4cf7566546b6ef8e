// Weights of rows, and medians of weighted numbers.
#pragma once

#include <cstdint>

namespace weald::stumps {

// What the marked rows weigh together; masses are whole numbers with a sum below 2^53.
double mass_of(const double* mass, const std::uint8_t* marked, std::int64_t n);

// Multiplies each weight by one of two factors, lifts it to `least`, and writes what all copies of
// its row (null: one) weigh as a whole number of `steps` to 1.
struct Reweighting {
  double if_right, if_wrong, least, steps;
};
void reweight(const Reweighting& by, const std::uint8_t* wrong, const std::int64_t* copies,
              std::int64_t n, double* each, double* mass);

// medians[row]: the least of the row's values at which those up to it have half of all weight or
// more. NaN counts as the largest value.
void weighted_medians(const double* values, const double* weights, std::int64_t n_rows,
                      std::int64_t n_values, double* medians, int n_threads);

}  // namespace weald::stumps
