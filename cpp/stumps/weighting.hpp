// Row weights, and medians of weighted numbers.
#pragma once

#include <cstdint>

namespace weald::stumps {

// Total mass of the marked rows; masses are integers with a sum below 2^53.
double mass_of(const double* mass, const std::uint8_t* marked, std::int64_t n);

// Multiplies each weight by one of two factors, raises it to at least `least`, and writes the total
// of all copies of the row (null: one) as an integer in units of 1 / steps.
struct Reweighting {
  double if_right, if_wrong, least, steps;
};
void reweight(const Reweighting& by, const std::uint8_t* wrong, const std::int64_t* copies,
              std::int64_t n, double* each, double* mass);

// medians[row]: the smallest of the row's values at which the cumulative weight reaches half of the
// total. NaN sorts last.
void weighted_medians(const double* values, const double* weights, std::int64_t n_rows,
                      std::int64_t n_values, double* medians, int n_threads);

}  // namespace weald::stumps
