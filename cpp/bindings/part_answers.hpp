// What parts and the grower that asks them exchange, as arrays.
//
// Answers are tuples of arrays that merge one by one: int64 arrays by sums, float64 arrays by
// maxima. A 128-bit sum is four integers of 32 bits, the last one signed: their sums over parts
// fit.
#pragma once

#include <cstdint>
#include <optional>

#include "bindings/border.hpp"
#include "bindings/limbs.hpp"
#include "target/packing.hpp"

namespace weald::bindings {

// Copies of a row: weald.data.rows.MOST_COPIES.
constexpr std::int64_t most_copies = std::int64_t{1} << 36;

// A division as [node, left child, column, bin, missing left, counts left, looks on].
constexpr int division_size = 7;

// Extremes as [largest weight, largest sum, whether a weight is negative, most copies of a row] and
// [copies].
inline target::Extremes extremes_of(const Vector<double>& most, std::int64_t copies) {
  require(most.shape(0) == 4 && copies >= 0, "extremes must hold four numbers");
  require(most.data()[3] >= 1.0 && most.data()[3] <= static_cast<double>(most_copies),
          "copies are out of range");
  target::Extremes all;
  all.weight = most.data()[0];
  all.sum = most.data()[1];
  all.has_negative_weight = most.data()[2] != 0.0;
  all.copies = copies;
  all.most_copies = static_cast<std::int64_t>(most.data()[3]);
  return all;
}
inline std::vector<double> numbers_of(const target::Extremes& all) {
  return {all.weight, all.sum, all.has_negative_weight ? 1.0 : 0.0,
          static_cast<double>(all.most_copies)};
}

// Coarse sums: positive, negative, those of h, and the limbs of the squares.
constexpr int n_coarse = 3 + n_limbs;
inline Integers numbers_of(const target::Coarse& coarse) {
  Integers numbers{coarse.positive, coarse.negative, coarse.weight};
  add_limbs(numbers, coarse.squares);
  return numbers;
}
inline target::Coarse coarse_of(const Integers& numbers) {
  target::Coarse coarse;
  coarse.positive = numbers[0];
  coarse.negative = numbers[1];
  coarse.weight = numbers[2];
  coarse.squares = of_limbs(numbers.data() + 3);
  return coarse;
}

// As [sum exponent, weight exponent, sum bits, weight bits, rows of a block]; empty: no words.
inline Integers numbers_of(const std::optional<target::Rounding>& rounding) {
  if (!rounding) return {};
  return {rounding->sum_exponent, rounding->weight_exponent, rounding->sum_bits,
          rounding->weight_bits, rounding->rows_of_block};
}

inline std::optional<target::Rounding> rounding_of(const Vector<std::int64_t>& numbers) {
  if (numbers.shape(0) == 0) return {};
  require(numbers.shape(0) == 5, "a rounding has five numbers");
  const std::int64_t* const n = numbers.data();
  for (int i = 0; i < 4; ++i) require(n[i] >= -2000 && n[i] <= 2000, "a rounding is out of range");
  require(n[4] >= 0, "a rounding is out of range");
  return target::Rounding{static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2]),
                          static_cast<int>(n[3]), n[4]};
}

}  // namespace weald::bindings
