#include "stumps/weighting.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace weald::stumps {

double mass_of(const double* mass, const std::uint8_t* marked, std::int64_t n) {
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) total += marked[i] ? mass[i] : 0.0;
  return total;
}

void reweight(const Reweighting& by, const std::uint8_t* wrong, const std::int64_t* copies,
              std::int64_t n, double* each, double* mass) {
  constexpr double spacing_one = 0x1p52;
  for (std::int64_t i = 0; i < n; ++i) {
    each[i] = std::max(each[i] * (wrong[i] ? by.if_wrong : by.if_right), by.least);
    mass[i] = (each[i] * by.steps + spacing_one) - spacing_one;  // rounds half to even
  }
  for (std::int64_t i = 0; copies && i < n; ++i) mass[i] *= static_cast<double>(copies[i]);
}

void weighted_medians(const double* values, const double* weights, std::int64_t n_rows,
                      std::int64_t n_values, double* medians, int n_threads) {
  constexpr std::int64_t block = 256;
  const std::int64_t n_blocks = (n_rows + block - 1) / block;
  using Item = std::pair<double, double>;
  const auto comes_before = [](const Item& a, const Item& b) {
    return a.first < b.first || (b.first != b.first && a.first == a.first);
  };
  parallel_for(n_blocks, n_threads, [&](std::int64_t task, int) {
    std::vector<Item> items(static_cast<std::size_t>(n_values));
    const std::int64_t end = std::min(n_rows, (task + 1) * block);
    for (std::int64_t row = task * block; row < end; ++row) {
      for (std::int64_t i = 0; i < n_values; ++i)
        items[i] = {values[row * n_values + i], weights[i]};
      std::sort(items.begin(), items.end(), comes_before);
      for (std::int64_t i = 1; i < n_values; ++i) items[i].second += items[i - 1].second;
      const double half = 0.5 * items.back().second;
      medians[row] = std::find_if(items.begin(), items.end(), [&](const Item& item) {
                       return item.second >= half;
                     })->first;
    }
  });
}

}  // namespace weald::stumps
