// How the engine of forests looks at a column of levels: sets of levels instead of cuts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "forest_engine.hpp"

namespace weald {

// What keeps many levels from being learnt by heart; rows are counted in copies of mean weight. The
// trees of a forest are grown to the end, so that in the end every level is rare: columns of few
// levels go unguarded.
struct LevelGuards {
  int few = 4;              // so many levels are, of many classes, also tried one against the rest
  int most_orders = 2;      // classes by whose shares the levels are put in order
  int free = 4;             // columns of so many levels need no guard
  double many = 16.0;       // from so many on they need all of it, in between proportionally less
  double rare_rows = 10;    // fewer rows of a level in a node: it is not told apart from the others
  double smooth_rows = 10;  // rows of the node's mean that a level gets when levels are ordered

  double share_of(int n_levels) const {
    return std::clamp((n_levels - free) / (many - free), 0.0, 1.0);
  }
};

// The channels by whose mean the levels are put in order. With the order of one sum, or of the
// share of one of two classes, one of the sets of first levels is the best of all sets; of many
// classes the heaviest few stand for all.
template <class Scan>
std::vector<int> orders_of_levels(const Scan& scan, const NodeLevels& levels, bool is_pair,
                                  int n_channels, int most) {
  if (is_pair) return {0};
  std::vector<double> total(static_cast<std::size_t>(n_channels), 0.0);
  for (const int number : levels.told)
    for (int k = 0; k < n_channels; ++k) total[k] += std::abs(scan.bin_sum(number, k));
  std::vector<int> channels;
  for (int k = 0; k < n_channels; ++k) channels.push_back(k);
  std::stable_sort(channels.begin(), channels.end(),
                   [&](int a, int b) { return total[a] > total[b]; });
  channels.resize(static_cast<std::size_t>(std::min(most, n_channels)));
  return channels;
}

// With drawn cuts some of the levels, in a drawn order, go left; else they are ordered by what they
// teach, and the best of all sets of first levels counts.
template <class Scan>
bool ForestEngine::try_levels(Scan& scan, int column, const Rows& rows, const Draws& draws) {
  if constexpr (requires { scan.direct(0.0); }) scan.direct(0.0);  // sets have no direction
  levels_.gather(*table_, column, rows.rows, rows.n, rows.n >= KeySorter::most_keys);
  const int n = levels_.n_here();
  if (n + static_cast<int>(levels_.others.size()) < 2) return true;
  scan.count(rows.n, n, [&](std::int64_t i) { return levels_.number(i); });
  const LevelGuards guards;
  const std::int64_t one = 1;
  const Channels& channels = sapling_->channels;
  const double share = guards.share_of(levels_.n_of_column());
  const double row = share * channels.mean_weight() / channels.weight_of(&one);
  for (int number = 1; number <= n; ++number) {
    const bool is_rare = scan.bin_weight(number) < guards.rare_rows * row;
    (is_rare ? levels_.others : levels_.told).push_back(number);
  }
  const auto n_told = static_cast<int>(levels_.told.size());
  if (n_told == 0) return true;  // below here they are no less rare
  if (!forest_.random_cuts) {
    try_ordered_levels(scan, column, guards.smooth_rows * row);
    return false;
  }
  levels_.shuffle(draws, column);
  const std::uint64_t cut = (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(column);
  const int end = n_told == 1 ? 1 : 1 + static_cast<int>(draws.below(cut, n_told - 1));
  try_first_levels(scan, column, end, end);
  return false;
}

template <class Scan>
void ForestEngine::try_ordered_levels(Scan& scan, int column, double smooth) {
  const LevelGuards guards;
  const Target& target = sapling_->channels.target();
  const int n = levels_.n_here(), n_channels = target.n_channels;
  const auto n_told = static_cast<int>(levels_.told.size());
  const bool is_pair = n_channels == 1 || (target.classes && n_channels == 2);
  for (const int k : orders_of_levels(scan, levels_, is_pair, n_channels, guards.most_orders)) {
    double sum = 0.0, weight = 0.0;
    for (int number = 1; number <= n; ++number) {
      sum += scan.bin_sum(number, k);
      weight += scan.bin_weight(number);
    }
    const double added = weight > 0.0 ? smooth * (sum / weight) : 0.0;
    levels_.order_by([&](int number) {
      const double own = scan.bin_weight(number) + smooth;
      return own > 0.0 ? (scan.bin_sum(number, k) + added) / own : 0.0;
    });
    try_first_levels(scan, column, 1, n_told);
  }
  for (int lone = 1; !is_pair && n_told <= guards.few && lone <= n; ++lone) {
    levels_.order_by([=](int number) { return number == lone ? 0.0 : 1.0; });
    try_first_levels(scan, column, 1, 1);
  }
}

// Tries the first 1, 2, ... levels on the left, those from `from` to `end`; the others go right,
// then left. Where all that are told apart are on the left only the first makes sense.
template <class Scan>
void ForestEngine::try_first_levels(Scan& scan, int column, int from, int end) {
  const bool has_others = !levels_.others.empty();
  const auto n_told = static_cast<int>(levels_.told.size());
  int best_end = 0;
  for (const bool others_left : {false, true}) {
    if (others_left && !has_others) break;
    auto left = scan.nothing();
    for (std::size_t i = 0; others_left && i < levels_.others.size(); ++i)
      scan.add_bin(left, levels_.others[i]);
    for (int i = 1; i <= end; ++i) {
      scan.add_bin(left, levels_.told[i - 1]);
      const bool has_right = i < n_told || (has_others && !others_left);
      if (i < from || !has_right || !scan.beats(left, best_.bar)) continue;
      take(scan, left, column, all_values, 0, others_left, has_others);
      best_end = i;
    }
  }
  if (best_end > 0) levels_.keep(column, best_end, best_.missing_left);
}

}  // namespace weald
