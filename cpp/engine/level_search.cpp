#include "engine/level_search.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"
#include "engine/level_rules.hpp"
#include "split/category_sets.hpp"

namespace weald::engine {

LevelSearch::LevelSearch(const Codes& codes, const data::Categories& categories,
                         const split::HistogramLayout& layout, const std::uint8_t* has_missing,
                         const split::SplitLimits& limits, tree::GrowingTree& growing_tree,
                         const std::vector<int>& nodes, std::vector<const std::int64_t*> kept)
    : codes_(codes),
      categories_(categories),
      layout_(layout),
      has_missing_(has_missing),
      limits_(limits),
      growing_tree_(growing_tree),
      channels_(growing_tree.channels),
      nodes_(nodes),
      kept_(std::move(kept)),
      best_(static_cast<std::size_t>(codes.n_columns)) {}

std::vector<int> LevelSearch::run(std::string_view criterion, data::CandidateColumns columns,
                                  int n_threads) {
  std::vector<int> split;
  if (channels_.has_words())
    return search(PackedRules(limits_, growing_tree_, nodes_), std::move(columns), n_threads);
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    split = search(WideRules<C>(limits_, growing_tree_, nodes_), std::move(columns), n_threads);
  });
  return split;
}

template <class Rules>
std::vector<int> LevelSearch::search(const Rules& rules, data::CandidateColumns columns,
                                     int n_threads) {
  parallel_for(codes_.n_groups(), n_threads, [&](std::int64_t task, int) {
    const int group = static_cast<int>(task);
    search_group(rules, group, lanes_of(group, columns), false);
  });
  std::vector<char> is_counted(best_.size());
  for (;;) {
    const int best = best_column();
    if (best < 0) {
      // If no drawn column can be split, try further ones one at a time.
      const int next = columns.next_column();
      if (next < 0) return {};
      search_group(rules, next / lanes, lanes_of(next / lanes, columns), false);
      continue;
    }
    Takers takers = takers_of(rules, best_[best]);
    if (!takers.gain_is_bound || is_counted[best])
      return rules.is_worth(best_[best].gain)
                 ? settle(rules, std::move(best_[best]), std::move(takers))
                 : std::vector<int>{};
    is_counted[best] = 1;
    Lanes only;
    only.takes[best % lanes] = true;
    search_group(rules, best / lanes, only, true);
  }
}

// The column of the largest gain; -1: no column can be split.
int LevelSearch::best_column() const {
  const auto is_less = [](const split::Split& a, const split::Split& b) { return a.gain < b.gain; };
  return std::max_element(best_.begin(), best_.end(), is_less)->column;
}

LevelSearch::Lanes LevelSearch::lanes_of(int group, const data::CandidateColumns& columns) const {
  Lanes candidates;
  for (int lane = 0; lane < codes_.lanes_of(group); ++lane)
    candidates.takes[lane] = columns.takes(group * lanes + lane);
  return candidates;
}

// Find the best splits of the candidates among a group's columns.
template <class Rules>
void LevelSearch::search_group(const Rules& rules, int group, const Lanes& candidates,
                               bool is_counted) {
  const int first = group * lanes;
  int n_bins[lanes] = {};  // of numerical columns
  bool has_missing = false;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!candidates.takes[lane]) continue;
    if (categories_.holds(first + lane)) {
      search_sets(rules, first + lane, is_counted);
      continue;
    }
    n_bins[lane] = codes_.n_bins[first + lane];
    has_missing |= has_missing_[first + lane] != 0;
  }
  if (std::all_of(n_bins, n_bins + lanes, [](int n) { return n == 0; })) return;
  LevelGains gains(layout_.bins_of(group), has_missing);
  std::vector<std::int64_t> own, counts;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (is_counted)
      counts.assign((static_cast<std::size_t>(layout_.bins_of(group)) + 1) * lanes, 0);
    for (int lane = 0; is_counted && lane < lanes; ++lane)
      if (n_bins[lane] > 0) count_copies(i, first + lane, counts.data() + lane, lanes);
    rules.add_gains(i, group, part_of(i, group, own), is_counted ? counts.data() : nullptr, n_bins,
                    gains);
  }
  for (int lane = 0; lane < lanes; ++lane)
    if (n_bins[lane] > 0) best_[first + lane] = gains.best(first + lane, n_bins[lane]);
}

