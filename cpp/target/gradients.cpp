#include "target/gradients.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/parallel.hpp"
#include "kernels/kernels.hpp"
#include "losses/losses.hpp"
#include "target/exact_mean.hpp"
#include "target/leaf_constants.hpp"
#include "target/leaf_sums.hpp"
#include "target/row_blocks.hpp"

namespace weald::target {
namespace {

// Numbers of a block of rows with several scores.
constexpr std::int64_t most_block = 8192;

// Rows with many scores need many exponentials: a few hundred are worth a thread.
std::int64_t block_of(const losses::Scored& rows, int n_threads) {
  return rows.n_scores == 1 ? rows_of_task(rows.n_rows, n_threads)
                            : std::max<std::int64_t>(256, most_block / 2 / rows.n_scores / 64 * 64);
}

template <class F>
void with_loss(std::string_view name, F&& visit) {
  if (!losses::AllLosses::with_name(name, visit)) throw std::invalid_argument("unknown loss");
}

// Whether y of a block contains valid class indices, if the loss requires these.
template <losses::Loss L>
bool has_classes(const losses::Scored& rows, losses::Range range) {
  if constexpr (L::targets != losses::Targets::classes) return true;
  const double n_classes = rows.n_scores == 1 ? 2 : rows.n_scores;
  bool sound = true;
  for (std::int64_t row = range.begin; row < range.end; ++row)
    sound &= (rows.y[row] >= 0) & (rows.y[row] < n_classes);
  return sound;
}

// The constant of minimal loss for some residuals; NaN if there are none.
template <losses::Loss L>
double best_constant(std::vector<WeightedValue>& values, double parameter) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if constexpr (L::best_constant == losses::BestConstant::quantile)
    return quantile(values, L::level(parameter));
  else
    return huber_constant(values, parameter);
}

// Rows grouped by leaf: those of leaf i are rows[first[i], first[i + 1]).
struct RowsByLeaf {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> rows;

  RowsByLeaf(const Leaves& leaves, const std::vector<std::int64_t>& mass)
      : first(static_cast<std::size_t>(leaves.n_leaves) + 1, 0) {
    for (std::int64_t row = 0; row < leaves.n_rows; ++row)
      first[leaves.of_row[row] + 1] += mass[row] > 0;
    for (std::int64_t i = 0; i < leaves.n_leaves; ++i) first[i + 1] += first[i];
    rows.resize(static_cast<std::size_t>(first.back()));
    std::vector<std::int64_t> next(first.begin(), first.end() - 1);
    for (std::int64_t row = 0; row < leaves.n_rows; ++row)
      if (mass[row] > 0) rows[next[leaves.of_row[row]]++] = row;
  }
};

}  // namespace

bool gradients(std::string_view loss, const losses::Scored& rows, double* gradient, double* hessian,
               int n_threads) {
  bool has_hessian = true, (*is_sound)(const losses::Scored&, losses::Range) = nullptr;
  with_loss(loss, [&]<losses::Loss L>(L) {
    has_hessian = L::hessian == losses::Hessian::own || rows.weight != nullptr;
    is_sound = has_classes<L>;
  });
  std::atomic<bool> sound = true;
  const std::int64_t size = block_of(rows, n_threads);
  for_blocks(rows.n_rows, size, n_threads, [&](std::int64_t begin, std::int64_t end) {
    if (!is_sound(rows, {begin, end})) sound = false;
    kernels::active().gradients(loss, rows, {begin, end}, gradient, hessian);
    if (!rows.weight) return;
    for (int k = 0; k < rows.n_scores; ++k) {
      const std::int64_t first = k * rows.n_rows;
      for (std::int64_t row = begin; row < end; ++row) {
        gradient[first + row] *= rows.weight[row];
        hessian[first + row] *= rows.weight[row];
      }
    }
  });
  if (!sound) throw std::invalid_argument("y must contain class indices");
  return has_hessian;
}

void losses_of_rows(std::string_view loss, const losses::Scored& rows, double* losses,
                    int n_threads) {
  with_loss(loss, [](auto) {});  // or throw
  for_blocks(rows.n_rows, block_of(rows, n_threads), n_threads,
             [&](std::int64_t begin, std::int64_t end) {
               kernels::active().losses(loss, rows, {begin, end}, losses);
             });
}

double mean_loss(std::string_view loss, const losses::Scored& rows, int n_threads) {
  std::vector<double> losses(static_cast<std::size_t>(rows.n_rows));
  losses_of_rows(loss, rows, losses.data(), n_threads);
  return exact_mean<double>({losses.data(), rows.weight, rows.copies, rows.n_rows});
}

bool add_leaf_values(double* scores, const std::int32_t* leaf_of_row, std::int64_t n_rows,
                     const double* values, std::int64_t n_leaves, int n_scores, int n_threads) {
  // Check and update a block while it is in cache.
  std::atomic<bool> sound = true;
  for_row_blocks(n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
    bool in_range = true;
    for (std::int64_t row = begin; row < end; ++row)
      in_range &= leaf_of_row[row] >= 0 && leaf_of_row[row] < n_leaves;
    if (!in_range) sound = false;
    if (!sound) return;
    for (std::int64_t row = begin; n_scores == 1 && row < end; ++row)
      scores[row] += values[leaf_of_row[row]];
    for (int k = 0; n_scores > 1 && k < n_scores; ++k) {
      double* const own = scores + k * n_rows;
      for (std::int64_t row = begin; row < end; ++row)
        own[row] += values[leaf_of_row[row] * n_scores + k];
    }
  });
  return sound;
}

