// Medians of weighted numbers.
#pragma once

#include <cstdint>

namespace weald {

// medians[row]: the least of the row's values at which those up to it have half of all weight or
// more. NaN counts as the largest value.
void weighted_medians(const double* values, const double* weights, std::int64_t n_rows,
                      std::int64_t n_values, double* medians, int n_threads);

}  // namespace weald
