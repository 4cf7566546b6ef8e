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
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  bool is_empty = true;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const std::int64_t count = copies ? copies[row] : 1;
    drawn[row] = 0;
    if (count <= 0) continue;
    const std::uint64_t word = draw(keys[row]);
    least = std::min(least, word);
    if (static_cast<double>(word >> uniform_shift) >= end) continue;
    drawn[row] = count;
    is_empty = false;
  }
  for (std::int64_t row = 0; is_empty && row < n_rows; ++row) {
    const std::int64_t count = copies ? copies[row] : 1;
    if (count > 0 && draw(keys[row]) == least) drawn[row] = count;
  }
}

}  // namespace weald::data
