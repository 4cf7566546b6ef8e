#include "split/splitting.hpp"

#include <algorithm>
#include <cmath>

#include "split/category_search.hpp"

namespace weald::split {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

}  // namespace

kernels::PackedNode packed_node(const target::Channels& channels, const SplitLimits& limits,
                                const std::int64_t* total, const Bounds& bounds) {
  kernels::PackedNode node;
  const double step = channels.packed_weight_step();
  const auto min_count = static_cast<double>(limits.min_samples_leaf);
  node.cell_size = channels.cell_size();
  node.g = kernels::g_of(total, node.cell_size);
  node.h = kernels::h_of(total, node.cell_size);
  node.l2 = limits.penalty.l2 / step;
  // If h counts copies, it decides by itself.
  node.min_weight =
      std::max(limits.min_child_weight / step, channels.has_weight() ? 0.0 : min_count);
  // A copy has at most packed_most_weight steps of h, so this much h implies min_count copies.
  node.sure_weight = (min_count - 1.0) * static_cast<double>(channels.packed_most_weight()) + 1.0;
  node.min_count = min_count;
  const int unit = channels.packed_sum_exponent();
  node.l1 = scale_by_power(limits.penalty.l1, -unit);
  node.bounds = {scale_by_power(bounds.lower, -unit) * step,
                 scale_by_power(bounds.upper, -unit) * step};
  node.direction = limits.direction.empty() ? nullptr : limits.direction.data();
  return node;
}

PackedSearch::PackedSearch(const Codes& codes, const data::Categories& categories,
                           const HistogramLayout& layout, const target::Channels& channels,
                           const SplitLimits& limits, const std::uint8_t* has_missing,
                           const std::int64_t* total, const Bounds& bounds)
    : codes_(codes),
      categories_(categories),
      layout_(layout),
      channels_(channels),
      limits_(limits),
      has_missing_(has_missing),
      node_(packed_node(channels, limits, total, bounds)) {}

kernels::LaneBests PackedSearch::search_part(int part, const std::int64_t* cells,
                                             const data::CandidateColumns& columns) const {
  return search_part(part, cells, columns, nullptr);
}

// `copies` null: not counted; otherwise only counted columns are searched.
kernels::LaneBests PackedSearch::search_part(int part, const std::int64_t* cells,
                                             const data::CandidateColumns& columns,
                                             const Copies* copies) const {
  kernels::LaneBests bests = kernels::LaneBests::empty();
  const std::int64_t* const counts = copies ? copies->cells.data() : nullptr;
  bool is_searched[lanes] = {};  // numerical columns
  for (int lane = 0; lane < lanes_of(part); ++lane) {
    const int column = column_of(part, lane);
    // A wide column has no cells among those of its codes of one byte.
    if (layout_.part_of(column) != part) continue;
    if (!columns.takes(column) || (copies && !copies->has[lane])) continue;
    if (!categories_.holds(column)) {
      is_searched[lane] = true;
      continue;
    }
    const kernels::LevelScores scores = score_levels(part, lane, cells, counts);
    bests.score[lane] = scores.score;
    bests.undecided[lane] = scores.undecided;
  }
  if (layout_.is_group(part)) search_numerical(part, cells, counts, is_searched, bests);
  return bests;
}

void PackedSearch::search_numerical(int part, const std::int64_t* cells, const std::int64_t* counts,
                                    const bool* is_searched, kernels::LaneBests& bests) const {
  if (std::none_of(is_searched, is_searched + lanes, [](bool one) { return one; })) return;
  kernels::PackedNode node = node_;
  double direction[lanes] = {};
  if (node.direction) {
    for (int lane = 0; lane < lanes_of(part); ++lane)
      direction[lane] = node_.direction[column_of(part, lane)];
    node.direction = direction;
  }
  kernels::LaneBests all;
  kernels::active().search_packed(cells + layout_.part_begin(part), counts, layout_.bins_of(part),
                                  node, all);
  for (int lane = 0; lane < lanes_of(part); ++lane) {
    if (!is_searched[lane]) continue;
    bests.score[lane] = all.score[lane];
    bests.place[lane] = all.place[lane];
    bests.undecided[lane] = all.undecided[lane];
    bests.undecided_place[lane] = all.undecided_place[lane];
  }
}

