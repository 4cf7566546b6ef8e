// Gauss-Legendre quadrature on [0, 1].
#pragma once

#include <vector>

namespace weald::explain {

// n points integrate polynomials up to degree 2n - 1 exactly; the points are inside (0, 1).
struct Quadrature {
  explicit Quadrature(int n);

  std::vector<double> points, weights;
};

}  // namespace weald::explain
