// What the kernel of ranking losses reads: the rows of a query, and how much each pair matters.
#pragma once

#include <cstdint>

namespace weald::kernels {

// Rows that are read and written behind the last one.
constexpr std::int64_t pair_padding = 8;

// A pair of rows i < j weighs |gain_i - gain_j| * (ahead_i + behind_j): what its exchange changes.
// With `counts_pairs` it weighs 1 if the gains differ. `strength` is exp(score + a constant), so
// that strength_i / (strength_i + strength_j) is the probability that i is ranked before j.
//
// All arrays have room for `pair_padding` rows behind the last one, which hold numbers, of strength
// 1: what is written there means nothing.
struct RankedRows {
  const double* score;     // does not increase; read if `damps`
  double* gain;            // the kernel fills the padding with that of row i: no pair weighs
  const double* strength;  // positive; products of two are normal doubles
  const double* ahead;     // not read if `counts_pairs`; likewise `behind`
  const double* behind;
  std::int64_t n;
  bool counts_pairs;
  bool damps;  // divide the weight of a pair by 0.01 + the difference of its scores
};

}  // namespace weald::kernels
