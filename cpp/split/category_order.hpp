// Candidate splits of a categorical column: regularisation constants, sort orders of levels, and
// the prefixes of an order. Shared by all searches over sets of levels, which supply the sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "data/categories.hpp"
#include "kernels/smoothed_mean.hpp"
#include "target/channels.hpp"

namespace weald::split {

// Regularisation of splits on columns of many levels. Row counts are weights in units of the mean
// weight of a row. A rare level is not considered on its own: it goes to the side of missing
// values.
struct CategoryLimits {
  int few = 4;                // up to this many frequent levels, each is also tried one-vs-rest
  int most_orders = 4;        // sort by the means of at most this many channels, heaviest first
  double free = 0.0;          // no regularisation for columns of at most this many levels,
  double many = 64.0;         // full regularisation from this many on, linear in between
  double rare_rows = 10.0;    // a level with fewer rows in a node is rare
  double smooth_rows = 10.0;  // pseudo-rows of the node's mean added to a level before sorting
  double l2_rows = 10.0;      // added to l2 when a pair of sets is scored

  double share_of(int n_levels) const {
    return std::clamp((n_levels - free) / (many - free), 0.0, 1.0);
  }
  // Minimum W of a frequent level, given the mean weight of a row.
  double least_weight(int n_levels, double mean) const {
    return share_of(n_levels) * rare_rows * mean;
  }
  // Whether each of n frequent levels is tried one-vs-rest; then nothing is smoothed or penalised.
  bool are_few(std::size_t n) const { return std::cmp_less_equal(n, few); }
  // Weight added to each of n frequent levels before sorting, and to l2 when two sets are scored.
  double smoothing(std::size_t n, double mean) const {
    return are_few(n) ? 0.0 : smooth_rows * mean;
  }
  double more_l2(std::size_t n, double mean) const { return are_few(n) ? 0.0 : l2_rows * mean; }
};

// Forest trees are grown until leaves are pure, where every level is rare: columns of few levels
// are not regularised, and fewer orders are tried.
constexpr CategoryLimits forest_category_limits{.most_orders = 2, .free = 4.0, .many = 16.0};

// The heaviest channels by size_of(k), heaviest first. For one regression target, or the share of
// one of two classes, the best of all sets is a prefix of the order by mean (Fisher), and the other
// class only reverses the order; with more classes the heaviest ones are used.
template <class SizeOf>
std::vector<int> heaviest_channels(int n_channels, bool are_two_classes, int most, SizeOf size_of) {
  std::vector<int> all(static_cast<std::size_t>(n_channels));
  std::iota(all.begin(), all.end(), 0);
  std::stable_sort(all.begin(), all.end(), [&](int a, int b) { return size_of(a) > size_of(b); });
  all.resize(static_cast<std::size_t>(are_two_classes ? 1 : std::min(n_channels, most)));
  return all;
}

// The channels by whose means levels are sorted, given the integer sum of each channel.
inline std::vector<int> orders_of(const target::Channels& channels, const std::int64_t* sums,
                                  int most) {
  const int n = channels.n_channels();
  return heaviest_channels(n, channels.target().classes && n == 2, most,
                           [=](int k) { return sums[k] < 0 ? -sums[k] : sums[k]; });
}

using kernels::smoothed_mean;

// Sorts levels by key_of(level), ties by level_of(level).
class LevelSorter {
 public:
  template <class KeyOf, class LevelOf>
  void sort(std::vector<int>& levels, KeyOf key_of, LevelOf level_of) {
    keyed_.clear();
    for (const int one : levels) keyed_.push_back({key_of(one), level_of(one), one});
    std::sort(keyed_.begin(), keyed_.end(), [](const Keyed& a, const Keyed& b) {
      return a.key != b.key ? a.key < b.key : a.level < b.level;
    });
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = keyed_[i].name;
  }
  template <class KeyOf>
  void sort(std::vector<int>& levels, KeyOf key_of) {
    sort(levels, key_of, [](int level) { return level; });
  }

 private:
  struct Keyed {
    double key;
    int level, name;
  };
  std::vector<Keyed> keyed_;
};

// Whether both sides have rows if the first n of n_frequent frequent levels go left. The other
// levels (rare and missing) share a side.
constexpr bool is_pair_of_sets(std::size_t n, std::size_t n_frequent, bool has_others,
                               bool others_left) {
  return n < n_frequent ? !others_left || has_others : has_others && !others_left;
}

// For the prefixes 1, 2, ... of `levels` on the left, first with the other levels on the right and
// then on the left, call visit(left, n, others_left) with the sums of the left side until it
// returns true; returns whether it did. cell_of(level) points to a level's sums.
template <class T, class CellOf, class Visit>
bool each_first_levels(const std::vector<int>& levels, std::size_t n_frequent,
                       const std::vector<T>& others, bool has_others, CellOf cell_of, Visit visit) {
  std::vector<T> left(others.size(), T{}), side;
  const auto add = [](std::vector<T>& to, const T* one) {
    for (std::size_t c = 0; c < to.size(); ++c) to[c] += one[c];
  };
  for (std::size_t n = 1; n <= levels.size(); ++n) {
    add(left, cell_of(levels[n - 1]));
    if (is_pair_of_sets(n, n_frequent, has_others, false) && visit(left, n, false)) return true;
    if (!is_pair_of_sets(n, n_frequent, has_others, true)) continue;
    side = left;
    add(side, others.data());
    if (visit(side, n, true)) return true;
  }
  return false;
}

// Whether the first n of `levels` weigh at least as much as the other frequent ones: the side of
// values that are missing only at prediction time.
template <class WeightOf>
bool first_are_heavier(const std::vector<int>& levels, std::size_t n,
                       const std::vector<int>& frequent, WeightOf weight_of) {
  std::int64_t left = 0, total = 0;
  for (const int level : frequent) total += weight_of(level);
  for (std::size_t i = 0; i < n; ++i) left += weight_of(levels[i]);
  return left >= total - left;
}

// The set of the first n of `levels`. Rare levels, and bits beyond the last level, get the side of
// missing values.
template <class LevelOf>
data::LevelSet set_of_first(const std::vector<int>& levels, std::size_t n,
                            const std::vector<int>& frequent, int n_levels, bool missing_left,
                            LevelOf level_of) {
  data::LevelSet set((static_cast<std::size_t>(n_levels) + 63) / 64,
                     missing_left ? ~std::uint64_t{0} : 0);
  const auto bit = [](int level) { return std::uint64_t{1} << level % 64; };
  for (const int one : frequent) set[level_of(one) / 64] &= ~bit(level_of(one));
  for (std::size_t i = 0; i < n; ++i) set[level_of(levels[i]) / 64] |= bit(level_of(levels[i]));
  return set;
}
inline data::LevelSet set_of_first(const std::vector<int>& levels, std::size_t n,
                                   const std::vector<int>& frequent, int n_levels,
                                   bool missing_left) {
  return set_of_first(levels, n, frequent, n_levels, missing_left, [](int level) { return level; });
}

}  // namespace weald::split