void base_scores(std::string_view loss, const losses::Scored& rows, double* base) {
  const auto mean = [&](const double* y) {
    return exact_mean<double>({y, rows.weight, rows.copies, rows.n_rows});
  };
  with_loss(loss, [&]<losses::Loss L>(L) {
    if constexpr (L::best_constant != losses::BestConstant::of_mean) {
      const auto mass = masses(rows.weight, rows.copies, rows.n_rows);
      std::vector<WeightedValue> values;
      for (std::int64_t row = 0; row < rows.n_rows; ++row)
        if (mass[row] > 0) values.push_back({rows.y[row], mass[row]});
      base[0] = best_constant<L>(values, rows.parameter);
    } else if (rows.n_scores == 1) {
      base[0] = L::base_score(mean(rows.y), 1);
    } else if constexpr (L::has_many_scores) {
      std::vector<double> share(static_cast<std::size_t>(rows.n_rows));
      for (int k = 0; k < rows.n_scores; ++k) {
        for (std::int64_t row = 0; row < rows.n_rows; ++row) share[row] = L::share(rows, row, k);
        base[k] = L::base_score(mean(share.data()), rows.n_scores);
      }
    }
  });
}

void base_scores_of_means(std::string_view loss, const double* means, int n_scores, double* base) {
  with_loss(loss, [&]<losses::Loss L>(L) {
    if constexpr (L::best_constant != losses::BestConstant::of_mean)
      throw std::invalid_argument("the base score of this loss is no function of a mean");
    else
      for (int k = 0; k < n_scores; ++k) base[k] = L::base_score(means[k], n_scores);
  });
}

double base_score(std::string_view loss, const std::uint8_t* labels, const double* weight,
                  const std::int64_t* copies, std::int64_t n_rows) {
  double base = 0.0;
  with_loss(loss, [&]<losses::Loss L>(L) {
    if constexpr (L::targets != losses::Targets::classes)
      throw std::invalid_argument("labels require a classification loss");
    else
      base = L::base_score(exact_mean<std::uint8_t>({labels, weight, copies, n_rows}), 1);
  });
  return base;
}

void predictions(std::string_view loss, const double* scores, std::int64_t n_rows, int n_scores,
                 int n_outputs, double* out, int n_threads) {
  with_loss(loss, [&]<losses::Loss L>(L) {
    for_row_blocks(n_rows, n_threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        L::predict(scores + row * n_scores, n_scores, out + row * n_outputs);
    });
  });
}

void leaf_constants(std::string_view loss, const losses::Scored& rows, const Leaves& leaves,
                    double* values, int n_threads) {
  const auto mass = masses(rows.weight, rows.copies, rows.n_rows);
  const RowsByLeaf by_leaf(leaves, mass);
  with_loss(loss, [&]<losses::Loss L>(L) {
    if constexpr (L::best_constant == losses::BestConstant::of_mean) {
      throw std::invalid_argument("leaf values of this loss are not refitted");
    } else {
      parallel_for(leaves.n_leaves, n_threads, [&](std::int64_t leaf, int) {
        std::vector<WeightedValue> residuals;
        residuals.reserve(static_cast<std::size_t>(by_leaf.first[leaf + 1] - by_leaf.first[leaf]));
        for (std::int64_t i = by_leaf.first[leaf]; i < by_leaf.first[leaf + 1]; ++i) {
          const std::int64_t row = by_leaf.rows[i];
          residuals.push_back({rows.y[row] - rows.scores[row], mass[row]});
        }
        // A leaf without rows has value 0.
        values[leaf] = residuals.empty() ? 0.0 : best_constant<L>(residuals, rows.parameter);
      });
    }
  });
}

void leaf_steps(std::string_view loss, double parameter, double rate, double l2,
                const double* gradient, const double* hessian, const std::int64_t* copies,
                const Leaves& leaves, double* values, int n_threads) {
  std::vector<double> sums(static_cast<std::size_t>(leaves.n_leaves));
  leaf_sums(gradient, hessian, copies, leaves, values, sums.data(), n_threads);
  for (std::int64_t i = 0; i < leaves.n_leaves; ++i) {
    const double curvature = sums[i] + l2;
    values[i] = curvature > 0.0 ? -values[i] / curvature : 0.0;
  }
  cap_steps(loss, parameter, rate, values, leaves.n_leaves);
}

void cap_steps(std::string_view loss, double parameter, double rate, double* steps,
               std::int64_t n) {
  with_loss(loss, [&]<losses::Loss L>(L) {
    for (std::int64_t i = 0; i < n; ++i) steps[i] = L::capped_step(steps[i], rate, parameter);
  });
}

double exact_total(const double* values, const std::int64_t* copies, std::int64_t n_rows) {
  double top = 0.0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double size = std::abs(values[row]);
    if (!(copies && copies[row] <= 0) && !(size <= top)) top = size;  // also if it is NaN
  }
  if (!std::isfinite(top)) return std::numeric_limits<double>::infinity();
  const FixedPoint fixed(exponent_above(top), exact_bits);
  Int128 total = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const std::int64_t times = copies ? copies[row] : 1;
    if (times > 0) total += static_cast<Int128>(fixed(values[row])) * times;
  }
  return to_double(total, fixed.shift);
}

}  // namespace weald::target
