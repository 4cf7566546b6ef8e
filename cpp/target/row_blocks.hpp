// Loops over blocks of rows in parallel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.hpp"

namespace weald::target {

// Run body(begin, end) over blocks of rows in parallel.
template <class Body>
void for_blocks(std::int64_t n_rows, std::int64_t size, int n_threads, Body&& body) {
  parallel_for(
      (n_rows + size - 1) / size, n_rows < 2 * size ? 1 : n_threads,
      [&](std::int64_t task, int) { body(task * size, std::min(n_rows, (task + 1) * size)); });
}
template <class Body>
void for_row_blocks(std::int64_t n_rows, int n_threads, Body&& body) {
  for_blocks(n_rows, rows_of_task(n_rows, n_threads), n_threads, body);
}

}  // namespace weald::target
