// The exact mean of a number over rows, in steps: rows may lie in several parts, whose extremes
// (maxima) and sums (of integers) are merged before the next step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/exact_sum.hpp"

namespace weald::target {

// A number of each row; rows without copies do not count.
template <class T>
struct Terms {
  const T* values;
  const double* weight;        // null: 1 each
  const std::int64_t* copies;  // null: 1 each
  std::int64_t n_rows;

  bool counts(std::int64_t row) const { return !copies || copies[row] > 0; }
  double weight_of(std::int64_t row) const { return weight ? weight[row] : 1.0; }
  double term(std::int64_t row) const {
    const double value = values[row];
    return weight ? value * weight[row] : value;
  }
};

struct MeanExtremes {
  double term = 0.0, weight = 0.0;  // the largest size of value times weight, and weight
  double least = std::numeric_limits<double>::infinity(), most = -least;  // value

  // Whether the mean is known from the extremes alone.
  bool decide() const { return !(least < most) || !std::isfinite(term); }
};

struct MeanSums {
  Int128 terms = 0, weights = 0;
};

template <class T>
MeanExtremes mean_extremes(const Terms<T>& rows) {
  MeanExtremes all;
  for (std::int64_t row = 0; row < rows.n_rows; ++row) {
    if (!rows.counts(row)) continue;
    const double value = rows.values[row];
    all.term = std::max(all.term, std::abs(rows.term(row)));
    all.weight = std::max(all.weight, rows.weight_of(row));
    all.least = std::min(all.least, value);
    all.most = std::max(all.most, value);
  }
  return all;
}

template <class T>
MeanSums mean_sums(const Terms<T>& rows, const MeanExtremes& all) {
  const FixedPoint fixed(exponent_above(all.term), exact_bits);
  const FixedPoint fixed_weight(exponent_above(all.weight), exact_bits);
  MeanSums sums;
  for (std::int64_t row = 0; row < rows.n_rows; ++row) {
    if (!rows.counts(row)) continue;
    const std::int64_t times = rows.copies ? rows.copies[row] : 1;
    sums.terms += static_cast<Int128>(fixed(rows.term(row))) * times;
    sums.weights += static_cast<Int128>(fixed_weight(rows.weight_of(row))) * times;
  }
  return sums;
}

// NaN if there are no rows.
inline double mean_of(const MeanExtremes& all, const MeanSums& sums) {
  if (all.least == all.most) return all.least;
  if (!(all.least < all.most)) return std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(all.term)) return std::numeric_limits<double>::infinity();
  return to_double(sums.terms, exact_bits - exponent_above(all.term)) /
         to_double(sums.weights, exact_bits - exponent_above(all.weight));
}

template <class T>
double exact_mean(const Terms<T>& rows) {
  const MeanExtremes all = mean_extremes(rows);
  return mean_of(all, all.decide() ? MeanSums{} : mean_sums(rows, all));
}

}  // namespace weald::target
