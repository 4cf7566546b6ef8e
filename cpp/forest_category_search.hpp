// How the engine of forests looks at a column of levels: sets of levels instead of cuts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "forest_engine.hpp"

namespace weald {

inline ForestLevelLimits level_limits() {
  static const ForestLevelLimits limits = [] {
    ForestLevelLimits one;
    if (const char* s = std::getenv("LV_FEW")) one.few = std::atoi(s);
    if (const char* s = std::getenv("LV_ORD")) one.most_orders = std::atoi(s);
    if (const char* s = std::getenv("LV_RARE")) one.rare_rows = std::atof(s);
    if (const char* s = std::getenv("LV_FREE")) one.free = std::atof(s);
    if (const char* s = std::getenv("LV_MANY")) one.many = std::atof(s);
    if (const char* s = std::getenv("LV_SMOOTH")) one.smooth_rows = std::atof(s);
    return one;
  }();
  return limits;
}

// The channels by whose mean the levels are put in order. With the order of one sum, or of the share
// of one of two classes, one of the sets of first levels is the best of all sets; of many classes
// the heaviest few stand for all.
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

// Levels told apart against each other; with drawn cuts some of them, in a drawn order, against the
// other ones.
template <class Scan>
bool ForestEngine::try_levels(Scan& scan, int column, const Rows& rows, const Draws& draws) {
  levels_.gather(*table_, column, rows.rows, rows.n, rows.n >= KeySorter::most_keys);
  const int n = levels_.n_here();
  if (n + static_cast<int>(levels_.others.size()) < 2) return true;
  scan.count(rows.n, n, [&](std::int64_t i) { return levels_.number(i); });
  if (forest_.random_cuts) {
    for (int number = 1; number <= n; ++number) levels_.tell_apart(number);
    levels_.shuffle(draws, column);
    const std::uint64_t cut = (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(column);
    const int end = n == 1 ? 1 : 1 + static_cast<int>(draws.below(cut, n - 1));
    try_first_levels(scan, column, end, end);
    return false;
  }
  const ForestLevelLimits limits = level_limits();
  const Channels& channels = sapling_.channels;
  const std::int64_t one = 1;
  const double row = channels.mean_weight() / channels.weight_of(&one);
  const double share = std::clamp(
      (levels_.n_of_column() - limits.free) / (limits.many - limits.free), 0.0, 1.0);
  double weight = 0.0;
  for (int number = 1; number <= n; ++number) {
    const bool is_rare = scan.bin_weight(number) < share * limits.rare_rows * row;
    is_rare ? levels_.put_aside(number) : levels_.tell_apart(number);
    weight += scan.bin_weight(number);
  }
  if (levels_.told.empty()) return true;  // below here they are no less rare
  const auto n_told = static_cast<int>(levels_.told.size());
  const int n_channels = channels.n_channels();
  const bool is_pair = n_channels == 1 || (channels.target().classes && n_channels == 2);
  const double smooth = n_told <= limits.few ? 0.0 : share * limits.smooth_rows * row;
  for (const int k :
       orders_of_levels(scan, levels_, is_pair, n_channels, limits.most_orders)) {
    double sum = 0.0;
    for (int number = 1; number <= n; ++number) sum += scan.bin_sum(number, k);
    const double mean = weight > 0.0 ? sum / weight : 0.0;
    levels_.order_by([&](int number) {
      const double of_level = scan.bin_weight(number) + smooth;
      return of_level > 0.0 ? (scan.bin_sum(number, k) + smooth * mean) / of_level : 0.0;
    });
    try_first_levels(scan, column, 1, n_told);
  }
  for (int lone = 1; !is_pair && n_told <= limits.few && lone <= n; ++lone) {
    levels_.order_by([=](int number) { return number == lone ? 0.0 : 1.0; });
    try_first_levels(scan, column, 1, 1);
  }
  return false;
}

// Tries the first 1, 2, ... levels on the left, those from `from` to `end`; the others go right, then
// left. Where all that are told apart are on the left only the first makes sense.
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
