// Tail of the normal distribution from elementary functions, with the same bits on every machine.
#pragma once

#include "base/elementary.hpp"

namespace weald::normal {

namespace detail {

// W. J. Cody's rational approximations of the error function (Math. Comp. 23, 1969), relative
// error below 1e-15: e^(x^2) erfc(x) for x >= 0.46875, and erf(x) below.
template <int n>
double ratio(double x, const double (&p)[n], const double (&q)[n - 1]) {
  double top = p[n - 1] * x, bottom = x;
  for (int i = 0; i < n - 2; ++i) {
    top = (top + p[i]) * x;
    bottom = (bottom + q[i]) * x;
  }
  return (top + p[n - 2]) / (bottom + q[n - 2]);
}

inline double small_erf(double x) {
  static constexpr double p[] = {3.16112374387056560e00, 1.13864154151050156e02,
                                 3.77485237685302021e02, 3.20937758913846947e03,
                                 1.85777706184603153e-1};
  static constexpr double q[] = {2.36012909523441209e01, 2.44024637934444173e02,
                                 1.28261652607737228e03, 2.84423683343917062e03};
  return x * ratio(x * x, p, q);
}

inline double scaled_erfc(double x) {
  if (x <= 4.0) {
    static constexpr double p[] = {
        5.64188496988670089e-1, 8.88314979438837594e00, 6.61191906371416295e01,
        2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03,
        2.05107837782607147e03, 1.23033935479799725e03, 2.15311535474403846e-8};
    static constexpr double q[] = {1.57449261107098347e01, 1.17693950891312499e02,
                                   5.37181101862009858e02, 1.62138957456669019e03,
                                   3.29079923573345963e03, 4.36261909014324716e03,
                                   3.43936767414372164e03, 1.23033935480374942e03};
    return ratio(x, p, q);
  }
  static constexpr double p[] = {3.05326634961232344e-1, 3.60344899949804439e-1,
                                 1.25781726111229246e-1, 1.60837851487422766e-2,
                                 6.58749161529837803e-4, 1.63153871373020978e-2};
  static constexpr double q[] = {2.56852019228982242e00, 1.87295284992346725e00,
                                 5.27905102951428412e-1, 6.05183413124413191e-2,
                                 2.33520497626869185e-3};
  constexpr double one_over_root_pi = 0.56418958354775628695;
  const double inverse = 1.0 / (x * x);
  return (one_over_root_pi - inverse * ratio(inverse, p, q)) / x;
}

}  // namespace detail

// The chance that a standard normal number exceeds z, as a logarithm, and its hazard: the density
// at z divided by that chance.
struct Tail {
  double log_chance, hazard;
};

inline Tail tail(double z) {
  constexpr double root_half = 0.70710678118654752440, root_two_over_pi = 0.79788456080286535588;
  const double x = z * root_half;
  // 2 * chance = erfc(x) = e^(-x^2) * scaled_erfc(x)
  if (x >= 0.46875) {
    const double scaled = detail::scaled_erfc(x);
    return {elementary::log(0.5 * scaled) - x * x, root_two_over_pi / scaled};
  }
  const double density = elementary::exp(-x * x);
  const double below =
      x > -0.46875 ? detail::small_erf(x) : density * detail::scaled_erfc(-x) - 1.0;  // erf(x)
  const double log_chance = elementary::log1p(-0.5 * (1.0 + below));
  return {log_chance, root_two_over_pi * density / (1.0 - below)};
}

}  // namespace weald::normal
