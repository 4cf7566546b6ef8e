// A column-major copy of the bin codes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"

namespace weald::data {

inline LargeVector<Code> columns_of(const Codes& codes, int n_threads) {
  constexpr std::int64_t block = 32'768;  // rows per task
  const std::int64_t n_rows = codes.n_rows;
  LargeVector<Code> columns(static_cast<std::size_t>(n_rows * codes.n_columns));
  parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * block, n_rows);
    for (int g = 0; g < codes.n_groups(); ++g) {
      const Code* const group = codes.group(g);
      Code* const out = columns.data() + std::int64_t{g} * lanes * n_rows;
      const std::int64_t stride = codes.stride(g);
      const int n_lanes = codes.lanes_of(g);
      for (std::int64_t row = task * block; row < end; ++row)
        for (int lane = 0; lane < n_lanes; ++lane)
          out[lane * n_rows + row] = group[row * stride + lane];
    }
  });
  return columns;
}

}  // namespace weald::data
