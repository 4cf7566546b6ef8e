// Cuts of equal counts among values of which none is heavy, without sorting them to the last bit:
// of a million floats only those near a cut need their exact order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/binning.hpp"
#include "data/sorted_keys.hpp"

namespace weald::data {

// Keys in the order of their upper bits; groups that agree in these are put in order when needed.
template <class K>
class NearlySorted {
 public:
  NearlySorted(std::span<K> keys, int lower_bits) : keys_(keys), lower_bits_(lower_bits) {}

  std::int64_t size() const { return std::ssize(keys_); }
  K operator[](std::int64_t i) const { return keys_[i]; }

  struct Group {
    std::int64_t begin, end;
  };
  // The keys around i whose upper bits are those of i.
  Group group_of(std::int64_t i) const {
    const K upper = keys_[i] >> lower_bits_;
    const auto is_below = [&](K key) { return key >> lower_bits_ < upper; };
    const auto is_within = [&](K key) { return key >> lower_bits_ <= upper; };
    const auto begin = keys_.begin(), at = begin + i;
    return {std::partition_point(begin, at, is_below) - begin,
            std::partition_point(at, keys_.end(), is_within) - begin};
  }

  // Puts the group of i in order.
  void settle(std::int64_t i) {
    const Group group = group_of(i);
    std::sort(keys_.begin() + group.begin, keys_.begin() + group.end);
  }

  // Behind the last key equal to that of i, whose group is in order.
  std::int64_t end_of_run(std::int64_t i) const {
    const K key = keys_[i];
    while (i < size() && keys_[i] == key) ++i;
    return i;
  }

 private:
  std::span<K> keys_;
  int lower_bits_;
};

// What cuts_by_mass finds (binning.cpp) if every key counts once; nothing if a value might be heavy
// or the groups are so large that sorting all is quicker. Reads few of the keys.
template <class T>
std::optional<std::vector<double>> even_cuts(NearlySorted<Key<T>> keys, int max_bins) {
  const std::int64_t n = keys.size(), heavy = (n + max_bins - 1) / max_bins;
  // So many equal keys in a row, or more, cover one of these places.
  std::int64_t n_grouped = 0;
  for (std::int64_t i = heavy - 1; i < n; i += heavy) {
    const auto group = keys.group_of(i);
    if (group.end - group.begin >= heavy) return {};
    n_grouped += group.end - group.begin;
  }
  if (n_grouped > n / 16) return {};
  std::vector<double> cuts;
  std::int64_t begin = 0;
  for (std::int64_t bins = max_bins; bins > 1; --bins) {
    const std::int64_t last = begin + std::max<std::int64_t>(1, (n - begin) / bins) - 1;
    keys.settle(last);
    const std::int64_t end = keys.end_of_run(last);
    if (end == n) break;
    keys.settle(end);
    cuts.push_back(cut_between(static_cast<double>(value_of<T>(keys[end - 1])),
                               static_cast<double>(value_of<T>(keys[end]))));
    begin = end;
  }
  return cuts;
}

}  // namespace weald::data
