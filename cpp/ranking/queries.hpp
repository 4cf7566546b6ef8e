// Rows in queries, within which they are to be ranked.
#pragma once

#include <cstdint>
#include <vector>

namespace weald::ranking {

// The rows of query q are first[q] .. first[q + 1] - 1.
struct Queries {
  const std::int64_t* first;
  std::int64_t n;

  std::int64_t size(std::int64_t q) const { return first[q + 1] - first[q]; }
  std::int64_t largest() const {
    std::int64_t most = 0;
    for (std::int64_t q = 0; q < n; ++q) most = size(q) > most ? size(q) : most;
    return most;
  }
};

// How much the place of a row counts in DCG, from the first one: 1 / log2(1 + place).
std::vector<double> discounts(std::int64_t n);

// Sorts the numbers 0 .. n - 1 by falling score; rows of equal scores stay in their order.
void sort_by_score(const double* scores, std::int64_t n, std::vector<std::int32_t>& order);

}  // namespace weald::ranking
