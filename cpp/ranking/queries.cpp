#include "ranking/queries.hpp"

#include <algorithm>
#include <numeric>

#include "base/elementary.hpp"

namespace weald::ranking {

std::vector<double> discounts(std::int64_t n) {
  std::vector<double> of_place(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    of_place[i] = 1.0 / elementary::log2(2.0 + static_cast<double>(i));
  return of_place;
}

void sort_by_score(const double* scores, std::int64_t n, std::vector<std::int32_t>& order) {
  order.resize(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [scores](std::int32_t a, std::int32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
}

}  // namespace weald::ranking
