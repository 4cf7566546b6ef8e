#include "survival/concordance.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weald::survival {
namespace {

// Weight of the rows observed so far, by rank.
class RankSums {
 public:
  explicit RankSums(std::int32_t n) : sums_(static_cast<std::size_t>(n) + 1) {}
  void add(std::int32_t rank, double weight) {
    total_ += weight;
    for (std::size_t i = static_cast<std::size_t>(rank) + 1; i < sums_.size(); i += i & (0 - i))
      sums_[i] += weight;
  }
  double below(std::int32_t rank) const {
    double sum = 0.0;
    for (auto i = static_cast<std::size_t>(rank); i > 0; i -= i & (0 - i)) sum += sums_[i];
    return sum;
  }
  double total() const { return total_; }

 private:
  std::vector<double> sums_;
  double total_ = 0.0;
};

}  // namespace

PairWeights count_pairs(const ScoredTimes& rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.n_rows));
  std::iota(order.begin(), order.end(), 0);
  // From the latest time to the earliest; at the same time censored rows first.
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    if (rows.time[a] != rows.time[b]) return rows.time[a] > rows.time[b];
    if (rows.is_event[a] != rows.is_event[b]) return rows.is_event[a] < rows.is_event[b];
    return rows.risk[a] < rows.risk[b];
  });
  RankSums later(rows.n_ranks);
  PairWeights pairs;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    const auto is_alike = [&](std::size_t j) {
      return rows.time[order[j]] == rows.time[order[i]] &&
             rows.is_event[order[j]] == rows.is_event[order[i]];
    };
    for (; end < order.size() && is_alike(end); ++end) {
      const std::int64_t row = order[end];
      if (!rows.is_event[row]) continue;
      const double below = later.below(rows.risk[row]);
      const double equal = later.below(rows.risk[row] + 1) - below;
      pairs.concordant += rows.weight_of_event[row] * below;
      pairs.tied += rows.weight_of_event[row] * equal;
      pairs.comparable += rows.weight_of_event[row] * later.total();
    }
    for (; i < end; ++i) later.add(rows.risk[order[i]], rows.weight_of_other[order[i]]);
  }
  return pairs;
}

}  // namespace weald::survival
