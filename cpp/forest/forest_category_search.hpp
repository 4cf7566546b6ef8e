// How the engine of forests looks at a column of levels: sets of levels instead of cuts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "forest/forest_engine.hpp"
#include "split/category_order.hpp"

namespace weald::forest {

// With drawn cuts some of the levels, in a drawn order, go left; else they are ordered by what they
// teach, and the best of all sets of first levels counts.
template <class Scan>
bool ForestEngine::try_levels(Scan& scan, int column, const Rows& rows, const Draws& draws) {
  if constexpr (requires { scan.direct(0.0); }) scan.direct(0.0);  // sets have no direction
  levels_.gather(*table_, column, rows.rows, rows.n, rows.n >= KeySorter::most_keys);
  const int n = levels_.n_here();
  if (n + static_cast<int>(levels_.others.size()) < 2) return true;
  scan.count(rows.n, n, [&](std::int64_t i) { return levels_.number(i); });
  const split::CategoryLimits& limits = split::forest_category_limits;
  const std::int64_t one = 1;
  const target::Channels& channels = growing_tree_->channels;
  const double share = limits.share_of(levels_.n_of_column());
  const double row = share * channels.mean_weight() / channels.weight_of(&one);
  for (int number = 1; number <= n; ++number) {
    const bool is_rare = scan.bin_weight(number) < limits.rare_rows * row;
    (is_rare ? levels_.others : levels_.told).push_back(number);
  }
  const auto n_told = static_cast<int>(levels_.told.size());
  if (n_told == 0) return true;  // below here they are no less rare
  if (!params_.random_cuts) {
    try_ordered_levels(scan, column, limits.smooth_rows * row);
    return false;
  }
  levels_.shuffle(draws, column);
  const std::uint64_t cut = kernels::first_share + static_cast<std::uint64_t>(column);
  const int end = n_told == 1 ? 1 : 1 + static_cast<int>(draws.below(cut, n_told - 1));
  try_first_levels(scan, column, end, end);
  return false;
}

template <class Scan>
void ForestEngine::try_ordered_levels(Scan& scan, int column, double smooth) {
  const split::CategoryLimits& limits = split::forest_category_limits;
  const target::Target& target = growing_tree_->channels.target();
  const int n = levels_.n_here(), n_channels = target.n_channels;
  const auto n_told = static_cast<int>(levels_.told.size());
  const bool is_pair = n_channels == 1 || (target.classes && n_channels == 2);
  std::vector<double> size(static_cast<std::size_t>(n_channels), 0.0);
  for (const int number : levels_.told)
    for (int k = 0; !is_pair && k < n_channels; ++k) size[k] += std::abs(scan.bin_sum(number, k));
  // A pair has one order, whichever channel it is called by: all sizes are 0.
  for (const int k : split::heaviest_channels(n_channels, is_pair, limits.most_orders,
                                              [&](int channel) { return size[channel]; })) {
    double sum = 0.0, weight = 0.0;
    for (int number = 1; number <= n; ++number) {
      sum += scan.bin_sum(number, k);
      weight += scan.bin_weight(number);
    }
    const double centre = weight > 0.0 ? sum / weight : 0.0;
    levels_.order_by([&](int number) {
      return split::smoothed_mean(scan.bin_sum(number, k), scan.bin_weight(number), smooth, centre);
    });
    try_first_levels(scan, column, 1, n_told);
  }
  for (int lone = 1; !is_pair && n_told <= limits.few && lone <= n; ++lone) {
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
      if (i < from || !split::is_pair_of_sets(i, n_told, has_others, others_left)) continue;
      if (!scan.beats(left, best_.bar)) continue;
      take(scan, left, column, all_values, 0, others_left, has_others);
      best_end = i;
    }
  }
  if (best_end > 0) levels_.keep(column, best_end, best_.missing_left);
}

}  // namespace weald::forest