// The scores of search_categorical without the sets, faster.
kernels::LevelScores PackedSearch::score_levels(int part, int lane, const std::int64_t* cells,
                                                const std::int64_t* counts) const {
  const int column = column_of(part, lane), n_levels = layout_.levels_of(column);
  if (node_.needs_values() || n_levels > max_value_bins) {
    const CategoryBest best = search_categorical(part, lane, cells, counts, node_);
    return {best.score, best.undecided};
  }
  const CategoryLimits& limits = limits_.category;
  const double mean = PackedLevels(channels_, node_, -1).mean_weight();
  return kernels::active().search_levels(
      {cells + layout_.column_begin(column), counts ? counts + lane : nullptr,
       layout_.stride_of(column), count_stride_of(column), n_levels},
      {limits.least_weight(n_levels, mean), limits.few, limits.smooth_rows * mean,
       limits.l2_rows * mean},
      node_);
}

CategoryBest PackedSearch::search_categorical(int part, int lane, const std::int64_t* cells,
                                              const std::int64_t* counts,
                                              const kernels::PackedNode& node) const {
  const int column = column_of(part, lane);
  const std::int64_t count_stride = count_stride_of(column);
  const int n_levels = layout_.levels_of(column);
  std::int64_t total_count = counts ? 0 : -1;
  for (int code = 0; counts && code <= n_levels; ++code)
    total_count += counts[lane + code * count_stride];
  PackedLevels levels(channels_, node, total_count);
  return CategorySearch(levels, limits_.category)
      .search(cells + layout_.column_begin(column), layout_.stride_of(column), n_levels,
              counts ? counts + lane : nullptr, count_stride);
}

// The columns of a part in which an unproven split might win.
PackedSearch::OpenLanes PackedSearch::open_lanes(int part, const kernels::LaneBests& bests,
                                                 double score) const {
  OpenLanes open = {};
  for (int lane = 0; lane < lanes_of(part); ++lane)
    open[lane] = bests.undecided[lane] != none && bests.undecided[lane] >= score;
  return open;
}

// Count the copies of a part's columns in which an unproven split might win. If these are many, all
// are counted, which reads the rows once.
PackedSearch::Copies PackedSearch::count_copies(int part, const kernels::LaneBests& bests,
                                                double score, const CountedRows& rows) const {
  // A few columns are counted one by one, more of them together with the others of their group.
  constexpr int few = 2;
  const OpenLanes open = open_lanes(part, bests, score);
  if (rows.by_code) return count_by_code(part, open, rows);
  Copies counts = no_copies(part);
  counts.has = open;
  const std::int64_t* const copies = channels_.target().copies;
  // Rows are `step` codes apart, the cells of a lane's bins `stride`.
  const auto count = [&](int lane, std::int64_t stride, const auto* codes, std::int64_t step) {
    std::int64_t* const to = counts.cells.data() + lane;
    if (copies)
      for (std::int64_t i = 0; i < rows.n; ++i)
        to[codes[rows.rows[i] * step] * stride] += copies[rows.rows[i]];
    else
      for (std::int64_t i = 0; i < rows.n; ++i) to[codes[rows.rows[i] * step] * stride] += 1;
  };
  if (part < codes_.n_groups() && std::count(open.begin(), open.end(), true) > few) {
    std::int64_t* const cells = counts.cells.data();
    kernels::active().add_packed(codes_, part, part + 1, copies, rows.rows, 0, rows.n, &cells);
    return counts;
  }
  for (int lane = 0; lane < lanes_of(part); ++lane) {
    if (!open[lane]) continue;
    visit_codes(column_of(part, lane), [&](const auto* codes, std::int64_t step) {
      count(lane, layout_.is_group(part) ? lanes : 1, codes, step);
    });
  }
  return counts;
}

PackedSearch::Copies PackedSearch::no_copies(int part) const {
  const std::int64_t size = layout_.part_end(part) - layout_.part_begin(part);
  Copies counts;
  counts.cells.resize(static_cast<std::size_t>(size / layout_.cell_size()));
  return counts;
}

