#include "splitting.hpp"

#include <algorithm>

#include "category_search.hpp"

namespace weald {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

}  // namespace

PackedSearch::PackedSearch(const Codes& codes, const Categories& categories,
                           const HistogramLayout& layout, const Channels& channels,
                           const SplitLimits& limits, std::int64_t total, const Bounds& bounds)
    : codes_(codes),
      categories_(categories),
      layout_(layout),
      channels_(channels),
      limits_(limits) {
  const double step = channels.packed_weight_step();
  const auto min_count = static_cast<double>(limits.min_samples_leaf);
  node_.total = total;
  node_.l2 = limits.penalty.l2 / step;
  // Where h counts copies it decides by itself.
  node_.min_weight =
      std::max(limits.min_child_weight / step, channels.target().weight ? 0.0 : min_count);
  // A copy has at most packed_most_weight steps of h, so this much h takes min_count copies.
  node_.sure_weight = (min_count - 1.0) * static_cast<double>(channels.packed_most_weight()) + 1.0;
  node_.min_count = min_count;
  const int unit = channels.packed_sum_exponent();
  node_.l1 = scale_by_power(limits.penalty.l1, -unit);
  node_.bounds = {scale_by_power(bounds.lower, -unit) * step,
                  scale_by_power(bounds.upper, -unit) * step};
  node_.direction = limits.direction.empty() ? nullptr : limits.direction.data();
}

LaneBests PackedSearch::look(int part, const std::int64_t* cells, const ColumnLook& columns) const {
  return look(part, cells, columns, nullptr);
}

LaneBests PackedSearch::look(int part, const std::int64_t* cells, const ColumnLook& columns,
                             const std::int64_t* counts) const {
  const int first = column_of(part, 0);
  if (!columns.takes_any(first, first + lanes_of(part))) return LaneBests::empty();
  LaneBests bests;
  if (part < codes_.n_groups()) {
    PackedNode node = node_;
    if (node.direction) node.direction += part * lanes;
    kernels().search_packed(cells + layout_.part_begin(part), counts, layout_.bins_of(part), node,
                            bests);
  }
  for (int lane = 0; lane < lanes_of(part); ++lane) {
    const int column = column_of(part, lane);
    if (!columns.takes(column)) {
      bests.score[lane] = bests.undecided[lane] = none;
      continue;
    }
    if (!categories_.holds(column)) continue;
    // A wide column is another part; here it has only a place.
    const bool is_elsewhere = part < codes_.n_groups() && layout_.is_wide(column);
    const CategoryBest best =
        is_elsewhere ? CategoryBest{} : look_at_levels(part, lane, cells, counts);
    bests.score[lane] = best.score;
    bests.undecided[lane] = best.undecided;
  }
  return bests;
}

CategoryBest PackedSearch::look_at_levels(int part, int lane, const std::int64_t* cells,
                                          const std::int64_t* counts) const {
  const int column = column_of(part, lane);
  const std::int64_t stride = layout_.stride_of(column);
  const int n_levels = layout_.levels_of(column);
  std::int64_t total_count = counts ? 0 : -1;
  for (int code = 0; counts && code <= n_levels; ++code)
    total_count += counts[lane + code * stride];
  PackedLevels levels(channels_, node_, total_count);
  return CategorySearch(levels, limits_.category)
      .look(cells + layout_.column_begin(column), stride, n_levels,
            counts ? counts + lane : nullptr, stride);
}

// Counts the copies of a part's columns in which a cut that is not proven might win. Where these
// are many, all are counted: that reads the rows once.
PackedSearch::Copies PackedSearch::count_copies(int part, const LaneBests& bests, double score,
                                                const Row* rows, std::int64_t n_rows) const {
  Copies counts;
  counts.cells.resize(static_cast<std::size_t>(layout_.part_end(part) - layout_.part_begin(part)));
  const std::int64_t* const copies = channels_.target().copies;
  const auto count = [&](int lane, std::int64_t stride, auto code_of) {
    counts.has[lane] = true;
    for (std::int64_t i = 0; i < n_rows; ++i)
      counts.cells[lane + code_of(rows[i]) * stride] += copies ? copies[rows[i]] : 1;
  };
  if (part >= codes_.n_groups()) {
    const std::uint16_t* const codes = categories_.wide[part - codes_.n_groups()].codes;
    count(0, 1, [&](Row row) { return codes[row]; });
    return counts;
  }
  // Runs of one code: an addition to the counter that was just changed would wait for it, so there
  // are four of each, taken in turn.
  const auto count_column = [&](int lane) {
    const auto [codes, stride] = codes_.column(column_of(part, lane));
    constexpr std::int64_t many = 512;
    if (copies || n_rows < many)
      return count(lane, lanes, [&](Row row) { return codes[row * stride]; });
    counts.has[lane] = true;
    std::uint32_t counters[4][max_value_bins + 1] = {};
    std::int64_t i = 0;
    for (; i + 4 <= n_rows; i += 4)
      for (int k = 0; k < 4; ++k) ++counters[k][codes[rows[i + k] * stride]];
    for (; i < n_rows; ++i) ++counters[0][codes[rows[i] * stride]];
    for (int code = 0; code <= layout_.bins_of(part); ++code)
      for (const auto& one : counters) counts.cells[lane + code * lanes] += one[code];
  };
  constexpr int few = 2;
  const double* const open = bests.undecided;
  if (std::count_if(open, open + lanes_of(part), [&](double s) { return s >= score; }) <= few) {
    for (int lane = 0; lane < lanes_of(part); ++lane)
      if (open[lane] >= score) count_column(lane);
  } else {
    std::fill_n(counts.has, lanes, true);
    std::int64_t* const cells = counts.cells.data();
    kernels().add_packed(codes_, part, part + 1, copies, rows, 0, n_rows, &cells);
  }
  return counts;
}

