#include "explain/quadrature.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace weald::explain {
namespace {

// The Legendre polynomial of degree n at x, and its derivative.
std::pair<double, double> legendre(int n, double x) {
  double before = 1.0, here = x;
  for (int k = 2; k <= n; ++k)
    before = std::exchange(here, ((2 * k - 1) * x * here - (k - 1) * before) / k);
  return {here, n * (x * here - before) / (x * x - 1.0)};
}

}  // namespace

// Newton's method from the usual first guess; the roots are symmetric about 0.
Quadrature::Quadrature(int n)
    : points(static_cast<std::size_t>(n)), weights(static_cast<std::size_t>(n)) {
  for (int i = 0; i < n; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1.0;
    for (int step = 0; step < 100; ++step) {
      const auto [value, derivative] = legendre(n, x);
      slope = derivative;
      const double change = value / slope;
      x -= change;
      if (std::fabs(change) <= 1e-16) break;
    }
    slope = legendre(n, x).second;
    points[i] = 0.5 * (1.0 + x);
    weights[i] = 1.0 / ((1.0 - x * x) * slope * slope);
  }
}

}  // namespace weald::explain
