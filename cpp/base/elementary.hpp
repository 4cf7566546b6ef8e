// exp, log, log2, log1p and sigmoid with the same bits on every machine.
//
// libm and numpy choose other algorithms on other instruction sets, so none of their results may
// enter a model. These functions use only + - * /, comparisons and integer steps, so their bits
// follow from the source and IEEE 754: with round-to-nearest, subnormals, no -ffast-math and no
// contraction to fma (-ffp-contract=off).
//
// Nothing branches, so that g++ vectorises a loop over an array even for SSE2, and a lane of a
// vector does what the scalar does. Three things would prevent it, hence the detours:
//   - SSE2 and AVX2 do not convert between double and int64: integers are read from and written to
//     the low bits of a double so large that its spacing is 1;
//   - a computed arm of `c ? a : b` may be moved into a branch, and stays there since it may trap:
//     arms are constants or arguments, and special cases are added, or masked in, at the end;
//   - SSE2 has no mask from a comparison of int64: it is made from the sign bit of a difference.
//
// All are below 1 ulp and non-decreasing on every sample tried (tests/native/test_elementary.py).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "base/types.hpp"

namespace weald::elementary {

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts: the first has 41 bits, so its product with an exponent (11 bits) is exact.
inline constexpr double ln2_high = 0x1.62e42fefa4p-1;
inline constexpr double ln2_low = -0x1.8432a1b0e2634p-43;

inline constexpr std::uint64_t sign_mask = 0x8000000000000000;
// Leaves 26 bits of a significand, so that the product of two such numbers is exact.
inline constexpr std::uint64_t upper_half = 0xfffffffff8000000;

WEALD_HOST_DEVICE constexpr std::uint64_t to_bits(double x) {
  return std::bit_cast<std::uint64_t>(x);
}
WEALD_HOST_DEVICE constexpr double from_bits(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

// The mask starts as a double because g++ vectorises selection of doubles, but not of integers, for
// SSE2.
WEALD_HOST_DEVICE inline double select(bool condition, double yes, double no) {
  constexpr double all_ones = from_bits(~std::uint64_t{0});
  const std::uint64_t mask = to_bits(condition ? all_ones : 0.0);
  return from_bits((to_bits(yes) & mask) | (to_bits(no) & ~mask));
}

// x = 2^exponent * mantissa, mantissa in [sqrt(1/2), sqrt(2)), so that log x near 1 is not a
// difference of larger numbers. For positive, finite x; any other bits give some finite result.
struct SplitDouble {
  double exponent;
  double mantissa;
  double scale;  // 2^-exponent for normal x below 2^1023
};

WEALD_HOST_DEVICE inline SplitDouble split(double x) {
  constexpr std::uint64_t one = to_bits(1.0);
  // A subnormal x is multiplied by 2^64, all others by 1, and 64 is taken back from the exponent.
  const std::uint64_t subnormal = (to_bits(x) - to_bits(0x1p-1022)) >> 63;
  const std::uint64_t bits = to_bits(x * from_bits(one + (subnormal << 58)));
  // Moves the steps of the exponent field from the powers of two to sqrt(2) times these.
  const std::uint64_t moved = bits + (one - to_bits(0x1.6a09e667f3bcdp-1));
  const std::uint64_t offset = (moved & 0xfff0000000000000) - one;
  constexpr double shift = 0x1.8p52;  // spacing 1
  const std::uint64_t shifted = to_bits(shift) + (moved >> 52) - (subnormal << 6);
  return {from_bits(shifted) - (shift + 1023), from_bits(bits - offset), from_bits(one - offset)};
}

// log(1 + f) = f - half_square + rest for 1 + f in [sqrt(1/2), sqrt(2)).
// With s = f / (2 + f): log(1 + f) = 2 atanh(s) = 2s + s * tail(s^2), and 2s = f - s * f, where
// s * f = half_square - s * half_square. So the rounding of the quotient s enters only terms of
// third order: f is exact and half_square is rounded once.
struct Log1pTerms {
  double half_square;
  double rest;
};

WEALD_HOST_DEVICE inline Log1pTerms log1p_terms(double f) {
  const double half_square = 0.5 * f * f;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  // Minimax for (2 atanh(s) - 2s) / s on |s| <= (sqrt(2) - 1) / (sqrt(2) + 1); error of the
  // logarithm below 2^-59 of itself. Even and odd terms apart: half the latency.
  const double even =
      w * (0x1.999999997fdb1p-2 + w * (0x1.c71c52090a4e6p-3 + w * 0x1.39a1b8c72e9e9p-3));
  const double odd =
      z * (0x1.5555555555592p-1 +
           w * (0x1.24924941f1835p-2 + w * (0x1.74663efa91d79p-3 + w * 0x1.2f057819ebcc8p-3)));
  return {half_square, s * (half_square + (even + odd))};
}

// exponent * ln 2 + log(1 + f + f_error), small terms first; f_error is below half an ulp of f, so
// that its factor 1 / (1 + f) does not count.
WEALD_HOST_DEVICE inline double join_log(double exponent, double f, double f_error) {
  const auto [half_square, rest] = log1p_terms(f);
  return exponent * ln2_high - ((half_square - (rest + (exponent * ln2_low + f_error))) - f);
}

// Correction to add to a computed log x: 0, or the special value for x <= 0, infinity and NaN.
WEALD_HOST_DEVICE inline double log_edge(double x) {
  const double above = x == infinity ? infinity : 0.0;
  const double below = x == 0 ? -infinity : quiet_nan;
  return x > 0 ? above : below;
}

// e^x = (high + low) * scale_1 * scale_2, where low is what rounding to high lost.
struct Power {
  double high;
  double low;
  double scale_1;
  double scale_2;
};

WEALD_HOST_DEVICE inline Power power(double x) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  // Beyond these bounds the last product rounds to 0 or infinity. NaN passes and stays NaN.
  x = select(x < -746.0, -746.0, x);
  x = select(x > 710.0, 710.0, x);

  // x = k ln 2 + r, |r| <= ln(2) / 2. Adding 1.5 * 2^52 rounds to an integer and leaves it in the
  // low bits; 2046 more makes it positive and is the bias of two exponents.
  constexpr double shift = 0x1.8p52 + 2046;
  const double shifted = x * log2_e + shift;
  const double k = shifted - shift;
  const double r_high = x - k * ln2_high;  // exact, both product and difference
  const double r_low = k * ln2_low;
  const double r = r_high - r_low;
  const double r_error = (r_high - r) - r_low;

  // e^r = 1 + r + r^2/2 + r^3 tail(r), minimax, error below 2^-63; pairs halve the latency.
  const double square = r * r;
  const double tail =
      (0x1.555555555555ap-3 + r * 0x1.5555555555531p-5) +
      square * ((0x1.111111110efc2p-7 + r * 0x1.6c16c16c26fe5p-10) +
                square * ((0x1.a01a01b26920dp-13 + r * 0x1.a01a01527cc1dp-16) +
                          square * ((0x1.71ddf27032786p-19 + r * 0x1.27e58cf035dbfp-22) +
                                    square * (0x1.af6860b85da57p-26 + r * 0x1.1e671589a8c8fp-29))));
  const double higher = 0.5 * square + (r * square) * tail;
  // The rounding errors of 1 + r and of r are added back: what is left before the last rounding is
  // less than the distance of the results of two neighbouring x, so that exp is non-decreasing.
  const double sum = 1 + r;
  const double sum_error = (1 - sum) + r;
  const double rest = sum_error + (higher + r_error);
  const double high = sum + rest;
  const double low = (sum - high) + rest;

  // 2^k in two halves, for 2^k itself may be no normal double. A product with the first half is
  // exact, so that a subnormal result is rounded once, by the second.
  const std::uint64_t biased = to_bits(shifted) & 0xfff;
  const std::uint64_t half = biased >> 1;
  return {high, low, from_bits(half << 52), from_bits((biased - half) << 52)};
}

}  // namespace detail

