// A column-major copy of the bin codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"

namespace weald::data {

// Transpose 8 x 8 bytes: byte i of word k becomes byte k of word i.
inline void turn_over(std::uint64_t (&words)[lanes]) {
  const auto swap = [&](int distance, std::uint64_t mask) {
    for (int i = 0; i < lanes; ++i) {
      if (i & distance) continue;
      std::uint64_t &a = words[i], &b = words[i + distance];
      const std::uint64_t change = ((a >> (8 * distance)) ^ b) & mask;
      b ^= change;
      a ^= change << (8 * distance);
    }
  };
  swap(4, 0x00000000ffffffff);
  swap(2, 0x0000ffff0000ffff);
  swap(1, 0x00ff00ff00ff00ff);
}

// Eight rows of a group are eight words of eight codes; transposed, they are eight codes of each of
// its columns.
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
      for (std::int64_t row = task * block; row < end; row += lanes) {
        std::uint64_t words[lanes] = {};
        const std::int64_t size = std::min<std::int64_t>(lanes, end - row);
        for (std::int64_t i = 0; i < size; ++i)
          std::memcpy(&words[i], group + (row + i) * stride, sizeof *words);
        turn_over(words);
        for (int lane = 0; lane < n_lanes; ++lane)
          std::memcpy(out + lane * n_rows + row, &words[lane], static_cast<std::size_t>(size));
      }
    }
  });
  return columns;
}

}  // namespace weald::data
