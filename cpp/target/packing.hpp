// Packs the gradient g and hessian h of a row into one 64-bit word for histograms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/exact_sum.hpp"
#include "kernels/kernels.hpp"
#include "target/loss_at.hpp"

namespace weald::target {

// Maximum absolute values among the rows in use, and their number of copies.
struct Extremes {
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  double weight = 0.0, sum = 0.0;
  double least = infinite;                   // smallest non-zero maximum of a row, if requested
  std::int64_t copies = 0, most_copies = 1;  // of all rows, and at most of one
  bool has_negative_weight = false;

  void take(const Extremes& part) {
    weight = larger(weight, part.weight);
    sum = larger(sum, part.sum);
    least = std::min(least, part.least);
    copies += part.copies;
    most_copies = std::max(most_copies, part.most_copies);
    has_negative_weight |= part.has_negative_weight;
  }
  // Maximum of two magnitudes; NaN compares largest, so that it is detected.
  static double larger(double size, double x) {
    const double other = std::abs(x);
    return other <= size ? size : other;
  }
};

// Rows that occur once or not at all.
struct Pairs {
  const double* g;
  const double* h;             // null: 1 each
  const std::int64_t* copies;  // null: 1 each; otherwise 0 or 1
  std::int64_t n_rows;
  const LossAt* of_loss;  // computes g and h if not null; then these are null

  bool counts_copies() const { return of_loss ? !of_loss->has_hessian : h == nullptr; }
};

// Fixed-point format of words: g and h are below 2^exponent and become integers below 2^bits.
struct Rounding {
  int sum_exponent = 0, weight_exponent = 0, sum_bits = 0, weight_bits = 0;
  // The sums of so many rows fit a packed cell, those of all rows need a wide one; 0: those of all
  // fit.
  std::int64_t rows_of_block = 0;

  FixedPoint sum() const { return {sum_exponent, sum_bits}; }
  FixedPoint weight() const { return {weight_exponent, weight_bits}; }
};

// Sums over copies of values rounded to coarse_bits; they determine how many bits each may have.
struct Coarse {
  static constexpr int bits = 20;
  std::int64_t positive = 0, negative = 0, weight = 0;  // of g by sign, and of h
  Int128 squares = 0;

  // Add the CoarseSums of a block, or another Coarse.
  void add(const auto& part) {
    positive += part.positive;
    negative += part.negative;
    weight += part.weight;
    squares += part.squares;
  }
};

// Which words the caller wants, whatever their steps.
enum class Words { automatic, for_packed_cells, for_blocks };

// The most bits for which every sum of g and of h fits its 32 bits, or else every sum of the rows
// of a block; nothing if a step then exceeds 2^-8 of the root mean square of g or of the mean of h.
// Without weights (`counts_copies`) h is exactly 1.
std::optional<Rounding> rounding_for(const Extremes& all, const Coarse& coarse, int sum_exponent,
                                     int weight_exponent, bool counts_copies, Words words);

Extremes extremes_of(const Pairs& rows, int n_threads);

// The coarse sums of the rows; scales are given by two exponents.
Coarse coarse_of(const Pairs& rows, int sum_exponent, int weight_exponent, int n_threads);

// Sums of the integers of words.
struct WordSums {
  std::int64_t g = 0, h = 0;

  void add(const WordSums& more) {
    g += more.g;
    h += more.h;
  }
};

// Writes words[row]; returns their sums.
WordSums pack_pairs(const Pairs& rows, const Rounding& rounding, std::int64_t* words,
                    int n_threads);

}  // namespace weald::target