PackedSearch::Copies PackedSearch::count_by_code(int part, const OpenLanes& open,
                                                 const CountedRows& rows) const {
  Copies counts = no_copies(part);
  counts.has = open;
  std::vector<int> columns, lane_of;
  for (int lane = 0; lane < lanes_of(part); ++lane) {
    // A wide column is its own part and has no cells in its group.
    if (!open[lane] || (part < codes_.n_groups() && layout_.is_wide(column_of(part, lane))))
      continue;
    columns.push_back(column_of(part, lane));
    lane_of.push_back(lane);
  }
  const std::vector<std::vector<std::int64_t>> by_code = rows.by_code(columns);
  const std::int64_t stride = part < codes_.n_groups() ? lanes : 1;
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t code = 0; code < by_code[i].size(); ++code)
      counts.cells[lane_of[i] + static_cast<std::int64_t>(code) * stride] = by_code[i][code];
  return counts;
}

PackedSearch::Decided PackedSearch::decide(const std::vector<kernels::LaneBests>& bests,
                                           const std::int64_t* cells,
                                           const data::CandidateColumns& columns,
                                           const CountedRows& rows) const {
  double score = none, open = none;
  for (int part = 0; part < static_cast<int>(bests.size()); ++part) {
    const kernels::LaneBests& here = bests[part];
    score = std::max(score, *std::max_element(here.score, here.score + lanes_of(part)));
    open = std::max(open, *std::max_element(here.undecided, here.undecided + lanes_of(part)));
  }
  if (open == none || open < score) return joined(bests, cells, {});
  const Choice first = first_choice(bests, std::max(score, open));
  if (is_decided_by_sums(first, cells) && (first.is_sure || leaves_enough(first, rows))) {
    Split best;
    best.column = first.column;
    place(first.lane, first.place, cells, nullptr, best);
    return decided(first.score, best);
  }
  if (Split sets; prove_sets(first, bests[first.part], cells, rows, sets))
    return decided(first.score, std::move(sets));
  std::vector<kernels::LaneBests> exact = bests;
  return joined(exact, cells, count_open(exact, score, cells, columns, rows));
}

// The best allowed split; `counts` of each part, if any.
PackedSearch::Decided PackedSearch::joined(const std::vector<kernels::LaneBests>& bests,
                                           const std::int64_t* cells,
                                           const std::vector<Copies>& counts) const {
  const Copies not_counted;
  Split best;
  double score = none;
  for (int part = 0; part < static_cast<int>(bests.size()); ++part)
    take(part, bests[part], cells, counts.empty() ? not_counted : counts[part], score, best);
  return best.found() ? decided(score, best) : Decided{};
}

// The best split if all unproven ones were allowed, up to score `most`. For categorical columns
// only scores are known, so unproven candidates precede proven ones.
PackedSearch::Choice PackedSearch::first_choice(const std::vector<kernels::LaneBests>& bests,
                                                double most) const {
  Choice first;
  for (int part = 0; part < static_cast<int>(bests.size()); ++part) {
    const kernels::LaneBests& here = bests[part];
    for (int lane = 0; lane < lanes_of(part); ++lane) {
      if (here.score[lane] < most && here.undecided[lane] < most) continue;
      const int column = column_of(part, lane);
      const bool has_sets = categories_.holds(column);
      const Choice both[] = {
          {part, lane, column, here.score[lane], has_sets ? 1 : here.place[lane], true},
          {part, lane, column, here.undecided[lane], has_sets ? 0 : here.undecided_place[lane],
           false}};
      for (const Choice& one : both)
        if (one.score != none && (first.part < 0 || one.comes_before(first))) first = one;
    }
  }
  return first;
}

