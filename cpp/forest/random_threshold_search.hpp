// ForestEngine: random thresholds (ExtraTrees).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "forest/binary_search.hpp"  // and with it forest_engine.hpp

namespace weald::forest {

// One threshold; missing values are tried on both sides.
template <class Scan, class T>
bool ForestEngine::try_random_threshold(Scan& scan, const RandomThresholdValues<T>& drawn, int slot,
                                        int column, std::int64_t n, const Draws& draws) {
  if constexpr (requires { scan.set_direction(0.0); })
    scan.set_direction(limits_.direction_of(column));
  std::int64_t n_present = n;
  const auto range =
      table_->has_missing(column) ? drawn.range_of_present(slot, n_present) : drawn.range(slot);
  const bool has_missing = n_present < n, is_constant = !(range.least < range.most);
  if (n_present == 0 || (is_constant && !has_missing)) return true;
  const double cut = is_constant ? std::numeric_limits<double>::infinity()
                                 : draw_cut(column, static_cast<double>(range.least),
                                            static_cast<double>(range.most), draws);
  for (const bool missing_left : {false, true}) {
    if (missing_left && (!has_missing || is_constant)) break;
    auto left = scan.empty_left();
    scan.add_up_to(left, drawn.slot(slot), n, at_most<T>(cut), missing_left);
    if (!(is_constant ? parts_missing(scan, left, column) : scan.beats(left, best_.bar))) continue;
    take(scan, left, column, is_constant ? all_values : 0, 0, missing_left, has_missing, cut);
    best_slot_ = slot;
  }
  return false;
}

// try_columns for random thresholds: values of several columns are gathered at once; small nodes,
// which may end with the first column, gather one.
template <class Scan, class T>
void ForestEngine::try_random_thresholds(Scan& scan, RandomThresholdValues<T>& drawn,
                                         const T* values, const Rows& rows, const Draws& draws,
                                         data::ConstantFeatures& known) {
  if constexpr (requires { scan.put_rows_without(0); })
    if (binary_columns_) return try_binary_and_random(scan, drawn, rows, draws, known);
  constexpr std::int64_t few = 12;
  const int n = columns_.most(), wanted = columns_.wanted();
  best_slot_ = -1;
  const int n_slots = drawn.start(rows.n);
  scan.prepare_thresholds(rows.n);
  threshold_rows_ = rows.rows;
  std::array<int, RandomThresholdValues<T>::most_slots> columns;
  for (int j = 0, slot = 0; j < n && (j < wanted || best_.column < 0);) {
    if (slot == n_slots) slot = 0;
    const int most = rows.n < few ? 1 : n_slots - slot;
    int n_drawn = 0, of_levels = -1;
    const int end = std::max(j + 1, wanted);
    for (; j < end && n_drawn < most && of_levels < 0; ++j) {
      const int column = columns_.draw(j, draws);
      if (known.has(column)) continue;
      (table_->n_levels(column) > 0 ? of_levels : columns[n_drawn++]) = column;
    }
    if (best_slot_ >= slot && best_slot_ < slot + n_drawn) best_slot_ = -1;
    steps_.take(rows.n * n_drawn);
    drawn.gather(values, table_->stride(), rows.rows, columns.data(), n_drawn, slot);
    for (int c = 0; c < n_drawn && !best_.is_perfect; ++c, ++slot)
      if (try_random_threshold(scan, drawn, slot, columns[c], rows.n, draws)) known.add(columns[c]);
    if (of_levels >= 0 && !best_.is_perfect && try_levels(scan, of_levels, rows, draws))
      known.add(of_levels);
    if (best_.is_perfect) break;
  }
  columns_.put_back();
}

}  // namespace weald::forest
