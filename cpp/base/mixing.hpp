// Hash and uniform-draw formulas, written once for scalars and for vectors.
#pragma once

#include <cstdint>

namespace weald {

// Weyl increment between the words of one key: 2^64 divided by the golden ratio.
constexpr std::uint64_t word_step = 0x9e3779b97f4a7c15ULL;

// Multiplies the words absorbed by a hash; also distinguishes right children from left ones.
constexpr std::uint64_t hash_factor = 0xc2b2ae3d27d4eb4fULL;

// A uniform double in [0, 1) is (word >> uniform_shift) * uniform_step.
constexpr int uniform_shift = 11;
constexpr double uniform_step = 0x1p-53;

// Always inlined: sources compiled for different instruction sets must not share one definition.

// A bijection of 64-bit words in which every input bit flips about half of the output bits.
template <class Words>
[[gnu::always_inline]] inline Words mix(Words x) {
  constexpr std::uint64_t factor = 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 32)) * factor;
  x = (x ^ (x >> 32)) * factor;
  return x ^ (x >> 32);
}

// The i-th random word of a key.
template <class Words>
[[gnu::always_inline]] inline Words random_word(std::uint64_t key, Words i) {
  return mix(key + (i + 1) * word_step);
}

// The point at fraction `share` between low (included) and high (excluded). Both are halved first
// because the difference of two finite values may overflow. NaN gives low.
template <class Numbers>
[[gnu::always_inline]] inline Numbers number_between(Numbers low, Numbers high, Numbers share) {
  const Numbers half_low = low * 0.5;
  const Numbers drawn = 2.0 * (half_low + share * (high * 0.5 - half_low));
  return ((drawn >= low) & (drawn < high)) ? drawn : low;
}

}  // namespace weald
