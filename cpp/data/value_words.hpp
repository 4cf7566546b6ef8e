// A word of each row that is a sum over its values, so that a sparse table costs what it stores.
// Weaker than the hashes of content.hpp; independent of row order, dtype and memory layout.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/mixing.hpp"
#include "base/parallel.hpp"
#include "data/sparse_table.hpp"
#include "data/table.hpp"

namespace weald::data {

// A word for a value of a column; 0 for 0, so that values that are not stored add nothing.
inline std::uint64_t word_of(double value, std::int64_t column) {
  const std::uint64_t bits = canonical_bits(value);
  if (bits == 0) return 0;
  return mix(mix(bits) + (static_cast<std::uint64_t>(column) + 1) * word_step);
}

// Adds the words of columns first, first + 1, ... to those of their rows.
template <class T>
void add_words(const Table<T>& table, std::int64_t first, std::uint64_t* words, int n_threads) {
  constexpr std::int64_t block = 1024;
  parallel_for((table.n_rows + block - 1) / block, n_threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * block, table.n_rows);
    for (std::int64_t column = 0; column < table.n_columns; ++column)
      for (std::int64_t row = task * block; row < end; ++row)
        words[row] += word_of(static_cast<double>(table.at(row, column)), first + column);
  });
}
template <class T>
void add_words(const SparseTable<T>& table, std::uint64_t* words) {
  for (std::int64_t column = 0; column < table.n_columns; ++column)
    for (std::int64_t i = table.first[column]; i < table.first[column + 1]; ++i)
      words[table.rows[i]] += word_of(static_cast<double>(table.values[i]), column);
}

}  // namespace weald::data
