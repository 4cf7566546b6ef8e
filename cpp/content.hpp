// Draws by content: a 128-bit hash of what a row holds, and random numbers keyed by it.
#pragma once

#include <cstdint>

#include "parallel.hpp"
#include "table.hpp"

namespace weald {

struct Hash128 {
  std::uint64_t low, high;
};

// A bijection of 64-bit words in which every input bit moves about half of the output bits.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

inline void absorb(Hash128& hash, std::uint64_t word) {
  hash.low = mix(hash.low ^ word) + 0x9e3779b97f4a7c15ULL;
  hash.high = mix(hash.high + (word * 0xc2b2ae3d27d4eb4fULL)) ^ hash.low;
}

// Names one random number per row: the user's seed, the member it is for, and what it decides.
struct DrawKey {
  std::uint64_t seed, member, purpose;

  std::uint64_t operator()(const Hash128& row) const {
    Hash128 state{row.low, row.high};
    absorb(state, seed);
    absorb(state, member);
    absorb(state, purpose);
    return mix(state.high ^ mix(state.low));
  }
};

// Absorbs further columns into the rows' hashes: equal rows, equal hashes, whatever the order of
// the rows, the dtype or the memory layout.
template <class T>
void hash_more(const Table<T>& table, Hash128* hashes, int n_threads) {
  constexpr std::int64_t block = 1024;
  const std::int64_t n_blocks = (table.n_rows + block - 1) / block;
  parallel_for(n_blocks, n_threads, [&](std::int64_t task, int) {
    const std::int64_t begin = task * block;
    const std::int64_t end = begin + block < table.n_rows ? begin + block : table.n_rows;
    // Column by column inside a block: the table may be stored either way.
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

}  // namespace weald
