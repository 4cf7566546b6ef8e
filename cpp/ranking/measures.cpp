#include "ranking/measures.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/parallel.hpp"

namespace weald::ranking {
namespace {

// Rows of one query from the first place on, and rows of equal scores among them.
struct Ranking {
  std::vector<std::int32_t> order;
  std::vector<double> gains;  // by place

  void set(const double* gain, const double* scores, std::int64_t n) {
    sort_by_score(scores, n, order);
    gains.resize(order.size());
    for (std::int64_t i = 0; i < n; ++i) gains[i] = gain[order[i]];
  }
  // Call visit(begin, end) for the places of each score.
  template <class F>
  void for_ties(const double* scores, F&& visit) const {
    const auto n = static_cast<std::int64_t>(order.size());
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
      for (end = begin + 1; end < n && scores[order[end]] == scores[order[begin]];) ++end;
      visit(begin, end);
    }
  }
};

double sum(const double* values, std::int64_t begin, std::int64_t end) {
  double total = 0.0;
  for (std::int64_t i = begin; i < end; ++i) total += values[i];
  return total;
}

double n_relevant(const double* gains, std::int64_t begin, std::int64_t end) {
  return static_cast<double>(
      std::count_if(gains + begin, gains + end, [](double gain) { return gain > 0.0; }));
}

// Each of the tied rows is at each of their places equally often.
double dcg(const Ranking& ranking, const double* scores, std::int64_t k, const double* discount) {
  double total = 0.0;
  ranking.for_ties(scores, [&](std::int64_t begin, std::int64_t end) {
    if (begin >= k) return;
    const double gain = sum(ranking.gains.data(), begin, end);
    total += gain / static_cast<double>(end - begin) * sum(discount, begin, std::min(end, k));
  });
  return total;
}

// The relevant rows of a tie are spread evenly over its places, of which those up to k count.
double average_precision(const Ranking& ranking, const double* scores, std::int64_t k) {
  double found = 0.0, total = 0.0;
  ranking.for_ties(scores, [&](std::int64_t begin, std::int64_t end) {
    if (begin >= k) return;
    const std::int64_t last = std::min(end, k);
    const double share = static_cast<double>(last - begin) / static_cast<double>(end - begin);
    const double more = n_relevant(ranking.gains.data(), begin, end) * share;
    found += more;
    total += more * found / static_cast<double>(last);
  });
  const auto n = static_cast<std::int64_t>(ranking.gains.size());
  return total / std::min(n_relevant(ranking.gains.data(), 0, n), static_cast<double>(k));
}

// The mean of 1 / place of the first relevant row over the orders of its ties; 0 beyond k.
double reciprocal_rank(const Ranking& ranking, const double* scores, std::int64_t k) {
  double mean = 0.0;
  bool is_found = false;
  ranking.for_ties(scores, [&](std::int64_t begin, std::int64_t end) {
    const double relevant = n_relevant(ranking.gains.data(), begin, end);
    if (is_found || relevant == 0.0) return;
    is_found = true;
    double none_before = 1.0;  // the probability that no row before this place is relevant
    for (std::int64_t place = begin; place < std::min(end, k) && none_before > 0.0; ++place) {
      const double is_first = std::min(1.0, relevant / static_cast<double>(end - place));
      mean += none_before * is_first / static_cast<double>(place + 1);
      none_before *= 1.0 - is_first;
    }
  });
  return mean;
}

}  // namespace

bool is_measure(std::string_view name) { return name == "ndcg" || name == "map" || name == "mrr"; }

double ideal_dcg(double* gains, std::int64_t n, std::int64_t k, const double* discount) {
  std::sort(gains, gains + n, std::greater<>());
  double total = 0.0;
  for (std::int64_t i = 0; i < std::min(n, k); ++i) total += gains[i] * discount[i];
  return total;
}

void measures(std::string_view name, const Queries& queries, const double* gains,
              const double* scores, std::int64_t k, double* of_query, int n_threads) {
  const std::vector<double> discount = discounts(queries.largest());
  std::vector<Ranking> scratch(static_cast<std::size_t>(std::max(1, n_threads)));
  parallel_for(queries.n, n_threads, [&](std::int64_t q, int worker) {
    const std::int64_t begin = queries.first[q], n = queries.size(q);
    const double* const own = scores + begin;
    Ranking& ranking = scratch[worker];
    if (n_relevant(gains + begin, 0, n) == 0.0) {
      of_query[q] = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    ranking.set(gains + begin, own, n);
    if (name == "map") {
      of_query[q] = average_precision(ranking, own, k);
    } else if (name == "mrr") {
      of_query[q] = reciprocal_rank(ranking, own, k);
    } else {
      const double found = dcg(ranking, own, k, discount.data());
      of_query[q] = found / ideal_dcg(ranking.gains.data(), n, k, discount.data());
    }
  });
}

}  // namespace weald::ranking
