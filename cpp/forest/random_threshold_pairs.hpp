// Random thresholds of two columns at once: cut_columns of kernels/random_thresholds.hpp for
// machines without AVX-512.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "forest/random_threshold_values.hpp"
#include "kernels/random_thresholds.hpp"

namespace weald::forest {

typedef double TwoNumbers __attribute__((vector_size(16)));
typedef std::uint64_t TwoWords __attribute__((vector_size(16)));

// Adds both words of each row to the sums of the columns whose lane of lanes_of(i) is set.
template <class LanesOf>
void add_to_two(const std::uint64_t* rows, std::int64_t n,
                std::uint64_t (*sums)[kernels::RandomThresholds::most], LanesOf lanes_of) {
  TwoWords first{}, second{};
  for (std::int64_t i = 0; i < n; ++i) {
    const TwoWords which = lanes_of(i);
    first += TwoWords{rows[2 * i], rows[2 * i]} & which;
    second += TwoWords{rows[2 * i + 1], rows[2 * i + 1]} & which;
  }
  std::memcpy(sums[0], &first, sizeof first);
  std::memcpy(sums[1], &second, sizeof second);
}

inline TwoNumbers shares_of_two(const kernels::RandomThresholds& cuts) {
  const Draws draws(cuts.key);
  return TwoNumbers{share_drawn(cuts.column[0], draws), share_drawn(cuts.column[1], draws)};
}

// For a single column the second is the same. `buffer`: two doubles per row.
template <class T>
void cut_two_columns(const T* values, std::int64_t stride, const std::uint64_t* rows,
                     std::int64_t n, kernels::RandomThresholds* cuts, double* buffer) {
  const T *const of_first = values + cuts->column[0], *const of_second = values + cuts->column[1];
  constexpr double far = std::numeric_limits<double>::infinity();
  TwoNumbers low{far, far}, high{-far, -far};
  TwoWords missing{};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t offset = static_cast<std::int64_t>(rows[2 * i] >> 32) * stride;
    const TwoNumbers x{static_cast<double>(of_first[offset]),
                       static_cast<double>(of_second[offset])};
    std::memcpy(buffer + 2 * i, &x, sizeof x);
    low = x < low ? x : low;
    high = x > high ? x : high;
    missing |= reinterpret_cast<TwoWords>(x != x);
  }
  const TwoNumbers between = number_between(low, high, shares_of_two(*cuts));
  const TwoNumbers cut = low < high ? between : TwoNumbers{far, far};
  const auto x_of = [&](std::int64_t i) {
    TwoNumbers x;
    std::memcpy(&x, buffer + 2 * i, sizeof x);
    return x;
  };
  add_to_two(rows, n, cuts->left,
             [&](std::int64_t i) { return reinterpret_cast<TwoWords>(x_of(i) <= cut); });
  const auto bits = [](TwoWords which) {
    return static_cast<std::uint32_t>((which[0] & 1) | (which[1] & 2));
  };
  cuts->vary = bits(reinterpret_cast<TwoWords>(low < high));
  cuts->miss_some = bits(missing);
  if (cuts->miss_some != 0)
    add_to_two(rows, n, cuts->missing,
               [&](std::int64_t i) { return reinterpret_cast<TwoWords>(x_of(i) != x_of(i)); });
  std::memcpy(cuts->least, &low, sizeof low);
  std::memcpy(cuts->largest, &high, sizeof high);
  std::memcpy(cuts->cut, &cut, sizeof cut);
}

}  // namespace weald::forest
