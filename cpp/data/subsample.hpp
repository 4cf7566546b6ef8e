// Row subsampling: each row is drawn with the same probability.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/draws.hpp"
#include "kernels/kernels.hpp"

namespace weald::data {

// How often each row is drawn: `copies` (null: once) if its random number is below `fraction`, else
// 0. False if that leaves none.
inline bool draw_rows(const Hash128* keys, const std::int64_t* copies, std::int64_t n_rows,
                      double fraction, const DrawKey& draw, std::int64_t* drawn) {
  const auto limit = static_cast<std::uint64_t>(std::ceil(fraction / uniform_step));
  return kernels::active().draw_rows(keys, copies, n_rows, draw, limit, drawn) != 0;
}

// The same; if that leaves none, the rows of the least number are drawn.
inline void subsample(const Hash128* keys, const std::int64_t* copies, std::int64_t n_rows,
                      double fraction, const DrawKey& draw, std::int64_t* drawn) {
  if (draw_rows(keys, copies, n_rows, fraction, draw, drawn)) return;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const auto is_there = [&](std::int64_t row) { return !copies || copies[row] > 0; };
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (is_there(row)) least = std::min(least, draw(keys[row]));
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (is_there(row) && draw(keys[row]) == least) drawn[row] = copies ? copies[row] : 1;
}

// The draw of a round in which some rows are held out (null: none): how often each other row is
// drawn, and which rows are drawn among all of them. At least one row is, of each.
inline void subsample(const Hash128* keys, const std::int64_t* copies, const bool* held_out,
                      std::int64_t n_rows, double fraction, const DrawKey& draw,
                      std::int64_t* drawn, std::uint8_t* is_drawn_of_all) {
  subsample(keys, copies, n_rows, fraction, draw, drawn);
  for (std::int64_t row = 0; row < n_rows; ++row) is_drawn_of_all[row] = drawn[row] > 0;
  if (!held_out) return;
  std::int64_t any = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    drawn[row] *= !held_out[row];
    any |= drawn[row];
  }
  if (any != 0) return;
  std::vector<std::int64_t> others(static_cast<std::size_t>(n_rows));
  for (std::int64_t row = 0; row < n_rows; ++row)
    others[row] = held_out[row] ? 0 : (copies ? copies[row] : 1);
  subsample(keys, others.data(), n_rows, fraction, draw, drawn);
}

}  // namespace weald::data