WEALD_HOST_DEVICE inline double exp(double x) {
  const detail::Power p = detail::power(x);
  return p.high * p.scale_1 * p.scale_2;
}

// Natural logarithm: -infinity at 0, NaN below.
WEALD_HOST_DEVICE inline double log(double x) {
  using namespace detail;
  const SplitDouble parts = split(x);
  return join_log(parts.exponent, parts.mantissa - 1, 0) + log_edge(x);
}

// Logarithm to base 2, exact for powers of two: -infinity at 0, NaN below.
WEALD_HOST_DEVICE inline double log2(double x) {
  using namespace detail;
  // 1 / ln 2; the first part has 32 bits.
  constexpr double high = 0x1.71547652p+0;
  constexpr double low = 0x1.705fc2eefa2p-33;
  const SplitDouble parts = split(x);
  const double k = parts.exponent;
  const double f = parts.mantissa - 1;
  const auto [half_square, rest] = log1p_terms(f);
  // log(mantissa) in two parts, the first cut to 21 bits: its product with `high` is exact.
  const double log_high = from_bits(to_bits(f - half_square) & 0xffffffff00000000);
  const double log_low = ((f - log_high) - half_square) + rest;
  const double scaled_high = log_high * high;
  const double scaled_low = (log_low + log_high) * low + log_low * high;
  const double sum = k + scaled_high;
  const double sum_error = (k - sum) + scaled_high;
  return (sum + (sum_error + scaled_low)) + log_edge(x);
}