// The sets of an unproven choice, if both sides have enough copies. Levels without sums must have
// no rows either, or counting would separate rare levels differently.
bool PackedSearch::prove_sets(const Choice& cut, const kernels::LaneBests& bests,
                              const std::int64_t* cells, const CountedRows& rows,
                              Split& split) const {
  const int n_levels = layout_.levels_of(cut.column);
  if (!categories_.holds(cut.column) || cut.is_sure || n_levels > max_value_bins ||
      !(bests.undecided[cut.lane] > bests.score[cut.lane]))
    return false;
  kernels::PackedNode all_allowed = node_;
  all_allowed.sure_weight = 0.0;
  CategoryBest sets = search_categorical(cut.part, cut.lane, cells, nullptr, all_allowed);
  const std::int64_t* const column = cells + layout_.column_begin(cut.column);
  const std::int64_t stride = layout_.stride_of(cut.column);
  // For each code: 1 goes left, 256 has no sums.
  std::uint16_t sides[max_value_bins + 1] = {};
  for (int code = 0; code <= n_levels; ++code) {
    const bool is_left = code == 0 ? sets.missing_left : data::in_set(sets.left.data(), code - 1);
    sides[code] = any_of(column + code * stride) ? static_cast<std::uint16_t>(is_left) : 256;
  }
  std::int64_t left = 0, all = 0;
  unsigned seen = 0;
  const auto add = [&](std::uint16_t side, std::int64_t here) {
    seen |= side;
    left += side & 1 ? here : 0;
    all += here;
  };
  if (rows.by_code) {
    const std::vector<std::int64_t> by_code = rows.by_code({cut.column})[0];
    for (std::size_t code = 0; code < by_code.size(); ++code)
      if (by_code[code] > 0) add(sides[code], by_code[code]);
  } else {
    const auto [codes, step] = codes_.column(cut.column);
    const std::int64_t* const copies = channels_.target().copies;
    for (std::int64_t i = 0; i < rows.n; ++i)
      add(sides[codes[rows.rows[i] * step]], copies ? copies[rows.rows[i]] : 1);
  }
  if (seen >= 256 || std::min(left, all - left) < limits_.min_samples_leaf) return false;
  split.column = cut.column;
  split.left_set = std::move(sets.left);
  split.missing_left = sets.missing_left;
  return true;
}

// Whether the sums alone determine if rows are missing, and if values go right. A row whose g and h
// round to zero does not show in them: see `place`.
bool PackedSearch::is_decided_by_sums(const Choice& cut, const std::int64_t* cells) const {
  if (categories_.holds(cut.column)) return false;
  const std::int64_t* const column = cells + layout_.column_begin(cut.column);
  if (!any_of(column)) return has_missing_[cut.column] == 0;
  bool right = false;
  for (auto bin = static_cast<int>(cut.place / 2) + 1; bin <= layout_.levels_of(cut.column); ++bin)
    right |= any_of(column + bin * layout_.stride_of(cut.column));
  return right;
}

// Count copies on both sides of a split until there are enough.
bool PackedSearch::leaves_enough(const Choice& cut, const CountedRows& rows) const {
  const unsigned offset = cut.place % 2 != 0 ? 0 : 1;
  const unsigned limit = static_cast<unsigned>(cut.place / 2) - offset;
  std::int64_t left = 0, all = 0;
  if (rows.by_code) {
    const std::vector<std::int64_t> by_code = rows.by_code({cut.column})[0];
    for (std::size_t code = 0; code < by_code.size(); ++code) {
      left += static_cast<unsigned>(code) - offset <= limit ? by_code[code] : 0;
      all += by_code[code];
    }
    return std::min(left, all - left) >= limits_.min_samples_leaf;
  }
  const std::int64_t* const copies = channels_.target().copies;
  constexpr std::int64_t at_once = 64;
  visit_codes(cut.column, [&](const auto* codes, std::int64_t stride) {
    for (std::int64_t i = 0; i < rows.n && std::min(left, all - left) < limits_.min_samples_leaf;) {
      for (const std::int64_t end = std::min(i + at_once, rows.n); i < end; ++i) {
        const std::int64_t here = copies ? copies[rows.rows[i]] : 1;
        const bool goes_left = codes[rows.rows[i] * stride] - offset <= limit;
        left += goes_left ? here : 0;
        all += here;
      }
    }
  });
  return std::min(left, all - left) >= limits_.min_samples_leaf;
}

// The copies of all columns in the layout of packed cells, if that takes fewer additions than
// counting the columns in which an unproven split might win; else nothing.
std::vector<std::int64_t> PackedSearch::count_all(const std::vector<kernels::LaneBests>& bests,
                                                  double score, const CountedRows& rows) const {
  std::int64_t n_open = 0;
  for (const kernels::LaneBests& best : bests)
    n_open += std::count_if(best.undecided, best.undecided + lanes,
                            [&](double one) { return one != none && one >= score; });
  if (static_cast<double>(n_open) <= rows.all_in_columns) return {};
  std::vector<std::int64_t> cells(static_cast<std::size_t>(layout_.size() / layout_.cell_size()));
  rows.all_columns(cells.data());
  return cells;
}

