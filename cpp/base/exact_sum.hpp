// Sums of doubles that do not depend on the order of the terms: fixed point, 128-bit totals.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace weald {

__extension__ typedef __int128 Int128;

// 2^exponent without libm; the exponent is clamped to the range of normal doubles.
inline double power_of_two(int exponent) {
  const int clamped = exponent < -1022 ? -1022 : (exponent > 1023 ? 1023 : exponent);
  return std::bit_cast<double>(static_cast<std::uint64_t>(clamped + 1023) << 52);
}

// The least e with |x| < 2^e (x finite); -1074 for zero.
inline int exponent_above(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffULL;
  if (bits == 0) return -1074;
  if (const int biased = static_cast<int>(bits >> 52); biased != 0) return biased - 1022;
  return -1074 + static_cast<int>(std::bit_width(bits));
}

// x * 2^exponent; in two steps, because 2^exponent alone may lie outside the range of doubles.
inline double scale_by_power(double x, int exponent) {
  const int half = exponent / 2;
  return x * power_of_two(half) * power_of_two(exponent - half);
}

// x, or 0.0 if `once` is 0 and not 1, whatever x is. By a mask: which rows are drawn is chance, and
// a branch on chance is badly predicted.
inline double times_0_or_1(double x, std::int64_t once) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & -static_cast<std::uint64_t>(once));
}

// Doubles below 2^exponent in absolute value, as integers below 2^bits.
struct FixedPoint {
  double factors[2] = {1.0, 1.0};  // their product is 2^(bits - exponent)
  int shift = 0;                   // bits - exponent

  FixedPoint() = default;
  FixedPoint(int exponent, int bits) : shift(bits - exponent) {
    const int half = shift / 2;
    factors[0] = power_of_two(half);
    factors[1] = power_of_two(shift - half);
  }
  std::int64_t operator()(double x) const {
    // Round half to even; llrint is exact and machine-independent in the default rounding mode.
    return std::llrint(x * factors[0] * factors[1]);
  }
};

// Steps of 2^-60 of the largest term: a constant column sums to exactly n times its value.
constexpr int exact_bits = 60;

// Rounded once, to nearest; most nodes have few rows, so the total usually fits 64 bits.
inline double to_double(Int128 total) {
  const auto low = static_cast<std::int64_t>(total);
  return low == total ? static_cast<double>(low) : static_cast<double>(total);
}
inline double to_double(Int128 total, int shift) {
  return scale_by_power(to_double(total), -shift);
}

}  // namespace weald
