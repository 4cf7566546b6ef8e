#include "boosting.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "exact_sum.hpp"
#include "kernels/kernels.hpp"
#include "losses/losses.hpp"
#include "parallel.hpp"

namespace weald {
namespace {

constexpr std::int64_t block = 8192;

// Runs body(begin, end) over blocks of rows.
template <class Body>
void for_row_blocks(std::int64_t n_rows, int n_threads, Body&& body) {
  parallel_for(
      (n_rows + block - 1) / block, n_rows < 2 * block ? 1 : n_threads,
      [&](std::int64_t task, int) { body(task * block, std::min(n_rows, (task + 1) * block)); });
}

template <class F>
void with_loss(std::string_view name, F&& visit) {
  if (!AllLosses::with_name(name, visit)) throw std::invalid_argument("unknown loss");
}

// Exact mean of values[row] over copies and weights; values must be finite.
double exact_mean(const double* values, const double* weight, const std::int64_t* copies,
                  std::int64_t n_rows) {
  double top = 0.0, top_weight = 0.0, low = 0.0, high = 0.0;
  bool first = true;
  const auto seen = [&](std::int64_t row) { return !copies || copies[row] > 0; };
  const auto term = [&](std::int64_t row) {
    return weight ? values[row] * weight[row] : values[row];
  };
  for (std::int64_t row = 0; row < n_rows; ++row) {
    if (!seen(row)) continue;
    if (weight) top_weight = std::max(top_weight, weight[row]);
    top = std::max(top, std::abs(term(row)));
    low = first ? values[row] : std::min(low, values[row]);
    high = first ? values[row] : std::max(high, values[row]);
    first = false;
  }
  if (first) return std::numeric_limits<double>::quiet_NaN();
  if (low == high) return low;
  if (!std::isfinite(top)) return std::numeric_limits<double>::infinity();
  const FixedPoint fixed(exponent_above(top), exact_bits);
  const FixedPoint fixed_weight(exponent_above(weight ? top_weight : 1.0), exact_bits);
  Int128 total = 0, mass = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    if (!seen(row)) continue;
    const std::int64_t times = copies ? copies[row] : 1;
    total += static_cast<Int128>(fixed(term(row))) * times;
    mass += static_cast<Int128>(fixed_weight(weight ? weight[row] : 1.0)) * times;
  }
  return to_double(total, fixed.shift) / to_double(mass, fixed_weight.shift);
}

}  // namespace

bool gradients(std::string_view loss, const Scored& rows, double* gradient, double* hessian,
               int n_threads) {
  bool has_hessian = true;
  with_loss(loss, [&]<Loss L>(L) { has_hessian = !L::unit_hessian || rows.weight != nullptr; });
  for_row_blocks(rows.n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
    kernels().gradients(loss, rows, {begin, end}, gradient, hessian);
    if (!rows.weight) return;
    for (int k = 0; k < rows.n_scores; ++k) {
      const std::int64_t first = k * rows.n_rows;
      for (std::int64_t row = begin; row < end; ++row) {
        gradient[first + row] *= rows.weight[row];
        hessian[first + row] *= rows.weight[row];
      }
    }
  });
  return has_hessian;
}

double mean_loss(std::string_view loss, const Scored& rows, int n_threads) {
  std::vector<double> losses(static_cast<std::size_t>(rows.n_rows));
  with_loss(loss, [&]<Loss L>(L) {
    for_row_blocks(rows.n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
      L::losses(rows, {begin, end}, losses.data());
    });
  });
  return exact_mean(losses.data(), rows.weight, rows.copies, rows.n_rows);
}

bool add_leaf_values(double* scores, const std::int32_t* leaf_of_row, std::int64_t n_rows,
                     const double* values, std::int64_t n_leaves, int n_threads) {
  std::atomic<bool> sound = true;
  for_row_blocks(n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
    bool in_range = true;
    for (std::int64_t row = begin; row < end; ++row)
      in_range &= leaf_of_row[row] >= 0 && leaf_of_row[row] < n_leaves;
    if (!in_range) sound = false;
  });
  if (!sound) return false;
  for_row_blocks(n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) scores[row] += values[leaf_of_row[row]];
  });
  return true;
}

void base_scores(std::string_view loss, const Scored& rows, double* base) {
  with_loss(loss, [&]<Loss L>(L) {
    if (rows.n_scores == 1) {
      base[0] = L::base_score(exact_mean(rows.y, rows.weight, rows.copies, rows.n_rows), 1);
      return;
    }
    std::vector<double> is_class(static_cast<std::size_t>(rows.n_rows));
    for (int k = 0; k < rows.n_scores; ++k) {
      for (std::int64_t row = 0; row < rows.n_rows; ++row) is_class[row] = rows.y[row] == k;
      const double share = exact_mean(is_class.data(), rows.weight, rows.copies, rows.n_rows);
      base[k] = L::base_score(share, rows.n_scores);
    }
  });
}

void predictions(std::string_view loss, const double* scores, std::int64_t n_rows, int n_scores,
                 int n_outputs, double* out, int n_threads) {
  with_loss(loss, [&]<Loss L>(L) {
    for_row_blocks(n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        L::predict(scores + row * n_scores, n_scores, out + row * n_outputs);
    });
  });
}

}  // namespace weald
