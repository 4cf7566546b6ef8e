// One number g and one weight h of every row, as one 64-bit word: what packed histograms add.
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

// The largest absolute values among the rows seen, and how many copies these are.
struct Extremes {
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  double weight = 0.0, sum = 0.0;
  double least = infinite;  // of the largest of each row that are not 0, where that is asked for
  std::int64_t copies = 0;
  bool has_negative_weight = false;

  void take(const Extremes& part) {
    weight = larger(weight, part.weight);
    sum = larger(sum, part.sum);
    least = std::min(least, part.least);
    copies += part.copies;
    has_negative_weight |= part.has_negative_weight;
  }
  // The larger of two sizes; a NaN counts as larger than all numbers, so that it is found.
  static double larger(double size, double x) {
    const double other = std::abs(x);
    return other <= size ? size : other;
  }
};

// Rows that count once each, or not at all.
struct Pairs {
  const double* g;
  const double* h;             // null: 1 each
  const std::int64_t* copies;  // null: 1 each; otherwise 0 or 1
  std::int64_t n_rows;
  const LossAt* of_loss;  // computes g and h, if not null; then these are

  bool counts_copies() const { return of_loss ? !of_loss->has_hessian : h == nullptr; }
};

// How words are rounded: g and h lie below 2^exponent and become integers below 2^bits.
struct Rounding {
  int sum_exponent = 0, weight_exponent = 0, sum_bits = 0, weight_bits = 0;

  FixedPoint sum() const { return {sum_exponent, sum_bits}; }
  FixedPoint weight() const { return {weight_exponent, weight_bits}; }
  bool operator==(const Rounding&) const = default;
};

// Sums over copies of the values rounded to coarse_bits: they tell how many bits each may have.
struct Coarse {
  static constexpr int bits = 20;
  std::int64_t positive = 0, negative = 0, weight = 0;  // of g by sign, and of h
  Int128 squares = 0;

  // CoarseSums of a block, or another Coarse.
  void add(const auto& part) {
    positive += part.positive;
    negative += part.negative;
    weight += part.weight;
    squares += part.squares;
  }
};

// As many bits as keep every sum of g and of h within its 32: nothing if that makes a step larger
// than 2^-8 of the root mean square of g or of the mean of h, unless it `must` be. Without weights
// (`counts_copies`) h is 1 and stays so.
std::optional<Rounding> rounding_for(const Extremes& all, const Coarse& coarse, int sum_exponent,
                                     int weight_exponent, bool counts_copies, bool must);

// Packs the rows of tree after tree. From one to the next the largest values hardly change, so the
// first pass over the rows takes it for granted that they are rounded as before and already writes
// the words; if they are not, nothing of that is used.
class Packing {
 public:
  Extremes look(const Pairs& rows, std::int64_t* words, int n_threads);

  // Writes words[row] of the rows that `look` has just seen; nothing, and no words, as above.
  std::optional<Rounding> pack(const Pairs& rows, const Extremes& all, bool must,
                               std::int64_t* words, int n_threads);

  std::int64_t total() const { return total_; }  // of all words

 private:
  Coarse coarse(const Pairs& rows, const Rounding& rounding, int n_threads) const;

  Rounding last_;            // of the tree before; no bits: there was none
  bool is_as_last_ = false;  // the values of `look` fit
  Coarse coarse_;
  std::int64_t total_ = 0;
};

}  // namespace weald::target
