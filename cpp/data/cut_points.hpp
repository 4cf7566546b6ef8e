// Cut points of one column, from its sorted values and their masses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/binning.hpp"
#include "data/sorted_keys.hpp"

namespace weald::data {

// A key and the mass of its row; without masses the key itself, with mass 1.
template <class K>
struct Weighted {
  K key;
  std::int64_t mass;
};
template <class K>
std::int64_t mass_of(K) {
  return 1;
}
template <class K>
std::int64_t mass_of(const Weighted<K>& item) {
  return item.mass;
}

// Iterates over the runs of equal values among sorted ones, with their mass, without storing a list
// of distinct values.
template <class T, class Item>
class Runs {
 public:
  struct Run {
    Key<T> key;
    std::int64_t mass;

    double cut_before(const Run& next) const {
      return cut_between(static_cast<double>(value_of<T>(key)),
                         static_cast<double>(value_of<T>(next.key)));
    }
  };

  explicit Runs(std::span<const Item> sorted)
      : at_(sorted.data()), end_(sorted.data() + sorted.size()) {}

  // Reads the next run; false at the end.
  bool read(Run& run) {
    if (at_ == end_) return false;
    run = {sort_key(*at_), mass_of(*at_)};
    while (++at_ != end_ && sort_key(*at_) == run.key) run.mass += mass_of(*at_);
    return true;
  }

 private:
  const Item *at_, *end_;
};

// Equal mass, greedily from below. A heavy value (at least the mass of an average bin) closes its
// own bin and, while bins remain, the bin before it, so that it has its own bin.
template <class T, class Item>
std::vector<double> cuts_by_mass(std::span<const Item> sorted, int max_bins) {
  typename Runs<T, Item>::Run here, next;
  std::int64_t total = 0;
  for (const Item& item : sorted) total += mass_of(item);
  const std::int64_t heavy_mass = (total + max_bins - 1) / max_bins;
  std::int64_t light_mass = total, light_bins = max_bins;
  for (Runs<T, Item> runs(sorted); runs.read(here);) {
    if (here.mass < heavy_mass) continue;
    light_mass -= here.mass;
    --light_bins;
  }
  std::vector<double> cuts;
  std::int64_t in_bin = 0, enough = light_bins > 0 ? light_mass / light_bins : total;
  Runs<T, Item> runs(sorted);
  runs.read(here);
  for (; static_cast<int>(cuts.size()) < max_bins - 1 && runs.read(next); here = next) {
    in_bin += here.mass;
    const bool heavy = here.mass >= heavy_mass;
    if (!heavy) light_mass -= here.mass;
    const bool full = light_bins > 0 && (in_bin >= enough || next.mass >= heavy_mass);
    if (!heavy && !full) continue;
    cuts.push_back(here.cut_before(next));
    in_bin = 0;
    if (!heavy) {
      --light_bins;
      enough = light_bins > 0 ? light_mass / light_bins : total;
    }
  }
  return cuts;
}

// One cut between every two distinct values, or cuts by mass if there are too many.
template <class T, class Item>
std::vector<double> cuts_of(std::span<const Item> sorted, int max_bins) {
  typename Runs<T, Item>::Run here, next;
  Runs<T, Item> runs(sorted);
  std::vector<double> cuts;
  for (bool any = runs.read(here); any && runs.read(next); here = next) {
    if (static_cast<int>(cuts.size()) == max_bins - 1) return cuts_by_mass<T>(sorted, max_bins);
    cuts.push_back(here.cut_before(next));
  }
  return cuts;
}

}  // namespace weald::data