// log(1 + x), accurate near 0: -infinity at -1, NaN below.
WEALD_HOST_DEVICE inline double log1p(double x) {
  using namespace detail;
  const double u = 1 + x;
  const auto [exponent, mantissa, scale] = split(u);
  // What the rounding of u lost, as a part of mantissa; 0 for large x, where it does not count and
  // where scale or infinity may make it NaN.
  const std::uint64_t small = 0 - (((to_bits(x) & ~sign_mask) - to_bits(0x1p60)) >> 63);
  const double lost = from_bits(to_bits((x - (u - 1)) * scale) & small);
  const double f = (mantissa - 1) + lost;  // exactly x for exponent 0
  const double f_error = ((mantissa - 1) - f) + lost;
  const double result = join_log(exponent, f, f_error) + log_edge(u);
  return from_bits(to_bits(result) | (to_bits(x) & sign_mask));  // -0 stays -0
}

// 1 / (1 + e^-x). Below 0 it is q = e / (1 + e) with e = e^-|x|, above it is 1 - q: e never
// overflows and both sides keep their relative accuracy.
WEALD_HOST_DEVICE inline double sigmoid(double x) {
  using namespace detail;
  const Power p = power(from_bits(to_bits(x) | sign_mask));
  const double e = p.high * p.scale_1 * p.scale_2;
  const double e_low = p.low * p.scale_1 * p.scale_2;
  // One step of long division: the first 26 bits of q, then the remainder e - q_high * (1 + e) from
  // exact differences and products, divided by 1 + e, that is multiplied by 1 - q.
  const double q = e / (1 + e);
  const double q_high = from_bits(to_bits(q) & upper_half);
  const double e_high = from_bits(to_bits(e) & upper_half);
  const double remainder = ((e - q_high) - q_high * e_high) - q_high * (e - e_high);
  const double q_low = (remainder + e_low * (1 - q)) * (1 - q);
  // 0 + q or 1 - q, by the sign of x.
  const std::uint64_t negative = to_bits(x) >> 63;
  const double base = from_bits(to_bits(1.0) & (negative - 1));
  const double signed_q = from_bits(to_bits(q_high + q_low) ^ (~to_bits(x) & sign_mask));
  return base + signed_q;
}

}  // namespace weald::elementary
