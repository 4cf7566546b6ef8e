#include "weighting.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace weald {

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

}  // namespace weald
