// Row subsampling: each row is drawn with the same probability.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/draws.hpp"
#include "base/mixing.hpp"

namespace weald::data {

// How often each row is drawn: `copies` (null: once) if its random number is below `fraction`, else
// 0. If that leaves none, the rows of the least number are drawn.
inline void subsample(const Hash128* keys, const std::int64_t* copies, std::int64_t n_rows,
                      double fraction, const DrawKey& draw, std::int64_t* drawn) {
  const double end = fraction / uniform_step;
  std::int64_t any = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const bool is_drawn = static_cast<double>(draw(keys[row]) >> uniform_shift) < end;
    // A product, as a branch on chance is badly predicted.
    drawn[row] = static_cast<std::int64_t>(is_drawn) * (copies ? copies[row] : 1);
    any |= drawn[row];
  }
  if (any != 0) return;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const auto is_there = [&](std::int64_t row) { return !copies || copies[row] > 0; };
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (is_there(row)) least = std::min(least, draw(keys[row]));
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (is_there(row) && draw(keys[row]) == least) drawn[row] = copies ? copies[row] : 1;
}

}  // namespace weald::data
