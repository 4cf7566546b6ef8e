// ForestEngine: binary columns in nodes with several classes.
#pragma once

#include <algorithm>
#include <utility>

#include "data/binary_columns.hpp"
#include "forest/forest_engine.hpp"

namespace weald::forest {

// try_columns for tables with many binary columns; try_other(column) tries all other columns. The
// first max_features columns are drawn up front, so that their bits are counted in one pass over
// the rows. data/binary_columns.hpp says by how much.
template <class Scan, class TryOther>
void ForestEngine::try_bits_and_others(Scan& scan, const Rows& rows, const Draws& draws,
                                       data::ConstantFeatures& known, TryOther&& try_other) {
  const int wanted = columns_.wanted();
  const auto count = [&] {
    scan.count_bits(binary_columns_->words(), rows.rows, rows.n, bits_tried_);
  };
  sampled_columns_.clear();
  bits_tried_.clear();
  for (int j = 0; j < wanted; ++j) {
    const int column = columns_.draw(j, draws), bit = binary_columns_->bit_of(column);
    sampled_columns_.push_back(column);
    if (bit >= 0 && !known.has(column)) bits_tried_.push_back(bit);
  }
  std::sort(bits_tried_.begin(), bits_tried_.end());
  if (!bits_tried_.empty()) count();
  for (int j = 0; j < columns_.most() && (j < wanted || best_.column < 0); ++j) {
    const int column = j < wanted ? sampled_columns_[j] : columns_.draw(j, draws);
    if (known.has(column)) continue;
    const int bit = binary_columns_->bit_of(column);
    steps_.take(rows.n);
    if (bit >= 0 && j >= wanted) {
      bits_tried_ = {bit};
      count();
    }
    if (bit >= 0 ? try_bit(scan, column, bit, draws) : try_other(column)) known.add(column);
    if (best_.is_perfect) break;
  }
  columns_.put_back();
}

// Returns whether the column is constant. A binary column has one candidate split.
template <class Scan>
bool ForestEngine::try_bit(Scan& scan, int column, int bit, const Draws& draws) {
  if (!scan.put_rows_without(bit)) return true;
  if (!scan.beats({}, best_.bar)) return false;
  if (params_.random_cuts) {
    const double cut =
        draw_cut(column, binary_columns_->low(bit), binary_columns_->high(bit), draws);
    take(scan, {}, column, 0, 0, false, false, cut);
    best_slot_ = -1;
  } else {
    take(scan, {}, column, 1, 2, false, false);
  }
  return false;
}

template <class Scan, class T>
void ForestEngine::try_binary_and_random(Scan& scan, RandomThresholdValues<T>& drawn,
                                         const Rows& rows, const Draws& draws,
                                         data::ConstantFeatures& known) {
  drawn.start(rows.n);
  bool is_prepared = false;
  threshold_rows_ = rows.rows;
  best_slot_ = -1;
  try_bits_and_others(scan, rows, draws, known, [&](int column) {
    if (table_->n_levels(column) > 0) return try_levels(scan, column, rows, draws);
    if (!std::exchange(is_prepared, true)) scan.prepare_thresholds(rows.n);
    const int slot = best_slot_ == 0 ? 1 : 0, first = 0;
    drawn.gather(binary_columns_->column<T>(column), 1, rows.rows, &first, 1, slot);
    return try_random_threshold(scan, drawn, slot, column, rows.n, draws);
  });
}

}  // namespace weald::forest