// The same for a categorical column.
template <class Rules>
void LevelSearch::search_sets(const Rules& rules, int column, bool is_counted) {
  const int n_levels = layout_.levels_of(column);
  split::CategorySets<typename Rules::Levels> sets(channels_, limits_.category, n_levels,
                                                   layout_.stride_of(column), 1);
  std::vector<std::int64_t> own, counts;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    sets.gather(rules.levels(i, -1), cells_of(i, column, own));
  sets.arrange(rules.levels(0, -1));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (is_counted) {
      counts.assign(static_cast<std::size_t>(n_levels) + 1, 0);
      count_copies(i, column, counts.data(), 1);
    }
    auto levels = rules.levels(i, is_counted ? growing_tree_.copies_in(nodes_[i]) : -1);
    sets.tally(levels, cells_of(i, column, own), is_counted ? counts.data() : nullptr);
  }
  best_[column] = sets.best(column);
}

// The first cell of a part in the i-th node: kept, or counted in `own`.
const std::int64_t* LevelSearch::part_of(std::size_t i, int part,
                                         std::vector<std::int64_t>& own) const {
  const std::int64_t begin = layout_.part_begin(part);
  if (kept_[i]) return kept_[i] + begin;
  const Row* const rows = growing_tree_.rows_of(nodes_[i]);
  const std::int64_t n = growing_tree_.nodes[nodes_[i]].n_rows();
  own.resize(static_cast<std::size_t>(layout_.size()));
  std::fill(own.begin() + begin, own.begin() + layout_.part_end(part), 0);
  const int n_groups = codes_.n_groups();
  if (part < n_groups)
    add_rows(codes_, layout_, part, part + 1, channels_, rows, 0, n, own.data());
  else
    split::add_wide_column(categories_.wide[part - n_groups], channels_, layout_.cell_size(), rows,
                           0, n, own.data() + begin);
  return own.data() + begin;
}

// The first cell of a column.
const std::int64_t* LevelSearch::cells_of(std::size_t i, int column,
                                          std::vector<std::int64_t>& own) const {
  const int wide = categories_.wide_place(column);
  const int part = wide < 0 ? column / lanes : codes_.n_groups() + wide;
  return part_of(i, part, own) + (layout_.column_begin(column) - layout_.part_begin(part));
}

// Add the copies of each code of a column in the i-th node.
void LevelSearch::count_copies(std::size_t i, int column, std::int64_t* counts,
                               std::int64_t stride) const {
  if (growing_tree_.parts) {
    const auto by_code = growing_tree_.copies_elsewhere(nodes_[i], {column}, layout_)[0];
    for (std::size_t code = 0; code < by_code.size(); ++code)
      counts[static_cast<std::int64_t>(code) * stride] += by_code[code];
    return;
  }
  const Row* const rows = growing_tree_.rows_of(nodes_[i]);
  const std::int64_t n = growing_tree_.nodes[nodes_[i]].n_rows();
  const auto count = [&](const auto* codes, std::int64_t step) {
    for (std::int64_t r = 0; r < n; ++r)
      counts[codes[rows[r] * step] * stride] += channels_.copies_of(rows[r]);
  };
  const int wide = categories_.wide_place(column);
  if (wide >= 0) return count(categories_.wide[wide].codes, 1);
  const auto [codes, step] = codes_.column(column);
  count(codes, step);
}

