#include "rotation/jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.hpp"

namespace weald::rotation {
namespace {

constexpr int most_sweeps = 64;  // a dozen is usual

// Relative size below which clearing an entry would not change the variances.
constexpr double negligible = 0x1p-54;

// Clears entry (p, q) of the matrix and rotates columns p and q of the vectors.
void clear_entry(double* a, double* vectors, int n, int p, int q) {
  const double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
  const double t = (theta < 0.0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
  const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
  const auto rotate = [c, s](double& x, double& y) {
    const double before = x;
    x = c * before - s * y;
    y = s * before + c * y;
  };
  const double step = t * a[p * n + q];
  a[p * n + p] -= step;
  a[q * n + q] += step;
  a[p * n + q] = a[q * n + p] = 0.0;
  for (int k = 0; k < n; ++k) {
    rotate(vectors[k * n + p], vectors[k * n + q]);
    if (k == p || k == q) continue;
    rotate(a[k * n + p], a[k * n + q]);
    a[p * n + k] = a[k * n + p];
    a[q * n + k] = a[k * n + q];
  }
}

// Returns whether an entry was cleared.
bool sweep(double* a, double* vectors, int n) {
  bool moved = false;
  for (int p = 0; p + 1 < n; ++p) {
    if (interrupted()) throw Interrupted{};
    for (int q = p + 1; q < n; ++q) {
      const double entry = std::abs(a[p * n + q]);
      if (entry <= negligible * std::sqrt(std::abs(a[p * n + p] * a[q * n + q]))) continue;
      clear_entry(a, vectors, n, p, q);
      moved = true;
    }
  }
  return moved;
}

}  // namespace

void principal_axes(double* covariance, int n, double* axes) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> vectors(size * size, 0.0);
  for (int i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
  for (int i = 0; i < most_sweeps && sweep(covariance, vectors.data(), n); ++i) {
  }
  std::vector<int> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return covariance[a * n + a] > covariance[b * n + b]; });
  for (int c = 0; c < n; ++c) {
    const int from = order[c];
    int largest = 0;
    for (int i = 1; i < n; ++i)
      if (std::abs(vectors[i * n + from]) > std::abs(vectors[largest * n + from])) largest = i;
    const double sign = vectors[largest * n + from] < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < n; ++i) axes[i * n + c] = sign * vectors[i * n + from];
  }
}

}  // namespace weald::rotation
