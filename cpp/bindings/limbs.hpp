// 128-bit sums as four integers of 32 bits, the last one signed, which are summed over many parts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/exact_sum.hpp"

namespace weald::bindings {

constexpr int n_limbs = 4;

using Integers = std::vector<std::int64_t>;

inline void add_limbs(Integers& to, weald::Int128 x) {
  for (int i = 0; i + 1 < n_limbs; ++i)
    to.push_back(static_cast<std::int64_t>(static_cast<std::uint32_t>(x >> (32 * i))));
  to.push_back(static_cast<std::int64_t>(x >> (32 * (n_limbs - 1))));
}

inline weald::Int128 of_limbs(const std::int64_t* limbs) {
  weald::Int128 x = 0;
  for (int i = 0; i < n_limbs; ++i)
    x += static_cast<weald::Int128>(limbs[i]) * (weald::Int128{1} << (32 * i));
  return x;
}

}  // namespace weald::bindings
