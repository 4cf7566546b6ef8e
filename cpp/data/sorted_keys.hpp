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

// Least-significant-digit radix sort by the digits from `first_digit` on. Digits in which all keys
// agree are skipped, so that integers and short decimals stored as doubles are cheap. The result is
// in one of the two buffers; both have the same size.
template <class Item, class Spare>
std::span<Item> sorted_by_digits(std::span<Item> items, Spare& spare, int first_digit) {
  using K = decltype(sort_key(items[0]));
  constexpr int n_digits = (sizeof(K) * 8 + digit_bits - 1) / digit_bits;
  constexpr std::size_t n_values = std::size_t{1} << digit_bits;
  std::vector<std::array<std::uint32_t, n_values>> counts(n_digits);
  for (auto& digit : counts) digit.fill(0);
  for (const Item& item : items) {
    K key = static_cast<K>(sort_key(item) >> (first_digit * digit_bits));
    for (int d = first_digit; d < n_digits; ++d) {
      ++counts[d][key & (n_values - 1)];
      key = static_cast<K>(key >> digit_bits);
    }
  }
  spare.resize(items.size());
  std::span<Item> from = items, to(spare.data(), spare.size());
  for (int d = first_digit; d < n_digits; ++d) {
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

template <class Item>
void insertion_sort(std::span<Item> items) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Item item = items[i];
    std::size_t at = i;
    for (; at > 0 && sort_key(items[at - 1]) > sort_key(item); --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// Below this many items, initialising the digit tables takes longer than sorting; short keys have
// few digits.
template <class K>
constexpr std::size_t worth_digits = sizeof(K) == 8 ? 1024 : 512;

// Bucket sort by interpolation: moves every item near its final position according to its key
// between the minimum and the maximum, then recurses into the buckets. Each level resolves five
// bits, so recursion is shallow.
template <class Item>
void sort_by_spreading(std::span<Item> items, std::span<Item> spare) {
  using K = decltype(sort_key(items[0]));
  constexpr std::size_t few = 16;
  if (items.size() <= few) return insertion_sort(items);
  K least = sort_key(items[0]), most = least;
  for (const Item& item : items) {
    least = std::min(least, sort_key(item));
    most = std::max(most, sort_key(item));
  }
  const auto range = static_cast<K>(most - least);
  const int shift = std::max(
      0, static_cast<int>(std::bit_width(range)) - static_cast<int>(std::bit_width(items.size())));
  const auto place = [&](const Item& item) { return (sort_key(item) - least) >> shift; };
  const auto n_places = static_cast<std::size_t>(range >> shift) + 1;
  std::array<std::uint16_t, worth_digits<K>> ends;
  std::fill_n(ends.begin(), n_places, std::uint16_t{0});
  for (std::size_t i = 0; i < items.size(); ++i) {
    spare[i] = items[i];
    ++ends[place(items[i])];
  }
  std::uint16_t total = 0;
  for (std::size_t p = 0; p < n_places; ++p)
    total = static_cast<std::uint16_t>(total + std::exchange(ends[p], total));
  for (std::size_t i = 0; i < items.size(); ++i) items[ends[place(spare[i])]++] = spare[i];
  if (shift == 0) return;  // every key has its own bucket
  std::size_t begin = 0;
  for (std::size_t p = 0; p < n_places; begin = ends[p++])
    if (ends[p] - begin > few) sort_by_spreading(items.subspan(begin, ends[p] - begin), spare);
  insertion_sort(items);
}

// Sort by all digits with the fastest method; stable.
template <class Item, class Spare>
std::span<const Item> sorted(std::span<Item> items, Spare& spare) {
  if (items.size() >= worth_digits<decltype(sort_key(items[0]))>)
    return sorted_by_digits(items, spare, 0);
  spare.resize(items.size());
  sort_by_spreading(items, std::span<Item>(spare.data(), spare.size()));
  return items;
}

// The same, with the result in `items`.
template <class Item, class Allocator>
void radix_sort(std::vector<Item, Allocator>& items, std::vector<Item, Allocator>& spare) {
  if (sorted(std::span<Item>(items), spare).data() != items.data()) items.swap(spare);
}

}  // namespace weald::data