// Whether each code of a split's column goes left.
std::vector<std::uint8_t> LevelSearch::sides_of(const split::Split& split) const {
  std::vector<std::uint8_t> sides(static_cast<std::size_t>(layout_.levels_of(split.column)) + 1);
  sides[0] = split.missing_left;
  for (int code = 1; code < static_cast<int>(sides.size()); ++code)
    sides[code] =
        split.left_set.empty() ? code <= split.bin : data::in_set(split.left_set.data(), code - 1);
  return sides;
}

bool LevelSearch::leaves_enough(std::size_t i, int column,
                                const std::vector<std::uint8_t>& sides) const {
  std::vector<std::int64_t> counts(sides.size());
  count_copies(i, column, counts.data(), 1);
  std::int64_t sums[2] = {};
  for (std::size_t code = 0; code < sides.size(); ++code) sums[sides[code]] += counts[code];
  return std::min(sums[0], sums[1]) >= limits_.min_samples_leaf;
}

template <class Rules>
LevelSearch::Takers LevelSearch::takers_of(const Rules& rules, const split::Split& split) const {
  const std::vector<std::uint8_t> sides = sides_of(split);
  const std::int64_t stride = layout_.stride_of(split.column);
  const bool has_set = !split.left_set.empty();
  const double direction = has_set ? 0.0 : limits_.direction_of(split.column);
  Takers takers;
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::int64_t* const cells = cells_of(i, split.column, own);
    std::vector<std::int64_t> left(static_cast<std::size_t>(channels_.cell_size()));
    for (std::size_t code = 0; code < sides.size(); ++code)
      for (std::size_t c = 0; sides[code] && c < left.size(); ++c)
        left[c] += cells[static_cast<std::int64_t>(code) * stride + static_cast<std::int64_t>(c)];
    const Verdict verdict = rules.verdict(i, left.data(), direction);
    if (verdict == Verdict::refused) continue;
    const bool is_open = verdict == Verdict::undecided;
    const bool takes = !is_open || leaves_enough(i, split.column, sides);
    // An undecided gain was added, or 0 if it is negative.
    takers.gain_is_bound |= is_open && (!takes || has_set || rules.loses(i, left.data()));
    if (takes) takers.nodes.push_back({i, std::move(left)});
  }
  return takers;
}

// Assign the split in canonical form: where none of its nodes has missing values, they go to the
// heavier side; if only missing values are separated, they go right of all bins.
template <class Rules>
std::vector<int> LevelSearch::settle(const Rules& rules, split::Split split, Takers takers) {
  const int n_bins = layout_.levels_of(split.column);
  split.gain = rules.in_units(split.gain);
  if (split.left_set.empty()) {
    const std::int64_t stride = layout_.stride_of(split.column);
    bool any_missing = false, any_values_right = false;
    std::int64_t weight_left = 0, weight = 0;
    std::vector<std::int64_t> own;
    for (const Taker& taker : takers.nodes) {
      const std::int64_t* const cells = cells_of(taker.node, split.column, own);
      const auto has_rows = [&](int bin) {
        return std::any_of(cells + bin * stride, cells + bin * stride + channels_.cell_size(),
                           [](std::int64_t c) { return c != 0; });
      };
      any_missing |= has_rows(0);
      for (int bin = split.bin + 1; bin <= n_bins; ++bin) any_values_right |= has_rows(bin);
      weight_left += rules.heaviness(taker.left.data());
      weight += rules.heaviness(growing_tree_.totals_of(nodes_[taker.node]));
    }
    if (!any_missing)
      split.missing_left = weight_left >= weight - weight_left;
    else if (!split.missing_left && !any_values_right)
      split.bin = n_bins;
    split.parts_missing = split.bin == n_bins && !split.missing_left;
  }
  std::vector<int> taking;
  for (Taker& taker : takers.nodes) {
    tree::Node& node = growing_tree_.nodes[nodes_[taker.node]];
    node.split = split;
    node.left_totals = std::move(taker.left);
    taking.push_back(nodes_[taker.node]);
  }
  return taking;
}

}  // namespace weald::engine
