// ForestEngine: splits of categorical columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "forest/forest_engine.hpp"
#include "split/category_order.hpp"

namespace weald::forest {

// Random thresholds: a random prefix of the levels in random order goes left. Otherwise levels are
// sorted by their mean target, and the best prefix is taken.
template <class Scan>
bool ForestEngine::try_levels(Scan& scan, int column, const Rows& rows, const Draws& draws) {
  if constexpr (requires { scan.set_direction(0.0); })
    scan.set_direction(0.0);  // monotonic constraints do not apply
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
    (is_rare ? levels_.others : levels_.frequent).push_back(number);
  }
  const auto n_frequent = static_cast<int>(levels_.frequent.size());
  if (n_frequent == 0) return true;  // nor will there be any below this node
  if (!params_.random_cuts) {
    try_ordered_levels(scan, column, limits.smooth_rows * row);
    return false;
  }
  levels_.shuffle(draws, column);
  const std::uint64_t cut = kernels::first_share + static_cast<std::uint64_t>(column);
  const int end = n_frequent == 1 ? 1 : 1 + static_cast<int>(draws.below(cut, n_frequent - 1));
  try_first_levels(scan, column, end, end);
  return false;
}

template <class Scan>
void ForestEngine::try_ordered_levels(Scan& scan, int column, double smooth) {
  const split::CategoryLimits& limits = split::forest_category_limits;
  const target::Target& target = growing_tree_->channels.target();
  const int n = levels_.n_here(), n_channels = target.n_channels;
  const auto n_frequent = static_cast<int>(levels_.frequent.size());
  const bool is_pair = n_channels == 1 || (target.classes && n_channels == 2);
  std::vector<double> size(static_cast<std::size_t>(n_channels), 0.0);
  for (const int number : levels_.frequent)
    for (int k = 0; !is_pair && k < n_channels; ++k) size[k] += std::abs(scan.bin_sum(number, k));
  // One channel gives one order; all sizes are 0 then.
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
    try_first_levels(scan, column, 1, n_frequent);
  }
  for (int lone = 1; !is_pair && n_frequent <= limits.few && lone <= n; ++lone) {
    levels_.order_by([=](int number) { return number == lone ? 0.0 : 1.0; });
    try_first_levels(scan, column, 1, 1);
  }
}

// Tries the prefixes of length `from` to `end` on the left; rare levels and missing values go
// right, then left. If all frequent levels are on the left, only the former is a split.
template <class Scan>
void ForestEngine::try_first_levels(Scan& scan, int column, int from, int end) {
  const bool has_others = !levels_.others.empty();
  const auto n_frequent = static_cast<int>(levels_.frequent.size());
  int best_end = 0;
  for (const bool others_left : {false, true}) {
    if (others_left && !has_others) break;
    auto left = scan.empty_left();
    for (std::size_t i = 0; others_left && i < levels_.others.size(); ++i)
      scan.add_bin(left, levels_.others[i]);
    for (int i = 1; i <= end; ++i) {
      scan.add_bin(left, levels_.frequent[i - 1]);
      if (i < from || !split::is_pair_of_sets(i, n_frequent, has_others, others_left)) continue;
      if (!scan.beats(left, best_.bar)) continue;
      take(scan, left, column, all_values, 0, others_left, has_others);
      best_end = i;
    }
  }
  if (best_end > 0) levels_.keep(column, best_end, best_.missing_left);
}

}  // namespace weald::forest