PackedSearch::Decided PackedSearch::decide(const std::vector<LaneBests>& bests,
                                           const std::int64_t* cells, const ColumnLook& columns,
                                           const Row* rows, std::int64_t n_rows) const {
  const int n_parts = static_cast<int>(bests.size());
  double score = none;
  for (int part = 0; part < n_parts; ++part)
    for (int lane = 0; lane < lanes_of(part); ++lane)
      score = std::max(score, bests[part].score[lane]);

  // Parts in which a cut that is not proven might win, with the copies in their cells.
  std::vector<LaneBests> exact = bests;
  std::vector<Copies> counts(exact.size());
  for (int part = 0; part < n_parts; ++part) {
    const double* const open = bests[part].undecided;
    const double most = *std::max_element(open, open + lanes_of(part));
    if (most == none || most < score) continue;
    counts[part] = count_copies(part, bests[part], score, rows, n_rows);
    const LaneBests counted = look(part, cells, columns, counts[part].cells.data());
    for (int lane = 0; lane < lanes_of(part); ++lane) {
      if (!counts[part].has[lane]) continue;
      exact[part].score[lane] = counted.score[lane];
      exact[part].place[lane] = counted.place[lane];
      score = std::max(score, counted.score[lane]);
    }
  }
  Split best;
  score = none;
  for (int part = 0; part < n_parts; ++part)
    take(part, exact[part], cells, counts[part], score, best);
  if (!best.found()) return {};

  const double parent = node_.score(static_cast<double>(packed_g(node_.total)),
                                    static_cast<double>(packed_h(node_.total)) + node_.l2);
  const double gain = 0.5 * (score - parent);
  // In units of the cells; the true gain is larger by step_g^2 / step_h.
  best.gain =
      scale_by_power(gain, 2 * channels_.packed_sum_exponent()) / channels_.packed_weight_step();
  const bool worth =
      limits_.takes_any_gain() || (gain > 0.5e-13 * score && best.gain > limits_.min_gain);
  return {worth ? best : Split{}, true};
}

// Ties go to the lowest column.
void PackedSearch::take(int part, const LaneBests& bests, const std::int64_t* cells,
                        const Copies& copies, double& score, Split& best) const {
  for (int lane = 0; lane < lanes_of(part); ++lane) {
    const int column = column_of(part, lane);
    const bool ties = bests.score[lane] == score && best.found() && column < best.column;
    if (!(bests.score[lane] > score) && !ties) continue;
    score = bests.score[lane];
    best = {};
    best.column = column;
    const std::int64_t* const counts = copies.has[lane] ? copies.cells.data() : nullptr;
    if (categories_.holds(column)) {
      CategoryBest sets = look_at_levels(part, lane, cells, counts);
      best.left_set = std::move(sets.left);
      best.missing_left = sets.missing_left;
    } else {
      place(lane, bests.place[lane], cells, counts, best);
    }
  }
}

// Where copies were counted they, and not the sums, say whether a side holds rows: a row whose g
// and h round to zero has none of the latter.
void PackedSearch::place(int lane, std::int64_t place, const std::int64_t* cells,
                         const std::int64_t* counts, Split& best) const {
  best.bin = static_cast<int>(place / 2);
  best.missing_left = place % 2 != 0;
  const std::int64_t* const column = cells + layout_.column_begin(best.column);
  const std::int64_t* const copies = counts ? counts + lane : column;
  const std::int64_t stride = layout_.stride_of(best.column);
  const int n_bins = codes_.n_bins[best.column];
  std::int64_t left = 0, values_right = 0;
  for (int bin = 1; bin <= best.bin; ++bin) left += column[bin * stride];
  for (int bin = best.bin + 1; bin <= n_bins; ++bin)
    values_right |= column[bin * stride] | copies[bin * stride];
  if ((column[0] | copies[0]) == 0) {
    // No row is missing here: one that is when predicting goes with the heavier child.
    best.missing_left = packed_h(left) >= packed_h(node_.total - left);
  } else if (values_right == 0) {
    best.bin = n_bins;
  }
}

}  // namespace weald
