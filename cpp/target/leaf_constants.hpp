// The best constant for some rows: a weighted quantile, or Huber's location estimate.
//
// Both depend only on the values and on exact sums of masses, so that neither the order of rows nor
// whether a row is repeated or weighted matters.
#pragma once

#include <cstdint>
#include <vector>

#include "losses/scored.hpp"

namespace weald::target {

struct WeightedValue {
  double value;
  std::int64_t mass;
};

// Row masses as integers: copies, or weights in steps so small that the sum over all rows still
// fits 62 bits.
std::vector<std::int64_t> masses(const double* weight, const std::int64_t* copies,
                                 std::int64_t n_rows);

// The smallest value at which the cumulative mass reaches the fraction `level` (inverted CDF).
// Requires at least one value, all of positive mass; reorders them.
double quantile(std::vector<WeightedValue>& values, double level);

// The constant c for which the masses times clip(c - value, -width, width) sum to zero.
double huber_constant(std::vector<WeightedValue>& values, double width);

}  // namespace weald::target
