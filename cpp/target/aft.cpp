#include "target/aft.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/elementary.hpp"
#include "base/named_list.hpp"
#include "base/normal_tail.hpp"
#include "base/parallel.hpp"
#include "target/gradients.hpp"

namespace weald::target {
namespace {

// -log of the density (of an event at z) or of the chance to exceed z (of a censored row), and its
// first two derivatives by z.
struct Likelihood {
  double loss, slope, curvature;
};

struct Normal {
  static constexpr std::string_view name = "normal";
  static Likelihood event(double z) {
    constexpr double half_log_two_pi = 0.91893853320467274178;
    return {0.5 * z * z + half_log_two_pi, z, 1.0};
  }
  static Likelihood censored(double z) {
    const normal::Tail tail = normal::tail(z);
    const double curvature = tail.hazard * (tail.hazard - z);
    return {-tail.log_chance, tail.hazard, std::clamp(curvature, 0.0, 1.0)};
  }
};

// log(1 + e^z)
double softplus(double z) {
  const double size = z < 0.0 ? -z : z;
  return (z > 0.0 ? z : 0.0) + elementary::log1p(elementary::exp(-size));
}

struct Logistic {
  static constexpr std::string_view name = "logistic";
  static Likelihood event(double z) {
    const double p = elementary::sigmoid(z);
    return {2.0 * softplus(z) - z, 2.0 * p - 1.0, 2.0 * bound(z, p)};
  }
  static Likelihood censored(double z) {
    const double p = elementary::sigmoid(z);
    return {softplus(z), p, bound(z, p)};
  }

 private:
  // Curvature of the quadratic that touches log(1 + e^z) at z and is above it everywhere: the
  // curvature of the function itself vanishes far from 0, where Newton's step would explode.
  static double bound(double z, double p) { return z * z < 1e-8 ? 0.25 : (p - 0.5) / z; }
};

struct Extreme {
  static constexpr std::string_view name = "extreme";
  static Likelihood event(double z) {
    const double rate = elementary::exp(bounded(z));
    return {rate - z, rate - 1.0, rate};
  }
  static Likelihood censored(double z) {
    const double rate = elementary::exp(bounded(z));
    return {rate, rate, rate};
  }

 private:
  static double bounded(double z) { return std::clamp(z, -300.0, 300.0); }
};

using Distributions = NamedList<Normal, Logistic, Extreme>;

template <class F>
void with_distribution(std::string_view name, F&& visit) {
  if (!Distributions::with_name(name, visit)) throw std::invalid_argument("unknown distribution");
}

constexpr std::int64_t block = 4096;

template <class Body>
void for_rows(std::int64_t n_rows, int n_threads, Body&& body) {
  parallel_for((n_rows + block - 1) / block, n_rows < 2 * block ? 1 : n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t end = std::min(n_rows, (task + 1) * block);
                 for (std::int64_t row = task * block; row < end; ++row) body(row);
               });
}

// A row's likelihood in z = (log time - score) / scale.
template <class D>
Likelihood at(const AftRows& rows, std::int64_t row, double* log_time) {
  const double y = rows.y[row];
  *log_time = elementary::log(y > 0.0 ? y : -y);
  const double z = (*log_time - rows.scores[row]) / rows.scale;
  return y > 0.0 ? D::event(z) : D::censored(z);
}

}  // namespace

bool is_distribution(std::string_view name) {
  return Distributions::with_name(name, [](auto) {});
}

void aft_gradients(std::string_view distribution, const AftRows& rows, double* gradient,
                   double* hessian, int n_threads) {
  with_distribution(distribution, [&]<class D>(D) {
    for_rows(rows.n_rows, n_threads, [&](std::int64_t row) {
      double log_time;
      const Likelihood one = at<D>(rows, row, &log_time);
      const double weight = rows.weight ? rows.weight[row] : 1.0;
      gradient[row] = weight * (-one.slope / rows.scale);
      hessian[row] = weight * (one.curvature / (rows.scale * rows.scale));
    });
  });
}

double aft_mean_loss(std::string_view distribution, const AftRows& rows, int n_threads) {
  const auto n = static_cast<std::size_t>(rows.n_rows);
  std::vector<double> losses(n), mass(n);
  const double log_scale = elementary::log(rows.scale);
  with_distribution(distribution, [&]<class D>(D) {
    for_rows(rows.n_rows, n_threads, [&](std::int64_t row) {
      double log_time;
      const Likelihood one = at<D>(rows, row, &log_time);
      mass[row] = rows.weight ? rows.weight[row] : 1.0;
      // The density of the time is that of z, divided by scale * time.
      losses[row] = mass[row] * (one.loss + (rows.y[row] > 0.0 ? log_scale + log_time : 0.0));
    });
  });
  return exact_total(losses.data(), rows.copies, rows.n_rows) /
         exact_total(mass.data(), rows.copies, rows.n_rows);
}

void aft_log_survival(std::string_view distribution, const double* z, std::int64_t n, double* out,
                      int n_threads) {
  with_distribution(distribution, [&]<class D>(D) {
    for_rows(n, n_threads, [&](std::int64_t i) { out[i] = -D::censored(z[i]).loss; });
  });
}

}  // namespace weald::target
