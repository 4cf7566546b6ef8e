// Sums and medians of weighted numbers.
#pragma once

#include <cstdint>

namespace weald {

// The sum of n finite numbers, each `copies` times (null: once), the same for any order of them:
// steps of 2^-60 of the largest, 128-bit total.
double exact_sum(const double* values, const std::int64_t* copies, std::int64_t n);

// medians[row]: the least of the row's values at which those up to it have half of all weight or
// more. NaN counts as the largest value.
void weighted_medians(const double* values, const double* weights, std::int64_t n_rows,
                      std::int64_t n_values, double* medians, int n_threads);

}  // namespace weald
