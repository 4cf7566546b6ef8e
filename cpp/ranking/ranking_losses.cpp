#include "ranking/ranking_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "kernels/kernels.hpp"
#include "kernels/pairs.hpp"
#include "ranking/measures.hpp"

namespace weald::ranking {
namespace {

using kernels::pair_padding;

// Scores farther below the best of their query count as this far: products of two strengths are
// normal doubles.
constexpr double farthest = 300.0;

// Exponentials of the scores of a query, the largest of which is 1.
void write_strengths(const double* scores, std::int64_t n, double* strength) {
  const double top = *std::max_element(scores, scores + n);
  for (std::int64_t i = 0; i < n; ++i)
    strength[i] = elementary::exp(std::max(scores[i] - top, -farthest));
}

// What a query's rows need while their derivatives are computed, by place.
struct Scratch {
  std::vector<std::int32_t> order;
  std::vector<double> score, gain, strength, ahead, behind, gradient, hessian, pair_gradient,
      pair_hessian;

  void resize(std::int64_t n) {
    for (auto* one : {&score, &gain, &strength, &ahead, &behind, &gradient, &hessian,
                      &pair_gradient, &pair_hessian})
      one->assign(static_cast<std::size_t>(n + pair_padding), 0.0);
    std::fill_n(strength.data() + n, pair_padding, 1.0);
  }
};

// How much average precision changes if the rows at places i < j are exchanged, one of which is
// relevant: ahead_i + behind_j, divided by the number of relevant rows.
void write_precisions(Scratch& own, std::int64_t n) {
  double found = 0.0, reciprocals = 0.0;  // relevant rows so far, and the sum of 1 / their places
  for (std::int64_t i = 0; i < n; ++i) {
    const double place = static_cast<double>(i + 1), relevant = own.gain[i];
    const double before = reciprocals;
    found += relevant;
    reciprocals += relevant / place;
    own.ahead[i] = (found + (1.0 - relevant)) / place - reciprocals;
    own.behind[i] = before - found / place;
  }
}

void write_discounts(Scratch& own, std::int64_t n, const std::vector<double>& discount) {
  for (std::int64_t i = 0; i < n; ++i) {
    own.ahead[i] = discount[i];
    own.behind[i] = -discount[i];
  }
}

struct Output {
  double* gradient;
  double* hessian;
};

// Write the derivatives of a query's rows, times a factor and their weights.
void write(const ScoredQueries& rows, std::int64_t begin, const Scratch& own, double factor,
           const Output& out) {
  for (std::size_t i = 0; i < own.order.size(); ++i) {
    const std::int64_t row = begin + own.order[i];
    const double all = rows.weight ? factor * rows.weight[row] : factor;
    out.gradient[row] = own.gradient[i] * all;
    out.hessian[row] = own.hessian[i] * all;
  }
}

// Multiplies the derivatives by a factor and adds those of the pairwise loss.
void add_pairwise(Scratch& own, std::int64_t n, double factor, double pair_unit) {
  const kernels::RankedRows ranked{
      nullptr, own.gain.data(), own.strength.data(), nullptr, nullptr, n, true, false};
  for (std::int64_t i = 0; i < n; ++i)
    kernels::active().add_pairs(ranked, i, own.pair_gradient.data(), own.pair_hessian.data());
  for (std::int64_t i = 0; i < n; ++i) {
    own.gradient[i] = own.gradient[i] * factor + own.pair_gradient[i] * pair_unit;
    own.hessian[i] = own.hessian[i] * factor + own.pair_hessian[i] * pair_unit;
  }
}

void lambda_gradients(bool is_map, const ScoredQueries& rows, std::int64_t q,
                      const std::vector<double>& discount, Scratch& own, const Output& out) {
  const std::int64_t begin = rows.queries.first[q], n = rows.queries.size(q);
  own.resize(n);
  sort_by_score(rows.scores + begin, n, own.order);
  for (std::int64_t i = 0; i < n; ++i) {
    own.score[i] = rows.scores[begin + own.order[i]];
    own.gain[i] = rows.gains[begin + own.order[i]];
  }
  write_strengths(own.score.data(), n, own.strength.data());
  if (is_map)
    write_precisions(own, n);
  else
    write_discounts(own, n, discount);
  const kernels::RankedRows ranked{own.score.data(),
                                   own.gain.data(),
                                   own.strength.data(),
                                   own.ahead.data(),
                                   own.behind.data(),
                                   n,
                                   false,
                                   true};
  double slopes = 0.0;
  for (std::int64_t i = 0; i < std::min(n, rows.truncation); ++i)
    slopes += kernels::active().add_pairs(ranked, i, own.gradient.data(), own.hessian.data());
  slopes *= 2.0 * rows.unit[q];
  const double shrinkage = slopes > 0.0 ? elementary::log2(1.0 + slopes) / slopes : 1.0;
  double factor = rows.unit[q] * shrinkage;
  if (rows.pair_unit) {
    add_pairwise(own, n, factor, rows.pair_unit[q]);
    factor = 1.0;
  }
  write(rows, begin, own, factor, out);
}

void pairwise_gradients(const ScoredQueries& rows, std::int64_t q, Scratch& own,
                        const Output& out) {
  const std::int64_t begin = rows.queries.first[q], n = rows.queries.size(q);
  own.resize(n);
  own.order.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) own.order[i] = static_cast<std::int32_t>(i);
  std::copy_n(rows.gains + begin, n, own.gain.data());
  write_strengths(rows.scores + begin, n, own.strength.data());
  const kernels::RankedRows ranked{
      nullptr, own.gain.data(), own.strength.data(), nullptr, nullptr, n, true, false};
  for (std::int64_t i = 0; i < n; ++i)
    kernels::active().add_pairs(ranked, i, own.gradient.data(), own.hessian.data());
  write(rows, begin, own, rows.unit[q], out);
}

void entropy_gradients(const ScoredQueries& rows, std::int64_t q, Scratch& own, const Output& out) {
  const std::int64_t begin = rows.queries.first[q], n = rows.queries.size(q);
  own.resize(n);
  write_strengths(rows.scores + begin, n, own.strength.data());
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) total += own.strength[i];
  for (std::int64_t i = 0; i < n; ++i) {
    const double share = own.strength[i] / total,
                 times = rows.weight ? rows.weight[begin + i] : 1.0;
    out.gradient[begin + i] = (share - rows.gains[begin + i] * rows.unit[q]) * times;
    out.hessian[begin + i] = share * (1.0 - share) * times;
  }
}

