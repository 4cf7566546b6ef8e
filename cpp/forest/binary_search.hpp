// How the engine of forests tries columns of two values, in nodes of several classes.
#pragma once

#include <algorithm>
#include <utility>

#include "data/binary_columns.hpp"
#include "forest/forest_engine.hpp"

namespace weald::forest {

// As try_columns; try_other(column) tries the other columns. All that a node surely looks at are
// drawn first, for their bits are counted together.
template <class Scan, class TryOther>
void ForestEngine::try_bits_and_others(Scan& scan, const Rows& rows, const Draws& draws,
                                       data::ConstantFeatures& known, TryOther&& try_other) {
  const int wanted = columns_.wanted();
  const auto count = [&] {
    scan.count_bits(binary_columns_->words(), rows.rows, rows.n, bits_asked_);
  };
  sampled_columns_.clear();
  bits_asked_.clear();
  for (int j = 0; j < wanted; ++j) {
    const int column = columns_.draw(j, draws), bit = binary_columns_->bit_of(column);
    sampled_columns_.push_back(column);
    if (bit >= 0 && !known.has(column)) bits_asked_.push_back(bit);
  }
  std::sort(bits_asked_.begin(), bits_asked_.end());
  if (!bits_asked_.empty()) count();
  for (int j = 0; j < columns_.most() && (j < wanted || best_.column < 0); ++j) {
    const int column = j < wanted ? sampled_columns_[j] : columns_.draw(j, draws);
    if (known.has(column)) continue;
    const int bit = binary_columns_->bit_of(column);
    steps_.take(rows.n);
    if (bit >= 0 && j >= wanted) {
      bits_asked_ = {bit};
      count();
    }
    if (bit >= 0 ? try_bit(scan, column, bit, draws) : try_other(column)) known.add(column);
    if (best_.is_perfect) break;
  }
  columns_.put_back();
}

// Tells whether all rows have the same value. There is one cut, however it is found.
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
  bool expects_cuts = false;
  threshold_rows_ = rows.rows;
  best_slot_ = -1;
  try_bits_and_others(scan, rows, draws, known, [&](int column) {
    if (table_->n_levels(column) > 0) return try_levels(scan, column, rows, draws);
    if (!std::exchange(expects_cuts, true)) scan.expect_cuts(rows.n);
    const int slot = best_slot_ == 0 ? 1 : 0, first = 0;
    drawn.gather(binary_columns_->column<T>(column), 1, rows.rows, &first, 1, slot);
    return try_random_threshold(scan, drawn, slot, column, rows.n, draws);
  });
}

}  // namespace weald::forest
