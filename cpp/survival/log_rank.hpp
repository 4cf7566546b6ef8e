// The log-rank statistic of two groups of a node's rows, as rows move from the right to the left.
//
// At an event time k with Y rows at risk, D of them with an event, and Y_L at risk on the left, the
// left group expects D Y_L / Y events, with the variance D (1 - D / Y) Y_L (Y - Y_L) / Y^2 (Y in
// the place of the textbook's Y - 1, so that weights have no unit). The statistic is U^2 / V with U
// the sum over k of observed minus expected events on the left, and V that of the variances.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weald::survival {

class LogRank {
 public:
  // Describe the rows of a node, in increasing order of time. `is_event` and `weight` of each row.
  // A row's step is the number of event times up to its own.
  template <class TimeOf, class IsEvent, class Weight>
  void start(std::int64_t n, TimeOf time_of, IsEvent is_event, Weight weight) {
    step_.resize(static_cast<std::size_t>(n));
    events_.assign(1, 0.0);
    at_risk_.assign(1, 0.0);
    first_.assign(1, 0);
    for (std::int64_t i = 0; i < n;) {
      std::int64_t end = i;
      double events = 0.0;
      for (; end < n && time_of(end) == time_of(i); ++end)
        events += is_event(end) ? weight(end) : 0.0;
      if (events > 0.0) {
        events_.push_back(events);
        first_.push_back(i);
      }
      for (; i < end; ++i) step_[i] = static_cast<std::int32_t>(events_.size()) - 1;
    }
    at_risk_.resize(events_.size());
    double later = 0.0;
    for (std::int64_t i = n, k = n_steps(); k > 0; --k) {
      while (i > first_[k]) later += weight(--i);
      at_risk_[k] = later;
    }
    hazard_.assign(events_.size(), 0.0);
    share_.assign(events_.size(), 0.0);
    all_.assign(events_.size(), 0.0);
    for (std::size_t k = 1; k < events_.size(); ++k) {
      const double rate = events_[k] / at_risk_[k];
      const double share = std::max(0.0, rate * (1.0 - rate) / at_risk_[k]);
      hazard_[k] = hazard_[k - 1] + rate;
      share_[k] = share_[k - 1] + share;
      all_[k] = all_[k - 1] + share * at_risk_[k];
    }
  }

  int n_steps() const { return static_cast<int>(events_.size()) - 1; }
  double events(int k) const { return events_[k]; }  // k = 1, ..., n_steps()
  double at_risk(int k) const { return at_risk_[k]; }
  std::int64_t first_row(int k) const { return first_[k]; }
  // Nelson-Aalen estimate of the node at the time of a row.
  double hazard_of(std::int64_t row) const { return hazard_[step_[row]]; }

  // All rows are on the right.
  void restart() {
    sums_.assign(events_.size() + 1, {});
    left_ = difference_ = variance_ = 0.0;
  }

  void move_left(std::int64_t row, bool is_event, double weight) {
    const int step = step_[row];
    const Sums before = sums_up_to(step);
    // Sum over the event times up to the row's of the share times the weight at risk on the left.
    const double left = before.shares + share_[step] * (left_ - before.weight);
    variance_ += weight * (all_[step] - weight * share_[step] - 2.0 * left);
    difference_ += weight * ((is_event ? 1.0 : 0.0) - hazard_[step]);
    left_ += weight;
    for (int i = step + 1; i < static_cast<int>(sums_.size()); i += i & -i) {
      sums_[i].weight += weight;
      sums_[i].shares += weight * share_[step];
    }
  }

  // U^2 / V; 0 if V is zero but for rounding.
  double statistic() const {
    const double least = 1e-9 * all_.back() * at_risk_[n_steps() > 0 ? 1 : 0];
    return variance_ > least ? difference_ * difference_ / variance_ : 0.0;
  }

 private:
  struct Sums {
    double weight = 0.0, shares = 0.0;
  };
  // Over the rows on the left whose step is at most `step`.
  Sums sums_up_to(int step) const {
    Sums sums;
    for (int i = step + 1; i > 0; i -= i & -i) {
      sums.weight += sums_[i].weight;
      sums.shares += sums_[i].shares;
    }
    return sums;
  }

  std::vector<std::int32_t> step_;            // of each row
  std::vector<double> events_, at_risk_;      // at each event time, from 1
  std::vector<std::int64_t> first_;           // first row at that time
  std::vector<double> hazard_, share_, all_;  // cumulative: D/Y; D(1 - D/Y)/Y^2; and that times Y
  std::vector<Sums> sums_;                    // Fenwick tree over steps, from 1
  double left_ = 0.0, difference_ = 0.0, variance_ = 0.0;
};

}  // namespace weald::survival
