#include "target/cox.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/elementary.hpp"
#include "base/exact_sum.hpp"
#include "base/parallel.hpp"
#include "target/gradients.hpp"

namespace weald::target {
namespace {

constexpr std::int64_t block = 8192;

template <class Body>
void for_rows(std::int64_t n_rows, int n_threads, Body&& body) {
  parallel_for((n_rows + block - 1) / block, n_rows < 2 * block ? 1 : n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t end = std::min(n_rows, (task + 1) * block);
                 for (std::int64_t row = task * block; row < end; ++row) body(row);
               });
}

// What the risk sets of all times add up to. All sums over rows are of integers, so that their
// order does not matter; a term is at least 1, so that no risk set with rows sums to zero.
class RiskSets {
 public:
  RiskSets(const SurvivalRows& rows, int n_threads)
      : rows_(rows),
        at_risk_(static_cast<std::size_t>(rows.n_times)),
        events_(at_risk_.size()),
        tied_risk_(at_risk_.size()),
        n_tied_(at_risk_.size()) {
    double top_weight = 0.0;
    bool is_first = true;
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
      if (!is_in(row)) continue;
      top_ = is_first ? rows.scores[row] : std::max(top_, rows.scores[row]);
      top_weight = std::max(top_weight, weight(row));
      is_first = false;
    }
    factor_.resize(static_cast<std::size_t>(rows.n_rows));
    for_rows(rows.n_rows, n_threads, [&](std::int64_t row) {
      factor_[row] = is_in(row) ? elementary::exp(rows.scores[row] - top_) : 0.0;
    });
    fixed_ = FixedPoint(exponent_above(top_weight), exact_bits);
    std::vector<Int128> risk(at_risk_.size()), events(at_risk_.size()), tied(at_risk_.size());
    const auto integer = [&](double x) { return std::max<std::int64_t>(fixed_(x), 1); };
    Int128 all = 0;
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
      if (!is_in(row)) continue;
      const std::int64_t times = rows.copies ? rows.copies[row] : 1;
      const auto own = static_cast<Int128>(integer(weight(row))) * times;
      const auto at_risk = static_cast<Int128>(integer(weight(row) * factor_[row])) * times;
      const std::int32_t time = rows.time(row);
      risk[time] += at_risk;
      all += own;
      if (!rows.is_event(row)) continue;
      events[time] += own;
      tied[time] += at_risk;
      ++n_tied_[time];
    }
    Int128 later = 0;
    for (std::int32_t time = rows.n_times - 1; time >= 0; --time) {
      later += risk[time];
      at_risk_[time] = to_double(later, fixed_.shift);
      events_[time] = to_double(events[time], fixed_.shift);
      tied_risk_[time] = to_double(tied[time], fixed_.shift);
    }
    total_ = to_double(all, fixed_.shift);
  }

  bool is_in(std::int64_t row) const { return !rows_.copies || rows_.copies[row] > 0; }
  double weight(std::int64_t row) const { return rows_.weight ? rows_.weight[row] : 1.0; }
  // e^(score - top()), 0 for rows in no risk set.
  double factor(std::int64_t row) const { return factor_[row]; }
  double top() const { return top_; }
  // Sum of the weights of all rows.
  double total() const { return total_; }

  // Cumulative hazards of rows of factor 1, by time, and by how much those of the events are less.
  struct Hazard {
    std::vector<double> sums, relief;
  };
  Hazard hazard() const {
    Hazard all{std::vector<double>(at_risk_.size()), std::vector<double>(at_risk_.size())};
    double sum = 0.0;
    for (std::size_t time = 0; time < at_risk_.size(); ++time) {
      for_events(time, [&](double weight, double gone, double at_risk) {
        const double step = weight / at_risk;
        sum += step;
        all.relief[time] += gone * step;
      });
      all.sums[time] = sum;
    }
    return all;
  }

  // Logarithm of the sum of weight * factor at risk at the events of a time, as a share of the
  // weights of all rows; their mean, if it differs between tied events.
  double log_at_risk(std::int32_t time) const {
    double sum = 0.0, n = 0.0;
    for_events(time, [&](double, double, double at_risk) {
      sum += elementary::log(at_risk / total_);
      n += 1.0;
    });
    return sum / n;
  }

 private:
  // Call visit(weight, gone, at_risk) for the events of a time, of which a share has gone: all
  // together, or tied ones in turn.
  template <class Visit>
  void for_events(std::size_t time, Visit&& visit) const {
    if (events_[time] == 0.0) return;
    const std::int64_t n = rows_.ties == Ties::efron ? n_tied_[time] : 1;
    for (std::int64_t k = 0; k < n; ++k) {
      const double gone = static_cast<double>(k) / static_cast<double>(n);
      visit(events_[time] / static_cast<double>(n), gone, at_risk_[time] - gone * tied_risk_[time]);
    }
  }

  const SurvivalRows& rows_;
  // By time: sums of weight * factor over the rows whose time is not earlier, and of the weights
  // and of weight * factor over the rows with an event, whose number is n_tied_.
  std::vector<double> factor_, at_risk_, events_, tied_risk_;
  std::vector<std::int64_t> n_tied_;
  double top_ = 0.0, total_ = 0.0;
  FixedPoint fixed_;
};

}  // namespace

void cox_gradients(const SurvivalRows& rows, double* gradient, double* hessian, int n_threads) {
  const RiskSets sets(rows, n_threads);
  const RiskSets::Hazard hazard = sets.hazard();
  for_rows(rows.n_rows, n_threads, [&](std::int64_t row) {
    const std::int32_t time = rows.time(row);
    const double relief = rows.is_event(row) ? hazard.relief[time] : 0.0;
    const double expected = sets.factor(row) * (hazard.sums[time] - relief);
    const double seen = rows.is_event(row) && sets.is_in(row) ? 1.0 : 0.0;
    gradient[row] = sets.weight(row) * (expected - seen);
    hessian[row] = sets.weight(row) * expected;
  });
}

double cox_mean_loss(const SurvivalRows& rows, int n_threads) {
  const RiskSets sets(rows, n_threads);
  std::vector<double> log_at_risk(static_cast<std::size_t>(rows.n_times));
  for (std::int32_t time = 0; time < rows.n_times; ++time)
    log_at_risk[time] = sets.log_at_risk(time);
  std::vector<double> losses(static_cast<std::size_t>(rows.n_rows));
  for_rows(rows.n_rows, n_threads, [&](std::int64_t row) {
    if (!rows.is_event(row) || !sets.is_in(row)) return;
    const double log_risk = log_at_risk[rows.time(row)];
    losses[row] = sets.weight(row) * (log_risk + (sets.top() - rows.scores[row]));
  });
  return exact_total(losses.data(), rows.copies, rows.n_rows) / sets.total();
}

void baseline_hazard(const SurvivalRows& rows, double* hazard, int n_threads) {
  const RiskSets sets(rows, n_threads);
  const double unit = elementary::exp(-sets.top());
  const std::vector<double> of_top = sets.hazard().sums;
  for (std::size_t time = 0; time < of_top.size(); ++time) hazard[time] = of_top[time] * unit;
}

}  // namespace weald::target
