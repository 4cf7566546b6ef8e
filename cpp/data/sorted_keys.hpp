// Order-preserving integer keys of floats, and a radix sort of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace weald::data {

// Integers in the order of the floats: all bits of negative numbers are flipped, only the sign bit
// of others.
template <class T>
using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
Key<T> key_of(T x) {
  constexpr Key<T> sign = Key<T>{1} << (sizeof(T) * 8 - 1);
  const Key<T> bits = std::bit_cast<Key<T>>(x + T{0});  // -0 becomes 0
  return (bits & sign) ? ~bits : (bits | sign);
}

template <class T>
T value_of(Key<T> key) {
  constexpr Key<T> sign = Key<T>{1} << (sizeof(T) * 8 - 1);
  return std::bit_cast<T>((key & sign) ? (key ^ sign) : ~key);
}

// The key of a sorted item: the item itself, or its `key` field.
template <std::unsigned_integral K>
K sort_key(K item) {
  return item;
}
template <class Item>
auto sort_key(const Item& item) -> decltype(item.key) {
  return item.key;
}

constexpr int digit_bits = 11;

// Least-significant-digit radix sort. Digits in which all keys agree are skipped, so that integers
// and short decimals stored as doubles are cheap. The result is in one of the two buffers; both
// have the same size.
template <class Item, class Spare>
std::span<Item> sorted_by_digits(std::span<Item> items, Spare& spare) {
  using K = decltype(sort_key(items[0]));
  constexpr int n_digits = (sizeof(K) * 8 + digit_bits - 1) / digit_bits;
  constexpr std::size_t n_values = std::size_t{1} << digit_bits;
  std::vector<std::array<std::uint32_t, n_values>> counts(n_digits);
  for (auto& digit : counts) digit.fill(0);
  for (const Item& item : items) {
    K key = sort_key(item);
    for (int d = 0; d < n_digits; ++d) {
      ++counts[d][key & (n_values - 1)];
      key = static_cast<K>(key >> digit_bits);
    }
  }
  spare.resize(items.size());
  std::span<Item> from = items, to(spare.data(), spare.size());
  for (int d = 0; d < n_digits; ++d) {
    auto& start = counts[d];
    if (std::find(start.begin(), start.end(), items.size()) != start.end()) continue;
    std::uint32_t total = 0;
    for (auto& count : start) total += std::exchange(count, total);
    for (const Item& item : from)
      to[start[(sort_key(item) >> (d * digit_bits)) & (n_values - 1)]++] = item;
    std::swap(from, to);
  }
  return from;
}

// Below this many items, initialising the digit tables takes longer than sorting; short keys have
// few digits.
template <class K>
constexpr std::size_t worth_digits = sizeof(K) == 8 ? 1024 : 512;

// Sort by all digits; stable.
template <class Item, class Spare>
std::span<const Item> sorted(std::span<Item> items, Spare& spare) {
  if (items.size() >= worth_digits<decltype(sort_key(items[0]))>)
    return sorted_by_digits(items, spare);
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return sort_key(a) < sort_key(b); });
  return items;
}

// The same, with the result in `items`.
template <class Item, class Allocator>
void radix_sort(std::vector<Item, Allocator>& items, std::vector<Item, Allocator>& spare) {
  if (sorted(std::span<Item>(items), spare).data() != items.data()) items.swap(spare);
}

}  // namespace weald::data
