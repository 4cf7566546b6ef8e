// Sorts up to 1024 keys of a small node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/kernels.hpp"

namespace weald::forest {

// Keys below 2^31; the order of keys of equal rank is unspecified. With AVX2 or AVX-512 the vector
// sort of kernels/sort.hpp takes random forests to about three quarters of their time
// (docs/decisions/0009). Without vectors, random forests with std::sort instead of the code below
// take 1.8 (20,640 x 8) to 2.8 (breast_cancer) times the processor time.
class KeySorter {
 public:
  static constexpr int payload_bits = 15;
  static constexpr std::int64_t most_keys = 1024,
                                slack = 16;  // keys behind the last that may be overwritten

  // Sorts keys whose ranks lie in [least, most]; `spare` has room for as many. Returns the sorted
  // array: either of the two.
  std::uint32_t* sort(std::uint32_t* keys, std::uint32_t* spare, std::int64_t n,
                      std::uint32_t least, std::uint32_t most) {
    if (n <= few) return by_insertion(keys, n);
    if (n > least_for_kernel && sort_keys_) {
      sort_keys_(keys, n);
      return keys;
    }
    if (n <= some) return by_comparing(keys, spare, n);
    return by_buckets(keys, spare, n, least, most);
  }

 private:
  static constexpr std::int64_t few = 5, least_for_kernel = 12, some = 32, most_in_bucket = 24;

  static std::uint32_t* by_insertion(std::uint32_t* keys, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
      const std::uint32_t key = keys[i];
      std::int64_t j = i;
      for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
      keys[j] = key;
    }
    return keys;
  }

  // The index of a key is the number of keys that are smaller, or equal and before it: no
  // unpredictable branches.
  static std::uint32_t* by_comparing(std::uint32_t* keys, std::uint32_t* sorted, std::int64_t n) {
    typedef std::int32_t Four __attribute__((vector_size(16)));
    constexpr Four before[4] = {{0, 1, 1, 1}, {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 0, 0, 0}};
    for (std::int64_t i = n; i < n + 4; ++i) keys[i] = 0x7fffffff;
    for (std::int64_t group = 0; group < n; group += 4) {
      Four mine, place{};
      __builtin_memcpy(&mine, keys + group, sizeof mine);
      for (std::int64_t i = 0; i < group; ++i)
        place -= mine > static_cast<std::int32_t>(keys[i]) - 1;
      for (std::int64_t i = 0; i < 4; ++i)
        place -= mine > static_cast<std::int32_t>(keys[group + i]) - before[i];
      for (std::int64_t i = group + 4; i < n; ++i)
        place -= mine > static_cast<std::int32_t>(keys[i]);
      const std::int64_t size = std::min<std::int64_t>(4, n - group);
      for (std::int64_t j = 0; j < size; ++j) sorted[place[j]] = keys[group + j];
    }
    return sorted;
  }

  // Ranks are spread evenly, so that few of twice as many buckets as keys hold two.
  std::uint32_t* by_buckets(std::uint32_t* keys, std::uint32_t* spare, std::int64_t n,
                            std::uint32_t least, std::uint32_t most) {
    const auto n_buckets = static_cast<std::uint32_t>(2 * n);
    const std::uint32_t factor = (n_buckets << 16) / (most - least + 1);
    const auto bucket = [&](std::uint32_t key) {
      return (((key >> payload_bits) - least) * factor) >> 16;
    };
    std::fill_n(start_.begin(), n_buckets + 1, std::uint16_t{0});
    for (std::int64_t i = 0; i < n; ++i) ++start_[bucket(keys[i])];
    std::uint16_t total = 0, largest = 0;
    for (std::uint32_t b = 0; b < n_buckets; ++b) {
      largest = std::max(largest, start_[b]);
      total = static_cast<std::uint16_t>(total + std::exchange(start_[b], total));
    }
    if (largest > most_in_bucket) return by_bytes(keys, spare, n);
    for (std::int64_t i = 0; i < n; ++i) spare[start_[bucket(keys[i])]++] = keys[i];
    return by_insertion(spare, n);
  }

  std::uint32_t* by_bytes(std::uint32_t* keys, std::uint32_t* spare, std::int64_t n) {
    by_byte(keys, n, payload_bits, spare);
    by_byte(spare, n, payload_bits + 8, keys);
    return keys;
  }
  void by_byte(const std::uint32_t* keys, std::int64_t n, int shift, std::uint32_t* out) {
    std::fill_n(start_.begin(), 256, std::uint16_t{0});
    for (std::int64_t i = 0; i < n; ++i) ++start_[(keys[i] >> shift) & 255];
    std::uint16_t total = 0;
    for (int b = 0; b < 256; ++b)
      total = static_cast<std::uint16_t>(total + std::exchange(start_[b], total));
    for (std::int64_t i = 0; i < n; ++i) out[start_[(keys[i] >> shift) & 255]++] = keys[i];
  }

  void (*sort_keys_)(std::uint32_t*, std::int64_t) = kernels::active().sort_keys;
  std::array<std::uint16_t, 2 * most_keys + 1> start_{};
};

}  // namespace weald::forest
