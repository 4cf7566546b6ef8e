// Quantile cuts of values without heavy ones, without a full sort: of a million floats only those
// near a cut need their exact order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/binning.hpp"
#include "data/sorted_keys.hpp"

namespace weald::data {

// Keys sorted by their upper bits; groups with equal upper bits are sorted on demand.
template <class K>
class NearlySorted {
 public:
  NearlySorted(std::span<K> keys, int lower_bits) : keys_(keys), lower_bits_(lower_bits) {}

  std::int64_t size() const { return std::ssize(keys_); }
  K operator[](std::int64_t i) const { return keys_[i]; }

  struct Group {
    std::int64_t begin, end;
  };
  // The range of keys with the same upper bits as key i.
  Group group_of(std::int64_t i) const {
    const K upper = keys_[i] >> lower_bits_;
    const auto is_below = [&](K key) { return key >> lower_bits_ < upper; };
    const auto is_within = [&](K key) { return key >> lower_bits_ <= upper; };
    const auto begin = keys_.begin(), at = begin + i;
    return {std::partition_point(begin, at, is_below) - begin,
            std::partition_point(at, keys_.end(), is_within) - begin};
  }

  // Sort the group of key i.
  void settle(std::int64_t i) {
    const Group group = group_of(i);
    std::sort(keys_.begin() + group.begin, keys_.begin() + group.end);
  }

  // One past the last key equal to key i, whose group must be sorted.
  std::int64_t end_of_run(std::int64_t i) const {
    const K key = keys_[i];
    while (i < size() && keys_[i] == key) ++i;
    return i;
  }

 private:
  std::span<K> keys_;
  int lower_bits_;
};

// The result of cuts_by_mass (binning.cpp) for keys of mass 1; nothing if a value might be heavy or
// the groups are so large that a full sort is faster. Reads few of the keys.
template <class T>
std::optional<std::vector<double>> even_cuts(NearlySorted<Key<T>> keys, int max_bins) {
  const std::int64_t n = keys.size(), heavy = (n + max_bins - 1) / max_bins;
  // A run of at least this many equal keys covers one of these positions.
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
