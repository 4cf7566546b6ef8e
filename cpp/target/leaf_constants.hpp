// The constant that suits some rows best: a quantile, or Huber's estimate, of what each row holds.
//
// Both depend on the values and on exact sums of masses only, so that neither the order of rows nor
// whether a row is repeated or weighted can matter.
#pragma once

#include <cstdint>
#include <vector>

#include "losses/scored.hpp"

namespace weald::target {

struct WeighedValue {
  double value;
  std::int64_t mass;
};

// What rows count, as whole numbers: copies, or weights in steps so small that the sum over all
// rows still fits 62 bits.
std::vector<std::int64_t> masses(const double* weight, const std::int64_t* copies,
                                 std::int64_t n_rows);

// The least value up to which a share `level` of the mass lies (the inverted distribution
// function). Values of mass 0 must have been left out, at least one is there; their order is
// changed.
double quantile(std::vector<WeighedValue>& values, double level);

// The constant c for which the masses times clip(c - value, -width, width) sum to zero.
double huber_constant(std::vector<WeighedValue>& values, double width);

}  // namespace weald::target
