#include "survival/leaf_curves.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace weald::survival {

void mean_curves(const LeafSteps& steps, const std::int64_t* leaves, std::int64_t n_rows,
                 std::int64_t n_trees, std::int64_t n_times, double* out, int n_threads) {
  parallel_for(n_rows, n_threads, [&](std::int64_t row, int) {
    double* const curve = out + row * n_times;
    std::fill_n(curve, n_times, 0.0);
    for (std::int64_t tree = 0; tree < n_trees; ++tree) {
      const std::int64_t leaf = leaves[row * n_trees + tree];
      double before = steps.start;
      for (std::int64_t i = steps.first[leaf]; i < steps.first[leaf + 1]; ++i) {
        curve[steps.time[i]] += steps.value[i] - before;
        before = steps.value[i];
      }
    }
    double sum = 0.0;
    for (std::int64_t time = 0; time < n_times; ++time) {
      sum += curve[time];
      curve[time] = steps.start + sum / static_cast<double>(n_trees);
    }
  });
}

}  // namespace weald::survival
