#include "split/half_word_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "split/category_search.hpp"
#include "split/least_weight.hpp"

namespace weald::split {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

bool is_empty(const std::int64_t* cell, int size) {
  return std::all_of(cell, cell + size, [](std::int64_t word) { return word == 0; });
}

}  // namespace

HalfWordSearch::HalfWordSearch(const target::Channels& channels, const SplitLimits& limits,
                               const std::int64_t* totals)
    : channels_(channels), limits_(limits), totals_(totals) {
  const double weight_step = channels.weight_step(), sum_step = channels.sum_step();
  node_.totals = totals;
  node_.n_channels = channels.n_channels();
  node_.n_words = channels.histogram_cell_size();
  node_.l2 = limits.penalty.l2 / weight_step;
  node_.min_weight = least_weight(channels, limits);
  node_.min_count = channels.count_index() > 0 ? static_cast<double>(limits.min_samples_leaf) : 0.0;
  scale_ = 0.5 * sum_step * sum_step / weight_step;
  double squares = 0.0;
  for (int k = 0; k < node_.n_channels; ++k) {
    const auto sum_of_channel = static_cast<double>(totals[1 + k]);
    squares += sum_of_channel * sum_of_channel;
  }
  parent_ = squares / (static_cast<double>(totals[0]) + node_.l2) * scale_;
}

HalfWordSearch::Found HalfWordSearch::search_part(const data::Categories& categories,
                                                  const HistogramLayout& layout, int part,
                                                  const std::int64_t* cells,
                                                  const data::CandidateColumns& columns) {
  Found best;
  Column best_column{};
  kernels::LaneBests bests;
  bool is_searched = false;
  for (int lane = 0; lane < layout.lanes_of(part); ++lane) {
    const int index = layout.column_of(part, lane);
    if (layout.part_of(index) != part || !columns.takes(index)) continue;
    const Column column{index, cells + layout.column_begin(index), layout.stride_of(index),
                        layout.levels_of(index)};
    if (categories.holds(index)) {
      try_levels(column, best);
      continue;
    }
    if (!std::exchange(is_searched, true))
      kernels::active().search_half_words(cells + layout.part_begin(part), layout.bins_of(part),
                                          node_, bests);
    if (try_numbers(column, bests.score[lane], bests.place[lane], best)) best_column = column;
  }
  if (best.split.found() && best.split.left_set.empty()) place_missing(best_column, best.split);
  return best;
}

// As SplitSearch, which tries split after split. Returns whether the column's best split is better.
bool HalfWordSearch::try_numbers(const Column& column, double score, std::int64_t place,
                                 Found& best) const {
  if (score == none) return false;
  best.any_admitted = true;
  const double children = score * scale_, gain = children - parent_;
  const int gain_unit = criteria::gain_exponent<criteria::Newton>(channels_.unit());
  if (!(gain > best.split.gain) || !limits_.is_worth(gain, children, gain_unit)) return false;
  best.split = {gain, column.index, static_cast<int>(place / 2), place % 2 != 0, 0.0, {}};
  return true;
}

void HalfWordSearch::place_missing(const Column& column, Split& best) const {
  if (is_empty(column.cells, node_.n_words)) {
    // Values missing only at prediction time go to the heavier child.
    std::int64_t left = 0;
    for (int bin = 1; bin <= best.bin; ++bin)
      left += kernels::packed_h(column.cells[bin * column.stride]);
    best.missing_left = left >= totals_[0] - left;
    return;
  }
  std::vector<std::int64_t> right(static_cast<std::size_t>(node_.n_words), 0);
  for (int bin = best.bin + 1; bin <= column.n_bins; ++bin)
    for (int j = 0; j < node_.n_words; ++j) right[j] += column.cells[bin * column.stride + j];
  if (is_empty(right.data(), node_.n_words)) best.bin = column.n_bins;  // values from missing ones
}

// Sets of categories are searched in wide cells.
void HalfWordSearch::try_levels(const Column& column, Found& best) const {
  const int size = channels_.cell_size();
  std::vector<std::int64_t> cells(static_cast<std::size_t>(column.n_bins + 1) * size);
  for (int code = 0; code <= column.n_bins; ++code)
    target::sums_of_words(column.cells + code * column.stride, size, cells.data() + code * size);
  WideLevels<criteria::Newton> levels(channels_, limits_, totals_, {});
  CategoryBest sets = CategorySearch(levels, limits_.category)
                          .search(cells.data(), size, column.n_bins, nullptr, 0);
  best.any_admitted |= levels.any_admitted();
  if (sets.score > best.split.gain)
    best.split = {sets.score, column.index, 0, sets.missing_left, 0.0, std::move(sets.left)};
}

}  // namespace weald::split
