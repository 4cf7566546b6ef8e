#include "target/leaf_sums.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "kernels/kernels.hpp"
#include "target/packing.hpp"
#include "target/row_blocks.hpp"

namespace weald::target {
namespace {

// The largest |value| of the rows of positive copies; NaN counts as larger than any number.
double largest_of(const double* values, const std::int64_t* copies, std::int64_t n_rows,
                  int n_threads) {
  double top = 0.0;
  std::mutex lock;
  for_row_blocks(n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
    double part = 0.0;
    bool has_negative;
    if (!copies) part = kernels::active().largest(values + begin, end - begin, &has_negative);
    double near[LossAt::near_rows];
    for (std::int64_t at = begin; copies && at < end; at += LossAt::near_rows) {
      const std::int64_t size = std::min(LossAt::near_rows, end - at);
      for (std::int64_t i = 0; i < size; ++i)
        near[i] = times_0_or_1(values[at + i], copies[at + i] > 0);
      part = Extremes::larger(part, kernels::active().largest(near, size, &has_negative));
    }
    const std::scoped_lock hold(lock);
    top = Extremes::larger(top, part);
  });
  return top;
}

struct LeafScales {
  FixedPoint gradient, hessian;

  explicit LeafScales(const LeafExtremes& all)
      : gradient(exponent_above(all.gradient), exact_bits),
        hessian(exponent_above(all.hessian), exact_bits) {
    if (!std::isfinite(all.gradient) || !std::isfinite(all.hessian))
      throw std::invalid_argument("gradients and hessians of a leaf must be finite");
  }
};

}  // namespace

LeafExtremes leaf_extremes(const double* gradient, const double* hessian,
                           const std::int64_t* copies, std::int64_t n_rows, int n_threads) {
  return {largest_of(gradient, copies, n_rows, n_threads),
          hessian ? largest_of(hessian, copies, n_rows, n_threads) : 1.0};
}

void add_leaf_sums(const double* gradient, const double* hessian, const std::int64_t* copies,
                   const Leaves& leaves, const LeafExtremes& all, LeafSum* sums, int n_threads) {
  const LeafScales fixed(all);
  const auto n_leaves = static_cast<std::size_t>(leaves.n_leaves);
  std::mutex lock;
  for_row_blocks(leaves.n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
    std::vector<LeafSum> part(n_leaves);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t times = copies ? copies[row] : 1;
      LeafSum& leaf = part[leaves.of_row[row]];
      leaf.gradient +=
          static_cast<Int128>(fixed.gradient(times_0_or_1(gradient[row], times > 0))) * times;
      const double own = hessian ? hessian[row] : 1.0;
      leaf.hessian += static_cast<Int128>(fixed.hessian(times_0_or_1(own, times > 0))) * times;
    }
    const std::scoped_lock hold(lock);
    for (std::size_t i = 0; i < n_leaves; ++i) {
      sums[i].gradient += part[i].gradient;
      sums[i].hessian += part[i].hessian;
    }
  });
}

void write_leaf_sums(const LeafSum* sums, std::int64_t n_leaves, const LeafExtremes& all,
                     double* gradients, double* hessians) {
  const LeafScales fixed(all);
  for (std::int64_t i = 0; i < n_leaves; ++i) {
    gradients[i] = to_double(sums[i].gradient, fixed.gradient.shift);
    hessians[i] = to_double(sums[i].hessian, fixed.hessian.shift);
  }
}

void leaf_sums(const double* gradient, const double* hessian, const std::int64_t* copies,
               const Leaves& leaves, double* gradients, double* hessians, int n_threads) {
  const LeafExtremes all = leaf_extremes(gradient, hessian, copies, leaves.n_rows, n_threads);
  std::vector<LeafSum> sums(static_cast<std::size_t>(leaves.n_leaves));
  add_leaf_sums(gradient, hessian, copies, leaves, all, sums.data(), n_threads);
  write_leaf_sums(sums.data(), leaves.n_leaves, all, gradients, hessians);
}

double newton_step(double gradient, double hessian, double l1, double l2) {
  const double sum = std::copysign(std::max(std::abs(gradient) - l1, 0.0), gradient);
  const double curvature = hessian + l2;
  return curvature > 0.0 ? -sum / curvature : 0.0;
}

void newton_steps(const double* gradient, const double* hessian, const std::int64_t* copies,
                  const Leaves& leaves, int n_scores, double l1, double l2, double* steps,
                  double* hessians, int n_threads) {
  const auto n = static_cast<std::size_t>(leaves.n_leaves);
  std::vector<double> sums(n), own(n);
  std::fill_n(hessians, n, 0.0);
  for (int k = 0; k < n_scores; ++k) {
    const std::int64_t first = k * leaves.n_rows;
    leaf_sums(gradient + first, hessian ? hessian + first : nullptr, copies, leaves, sums.data(),
              own.data(), n_threads);
    for (std::size_t i = 0; i < n; ++i) {
      hessians[i] += own[i];
      steps[i * n_scores + k] = newton_step(sums[i], own[i], l1, l2);
    }
  }
}

}  // namespace weald::target
