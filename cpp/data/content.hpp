// Content hashes of rows: equal rows have equal hashes.
#pragma once

#include <cstdint>

#include "base/draws.hpp"
#include "base/mixing.hpp"
#include "base/parallel.hpp"
#include "data/table.hpp"

namespace weald::data {

// Absorbs further columns into the rows' hashes. Independent of row order, dtype and memory layout.
template <class T>
void hash_more(const Table<T>& table, Hash128* hashes, int n_threads) {
  constexpr std::int64_t block = 1024;
  const std::int64_t n_blocks = (table.n_rows + block - 1) / block;
  parallel_for(n_blocks, n_threads, [&](std::int64_t task, int) {
    const std::int64_t begin = task * block;
    const std::int64_t end = begin + block < table.n_rows ? begin + block : table.n_rows;
    // Column by column within a block, since the table may be row- or column-major.
    for (std::int64_t column = 0; column < table.n_columns; ++column)
      for (std::int64_t row = begin; row < end; ++row)
        absorb(hashes[row], canonical_bits(static_cast<double>(table.at(row, column))));
  });
}

// hashes[row] covers every value of the row and its target.
template <class T>
void hash_rows(const Table<T>& table, const double* target, Hash128* hashes, int n_threads) {
  for (std::int64_t row = 0; row < table.n_rows; ++row) {
    hashes[row] = {0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
    absorb(hashes[row], canonical_bits(target[row]));
  }
  hash_more(table, hashes, n_threads);
}

}  // namespace weald::data