double pairs_of(const double* gains, std::int64_t n, std::vector<double>& sorted) {
  sorted.assign(gains, gains + n);
  std::sort(sorted.begin(), sorted.end());
  const auto all = static_cast<double>(n);
  double pairs = 0.5 * all * (all - 1.0);
  for (std::int64_t begin = 0, end; begin < n; begin = end) {
    for (end = begin + 1; end < n && sorted[end] == sorted[begin];) ++end;
    const auto equal = static_cast<double>(end - begin);
    pairs -= 0.5 * equal * (equal - 1.0);
  }
  return pairs;
}

// The sum of the logistic losses of the pairs: log(1 + strength of the lesser / of the better). Of
// many factors, one logarithm is taken.
double pairwise_loss(const double* gains, const double* strength, std::int64_t n) {
  constexpr double large = 0x1p500;  // a factor is at most 1 + e^300
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    double product = 1.0;
    for (std::int64_t j = 0; j < n; ++j) {
      if (!(gains[i] > gains[j])) continue;
      product *= 1.0 + strength[j] / strength[i];
      if (product < large) continue;
      total += elementary::log(product);
      product = 1.0;
    }
    total += elementary::log(product);
  }
  return total;
}

double entropy_loss(const double* gains, const double* scores, const double* strength,
                    std::int64_t n, double unit) {
  const double top = *std::max_element(scores, scores + n);
  double total = 0.0, along = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    total += strength[i];
    along += gains[i] * unit * std::max(scores[i] - top, -farthest);
  }
  return elementary::log(total) - along;
}

// Whether the rows of a query are used: all of them or none.
bool is_used(const ScoredQueries& rows, std::int64_t q) {
  return rows.unit[q] > 0.0 && (!rows.copies || rows.copies[rows.queries.first[q]] > 0);
}

std::vector<Scratch> scratch_of(int n_threads) {
  return std::vector<Scratch>(static_cast<std::size_t>(std::max(1, n_threads)));
}

}  // namespace

bool is_loss(std::string_view name) {
  return name == "ndcg" || name == "map" || name == "pairwise" || name == "xendcg";
}

void units(std::string_view loss, const Queries& queries, const double* gains,
           std::int64_t truncation, double* of_query, int n_threads) {
  const std::vector<double> discount = discounts(queries.largest());
  auto scratch = scratch_of(n_threads);
  parallel_for(queries.n, n_threads, [&](std::int64_t q, int worker) {
    const std::int64_t n = queries.size(q);
    const double* const own = gains + queries.first[q];
    std::vector<double>& sorted = scratch[worker].gain;
    sorted.assign(own, own + n);
    double size = 0.0;
    if (loss == "ndcg")
      size = ideal_dcg(sorted.data(), n, truncation, discount.data());
    else if (loss == "pairwise")
      size = pairs_of(own, n, sorted);
    else
      for (std::int64_t i = 0; i < n; ++i) size += own[i];
    const auto [least, most] = std::minmax_element(own, own + n);
    of_query[q] = *least < *most && size > 0.0 ? 1.0 / size : 0.0;
  });
}

void gradients(std::string_view loss, const ScoredQueries& rows, double* gradient, double* hessian,
               int n_threads) {
  const std::vector<double> discount = discounts(rows.queries.largest());
  auto scratch = scratch_of(n_threads);
  const Output out{gradient, hessian};
  parallel_for(rows.queries.n, n_threads, [&](std::int64_t q, int worker) {
    const std::int64_t begin = rows.queries.first[q], n = rows.queries.size(q);
    if (!is_used(rows, q)) {
      std::fill_n(gradient + begin, n, 0.0);
      std::fill_n(hessian + begin, n, 0.0);
    } else if (loss == "pairwise") {
      pairwise_gradients(rows, q, scratch[worker], out);
    } else if (loss == "xendcg") {
      entropy_gradients(rows, q, scratch[worker], out);
    } else {
      lambda_gradients(loss == "map", rows, q, discount, scratch[worker], out);
    }
  });
}

void losses(std::string_view loss, const ScoredQueries& rows, double* of_query, int n_threads) {
  auto scratch = scratch_of(n_threads);
  parallel_for(rows.queries.n, n_threads, [&](std::int64_t q, int worker) {
    const std::int64_t begin = rows.queries.first[q], n = rows.queries.size(q);
    const double *const gains = rows.gains + begin, *const scores = rows.scores + begin;
    const double unit = rows.unit[q];
    if (unit == 0.0) {
      of_query[q] = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    std::vector<double>& strength = scratch[worker].strength;
    strength.resize(static_cast<std::size_t>(n));
    write_strengths(scores, n, strength.data());
    of_query[q] = loss == "pairwise" ? unit * pairwise_loss(gains, strength.data(), n)
                                     : entropy_loss(gains, scores, strength.data(), n, unit);
  });
}

}  // namespace weald::ranking
