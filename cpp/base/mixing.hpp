// Formulas of random numbers, written once for a single number and for vectors of them.
#pragma once

#include <cstdint>

namespace weald {

// Weyl step between the words of one key: 2^64 divided by the golden ratio.
constexpr std::uint64_t word_step = 0x9e3779b97f4a7c15ULL;

// Always inlined: sources compiled for different instruction sets must not share one definition.

// A bijection of 64-bit words in which every input bit moves about half of the output bits.
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

// The number that lies a share of the way from low to high, low included and high not. Halves come
// first: the difference of two floats may be infinite. What is no number is not between.
template <class Numbers>
[[gnu::always_inline]] inline Numbers number_between(Numbers low, Numbers high, Numbers share) {
  const Numbers half_low = low * 0.5;
  const Numbers drawn = 2.0 * (half_low + share * (high * 0.5 - half_low));
  return ((drawn >= low) & (drawn < high)) ? drawn : low;
}

}  // namespace weald
