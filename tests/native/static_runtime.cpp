// A shared object with its own copy of the C++ runtime: test_static_runtime.py loads it.
#include <cstdint>
#include <vector>

#include "parallel.hpp"

extern "C" int static_runtime_cores() { return weald::usable_cores(); }

// The sum of 0 .. n - 1, each number added by a task of a parallel loop.
extern "C" std::int64_t static_runtime_sum(std::int64_t n, int n_threads) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(n_threads), 0);
  weald::parallel_for(n, n_threads, [&](std::int64_t index, int worker) { sums[worker] += index; });
  std::int64_t total = 0;
  for (const std::int64_t sum : sums) total += sum;
  return total;
}
