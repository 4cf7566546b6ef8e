// Which sets of a column's levels are tried: the guards, the orders of levels and the pairs of sets
// that an order gives. Shared by all searches for sets; what the levels' sums are is theirs to say.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "data/categories.hpp"

namespace weald::split {

// Guards against overfitting on columns of many levels. Rows are counted by their weight, in units
// of the mean weight of a row. A rare level is not told apart: it shares the side of missing
// values.
struct CategoryLimits {
  int few = 4;                // up to so many levels each is also tried alone against the rest
  int most_orders = 4;        // channels by whose means the levels are sorted: the heaviest ones
  double free = 0.0;          // columns of so many levels have no guard,
  double many = 64.0;         // of so many the whole one; in between it grows in proportion
  double rare_rows = 10.0;    // a level of fewer rows in a node is rare
  double smooth_rows = 10.0;  // rows of the node's mean added to a level when levels are sorted
  double l2_rows = 10.0;      // added to l2 when two sets are judged

  double share_of(int n_levels) const {
    return std::clamp((n_levels - free) / (many - free), 0.0, 1.0);
  }
  // W of a level that is told apart, where a row's is `mean`.
  double least_weight(int n_levels, double mean) const {
    return share_of(n_levels) * rare_rows * mean;
  }
};

// The trees of a forest are grown until their leaves are pure, so that in the end every level is
// rare: columns of few levels have no guard, and a tree tries fewer orders.
constexpr CategoryLimits forest_category_limits{.most_orders = 2, .free = 4.0, .many = 16.0};

// The heaviest channels, size_of(k) each, the heaviest first. In the order of the mean of one
// number, or of the share of one of two classes, one of the sets of first levels is the best of all
// sets, and the other class only turns the order round; of many classes the heaviest stand for all.
template <class SizeOf>
std::vector<int> heaviest_channels(int n_channels, bool are_two_classes, int most, SizeOf size_of) {
  std::vector<int> all(static_cast<std::size_t>(n_channels));
  std::iota(all.begin(), all.end(), 0);
  std::stable_sort(all.begin(), all.end(), [&](int a, int b) { return size_of(a) > size_of(b); });
  all.resize(static_cast<std::size_t>(are_two_classes ? 1 : std::min(n_channels, most)));
  return all;
}

// The mean of a level's sum, with so much weight of the centre added; 0 without any weight.
inline double smoothed_mean(double sum, double weight, double smooth, double centre) {
  const double whole = weight + smooth;
  return whole > 0.0 ? (sum + smooth * centre) / whole : 0.0;
}

// Sorts levels by key_of(level), equal keys by level_of(level).
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

// Whether both sides have rows where the first n of n_told levels go left. The others are the rare
// levels and missing values, which share a side.
constexpr bool is_pair_of_sets(std::size_t n, std::size_t n_told, bool has_others,
                               bool others_left) {
  return n < n_told ? !others_left || has_others : has_others && !others_left;
}

// Calls visit(left, n, others_left), `left` being the sums of the left side, for the first 1, 2,
// ... of some of the n_told levels on the left, the others on the right, then on the left; until it
// returns true. Returns whether it did. cell_of(level) points at a level's sums.
template <class T, class CellOf, class Visit>
bool each_first_levels(const std::vector<int>& levels, std::size_t n_told,
                       const std::vector<T>& others, bool has_others, CellOf cell_of, Visit visit) {
  std::vector<T> left(others.size(), T{}), side;
  const auto add = [](std::vector<T>& to, const T* one) {
    for (std::size_t c = 0; c < to.size(); ++c) to[c] += one[c];
  };
  for (std::size_t n = 1; n <= levels.size(); ++n) {
    add(left, cell_of(levels[n - 1]));
    if (is_pair_of_sets(n, n_told, has_others, false) && visit(left, n, false)) return true;
    if (!is_pair_of_sets(n, n_told, has_others, true)) continue;
    side = left;
    add(side, others.data());
    if (visit(side, n, true)) return true;
  }
  return false;
}

// The set of the first n of `levels`. Levels that are not told apart, and bits that are no level,
// are where missing values are.
template <class LevelOf>
data::LevelSet set_of_first(const std::vector<int>& levels, std::size_t n,
                            const std::vector<int>& told, int n_levels, bool missing_left,
                            LevelOf level_of) {
  data::LevelSet set((static_cast<std::size_t>(n_levels) + 63) / 64,
                     missing_left ? ~std::uint64_t{0} : 0);
  const auto bit = [](int level) { return std::uint64_t{1} << level % 64; };
  for (const int one : told) set[level_of(one) / 64] &= ~bit(level_of(one));
  for (std::size_t i = 0; i < n; ++i) set[level_of(levels[i]) / 64] |= bit(level_of(levels[i]));
  return set;
}
inline data::LevelSet set_of_first(const std::vector<int>& levels, std::size_t n,
                                   const std::vector<int>& told, int n_levels, bool missing_left) {
  return set_of_first(levels, n, told, n_levels, missing_left, [](int level) { return level; });
}

}  // namespace weald::split