// Count the copies of the parts in which an unproven split might win, and update their columns to
// the best allowed splits.
std::vector<PackedSearch::Copies> PackedSearch::count_open(std::vector<kernels::LaneBests>& bests,
                                                           double score, const std::int64_t* cells,
                                                           const data::CandidateColumns& columns,
                                                           const CountedRows& rows) const {
  std::vector<Copies> counts(bests.size());
  const std::vector<std::int64_t> all = count_all(bests, score, rows);
  for (int part = 0; part < static_cast<int>(bests.size()); ++part) {
    const double* const open = bests[part].undecided;
    const double most = *std::max_element(open, open + lanes_of(part));
    if (most == none || most < score) continue;
    if (!all.empty() && part < codes_.n_groups()) {
      counts[part].cells.assign(all.begin() + layout_.part_begin(part) / layout_.cell_size(),
                                all.begin() + layout_.part_end(part) / layout_.cell_size());
      counts[part].has = open_lanes(part, bests[part], score);
    } else {
      counts[part] = count_copies(part, bests[part], score, rows);
    }
    const kernels::LaneBests counted = search_part(part, cells, columns, &counts[part]);
    for (int lane = 0; lane < lanes_of(part); ++lane) {
      if (!counts[part].has[lane]) continue;
      bests[part].score[lane] = counted.score[lane];
      bests[part].place[lane] = counted.place[lane];
      score = std::max(score, counted.score[lane]);
    }
  }
  return counts;
}

PackedSearch::Decided PackedSearch::decided(double score, Split best) const {
  return {if_worth_it(std::move(best), score, node_, channels_, limits_), true};
}

// The true gain is larger by step_g^2 / step_h.
double true_gain(const target::Channels& channels, double gain) {
  return scale_by_power(gain, 2 * channels.packed_sum_exponent()) / channels.packed_weight_step();
}

Split if_worth_it(Split best, double score, const kernels::PackedNode& node,
                  const target::Channels& channels, const SplitLimits& limits) {
  const double gain = 0.5 * (score - node.score());
  best.gain = true_gain(channels, gain);
  const bool worth =
      limits.takes_any_gain() || (gain > 0.5e-13 * std::abs(score) && best.gain > limits.min_gain);
  return worth ? std::move(best) : Split{};
}

// Ties go to the lowest column.
void PackedSearch::take(int part, const kernels::LaneBests& bests, const std::int64_t* cells,
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
      CategoryBest sets = search_categorical(part, lane, cells, counts, node_);
      best.left_set = std::move(sets.left);
      best.missing_left = sets.missing_left;
    } else {
      place(lane, bests.place[lane], cells, counts, best);
    }
  }
}

// If copies were counted, they and not the sums determine whether a side has rows: a row whose g
// and h round to zero does not show in the sums.
void PackedSearch::place(int lane, std::int64_t place, const std::int64_t* cells,
                         const std::int64_t* counts, Split& best) const {
  best.bin = static_cast<int>(place / 2);
  best.missing_left = place % 2 != 0;
  const std::int64_t* const column = cells + layout_.column_begin(best.column);
  const std::int64_t* const copies = counts ? counts + lane : nullptr;
  const std::int64_t stride = layout_.stride_of(best.column);
  const std::int64_t count_stride = count_stride_of(best.column);
  const auto has_rows = [&](int bin) {
    return any_of(column + bin * stride) || (copies && copies[bin * count_stride] != 0);
  };
  const int n_bins = layout_.levels_of(best.column);
  std::int64_t left = 0;
  bool values_right = false;
  for (int bin = 1; bin <= best.bin; ++bin)
    left += kernels::h_of(column + bin * stride, layout_.cell_size());
  for (int bin = best.bin + 1; bin <= n_bins; ++bin) values_right |= has_rows(bin);
  if (!has_rows(0)) {
    // No missing values in this node: at prediction time they go to the heavier child.
    best.missing_left = left >= node_.h - left;
  } else if (!values_right) {
    best.bin = n_bins;
  }
}

}  // namespace weald::split
