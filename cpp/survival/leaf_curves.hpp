// Mean curves of the leaves that rows fall into.
#pragma once

#include <cstdint>

namespace weald::survival {

// Steps of all leaves: those of leaf i are [first[i], first[i + 1]), with the number of the event
// time and the value from then on; before the first step the value is `start`.
struct LeafSteps {
  const std::int64_t* first;
  const std::int32_t* time;
  const double* value;
  double start;
};

// out[row][time] = mean over trees of the curve of the leaf leaves[row][tree].
void mean_curves(const LeafSteps& steps, const std::int64_t* leaves, std::int64_t n_rows,
                 std::int64_t n_trees, std::int64_t n_times, double* out, int n_threads);

}  // namespace weald::survival
