#include "engine/level_search.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"

namespace weald::engine {

LevelSearch::LevelSearch(const Codes& codes, const data::Categories& categories,
                         const split::HistogramLayout& layout, const split::SplitLimits& limits,
                         tree::GrowingTree& growing_tree, std::vector<std::int64_t*> scratch)
    : codes_(codes),
      categories_(categories),
      layout_(layout),
      limits_(limits),
      growing_tree_(growing_tree),
      channels_(growing_tree.channels),
      scratch_(std::move(scratch)) {}

std::vector<int> LevelSearch::run(std::string_view criterion, const std::vector<int>& nodes,
                                  data::CandidateColumns columns) {
  std::vector<int> split;
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    std::vector<Found> found(static_cast<std::size_t>(codes_.n_groups()));
    const int n_threads = static_cast<int>(scratch_.size());
    parallel_for(codes_.n_groups(), n_threads, [&](std::int64_t g, int worker) {
      found[g] = best_of_group<C>(static_cast<int>(g), nodes, columns, scratch_[worker]);
    });
    Found best;
    for (const Found& one : found) {
      if (one.split.gain > best.split.gain) best.split = one.split;
      best.any_admitted |= one.any_admitted;
    }
    // If no drawn column can be split, try further ones one at a time.
    for (int column; !best.any_admitted && (column = columns.next_column()) >= 0;)
      best = best_of_group<C>(column / lanes, nodes, columns, scratch_[0]);
    if (!best.split.found()) return;
    const bool has_set = !best.split.left_set.empty();
    split = has_set ? settle_sets<C>(best.split, nodes) : settle<C>(best.split, nodes);
  });
  return split;
}

// Histogram of a node's rows for the columns of one group.
void LevelSearch::fill(int group, int node, std::int64_t* cells) const {
  const std::int64_t begin = layout_.part_begin(group);
  std::fill_n(cells + begin, layout_.part_end(group) - begin, 0);
  add_rows(codes_, layout_, group, group + 1, channels_, growing_tree_.rows_of(node), 0,
           growing_tree_.nodes[node].n_rows(), cells);
}

// The same for one categorical column, possibly with wide codes.
void LevelSearch::fill_levels(int column, int node, std::int64_t* cells) const {
  const int wide = categories_.wide_place(column);
  if (wide < 0) return fill(column / lanes, node, cells);
  std::int64_t* const own = cells + layout_.column_begin(column);
  std::fill_n(own, (layout_.levels_of(column) + std::int64_t{1}) * layout_.cell_size(), 0);
  split::add_wide_column(categories_.wide[wide], channels_, growing_tree_.rows_of(node), 0,
                         growing_tree_.nodes[node].n_rows(), own);
}

// The categorical columns of a group with the effects of their pairs of sets over all nodes; none
// for numerical columns and non-candidates.
template <criteria::Criterion C>
std::vector<split::CategorySets> LevelSearch::sets_of_group(int group,
                                                            const std::vector<int>& nodes,
                                                            const data::CandidateColumns& columns,
                                                            std::int64_t* cells) const {
  const int first = group * lanes, n_lanes = codes_.lanes_of(group);
  std::vector<split::CategorySets> sets;
  std::vector<int> of_levels;
  for (int column = first; column < first + n_lanes; ++column) {
    const bool is_candidate = categories_.holds(column) && columns.takes(column);
    sets.emplace_back(channels_, limits_.category, is_candidate ? layout_.levels_of(column) : 0,
                      layout_.stride_of(column));
    if (is_candidate) of_levels.push_back(column);
  }
  const auto for_all = [&](auto&& visit) {
    for (const int node : nodes) {
      bool is_filled = false;  // byte codes are counted together
      for (const int column : of_levels) {
        const bool is_wide = layout_.is_wide(column);
        if (is_wide || !is_filled) fill_levels(column, node, cells);
        is_filled |= !is_wide;
        visit(node, sets[column - first], cells + layout_.column_begin(column));
      }
    }
  };
  for_all([&](int node, split::CategorySets& of_column, const std::int64_t* missing) {
    of_column.gather(missing, growing_tree_.totals_of(node));
  });
  for (split::CategorySets& of_column : sets) of_column.arrange();
  for_all([&](int node, split::CategorySets& of_column, const std::int64_t* missing) {
    split::WideLevels<C> levels(channels_, limits_, growing_tree_.totals_of(node),
                                growing_tree_.nodes[node].bounds);
    of_column.tally(levels, missing);
  });
  return sets;
}

template <criteria::Criterion C>
LevelSearch::Found LevelSearch::best_of_group(int group, const std::vector<int>& nodes,
                                              const data::CandidateColumns& columns,
                                              std::int64_t* cells) const {
  const int first = group * lanes, n_lanes = codes_.lanes_of(group);
  if (!columns.takes_any(first, first + n_lanes)) return {};
  std::vector<std::vector<split::Tally>> tallies(static_cast<std::size_t>(n_lanes));
  for (int lane = 0; lane < n_lanes; ++lane)
    tallies[lane].resize(2 * static_cast<std::size_t>(codes_.n_bins[first + lane] + 1));
  for (const int node : nodes) {
    fill(group, node, cells);
    for (int lane = 0; lane < n_lanes; ++lane)
      if (columns.takes(first + lane) && !categories_.holds(first + lane))
        tally<C>(first + lane, node, cells + layout_.column_begin(first + lane), tallies[lane]);
  }
  const split::SplitEvaluator<C> evaluator(channels_, limits_, channels_.totals());
  split::Split best;
  bool any_admitted = false;
  const auto sets = categories_.is_category.empty()
                        ? std::vector<split::CategorySets>{}
                        : sets_of_group<C>(group, nodes, columns, cells);
  for (int lane = 0; lane < n_lanes; ++lane) {
    if (categories_.holds(first + lane)) {
      any_admitted |= sets[lane].template take<C>(first + lane, evaluator, best);
      continue;
    }
    for (int bin = 1; bin <= codes_.n_bins[first + lane]; ++bin)
      for (const bool missing_left : {false, true}) {
        const split::Tally& all = tallies[lane][2 * bin + missing_left];
        // Only missing values on the left mirrors only missing values on the right.
        if (all.n_nodes == 0 || (missing_left && !all.has_values_left)) continue;
        any_admitted = true;
        if (all.gain > best.gain && evaluator.is_worth(all.gain, all.children))
          best = {all.gain, first + lane, bin, missing_left, 0.0, {}};
      }
  }
  return {best, any_admitted};
}

// Add the effects of every split of a column in one node.
template <criteria::Criterion C>
void LevelSearch::tally(int column, int node, const std::int64_t* missing,
                        std::vector<split::Tally>& tallies) const {
  split::SplitEvaluator<C> evaluator(channels_, limits_, growing_tree_.totals_of(node),
                                     growing_tree_.nodes[node].bounds);
  const double direction = limits_.direction_of(column);
  using Judged = typename split::SplitEvaluator<C>::Judged;
  const int size = channels_.cell_size(), n_bins = codes_.n_bins[column];
  const bool has_missing = evaluator.any_of(missing);
  std::vector<std::int64_t> left(static_cast<std::size_t>(size)), side(left.size());
  const auto add = [](split::Tally& to, const Judged& judged, bool has_values_left) {
    if (!judged.is_admitted) return;
    to.gain += judged.gain;
    to.children += judged.children;
    ++to.n_nodes;
    to.has_values_left |= has_values_left;
  };
  Judged to_right{false}, to_left{false};
  if (has_missing) to_left = evaluator.judge(missing, direction);
  bool has_values = false;
  for (int bin = 1; bin <= n_bins; ++bin) {
    const std::int64_t* const cell = missing + bin * layout_.stride_of(column);
    if (evaluator.any_of(cell)) {
      has_values = true;
      for (int c = 0; c < size; ++c) left[c] += cell[c];
      to_right = evaluator.judge(left.data(), direction);
      for (int c = 0; c < size; ++c) side[c] = left[c] + missing[c];
      to_left = has_missing ? evaluator.judge(side.data(), direction) : to_right;
    }
    add(tallies[2 * bin], to_right, has_values);
    add(tallies[2 * bin + 1], to_left, has_values);
  }
}

std::vector<std::int64_t> LevelSearch::values_up_to(int bin, const std::int64_t* missing) const {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(channels_.cell_size()));
  const std::int64_t stride = std::int64_t{lanes} * layout_.cell_size();
  for (int b = 1; b <= bin; ++b)
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += missing[b * stride + c];
  return sums;
}

// Which nodes use the split, in canonical form: without missing rows, missing values go to the
// heavier side; if only missing values are separated, they go right of all bins.
template <criteria::Criterion C>
std::vector<int> LevelSearch::settle(split::Split split, const std::vector<int>& nodes) {
  const int group = split.column / lanes, n_bins = codes_.n_bins[split.column];
  struct Taker {
    int node;
    std::vector<std::int64_t> values, all_values, missing;
  };
  std::vector<Taker> takers;
  bool any_missing = false, any_values_right = false;
  std::int64_t weight_left = 0, weight_right = 0;
  for (const int node : nodes) {
    fill(group, node, scratch_[0]);
    const std::int64_t* const missing = scratch_[0] + layout_.column_begin(split.column);
    split::SplitEvaluator<C> evaluator(channels_, limits_, growing_tree_.totals_of(node),
                                       growing_tree_.nodes[node].bounds);
    Taker taker{node,
                values_up_to(split.bin, missing),
                values_up_to(n_bins, missing),
                {missing, missing + channels_.cell_size()}};
    std::vector<std::int64_t> left = taker.values;
    for (std::size_t c = 0; split.missing_left && c < left.size(); ++c) left[c] += missing[c];
    if (!evaluator.judge(left.data(), limits_.direction_of(split.column)).is_admitted) continue;
    any_missing |= evaluator.any_of(missing);
    any_values_right |= taker.values != taker.all_values;
    weight_left += left[0];
    weight_right += growing_tree_.totals_of(node)[0] - left[0];
    takers.push_back(std::move(taker));
  }
  if (!any_missing)
    split.missing_left = weight_left >= weight_right;
  else if (!split.missing_left && !any_values_right)
    split.bin = n_bins;
  split.parts_missing = split.bin == n_bins && !split.missing_left;
  std::vector<int> taking;
  for (Taker& taker : takers) {
    tree::Node& node = growing_tree_.nodes[taker.node];
    node.split = split;
    node.left_totals = std::move(taker.values);
    for (std::size_t c = 0; split.missing_left && c < node.left_totals.size(); ++c)
      node.left_totals[c] += taker.missing[c];
    taking.push_back(taker.node);
  }
  return taking;
}

// Which nodes use this pair of sets.
template <criteria::Criterion C>
std::vector<int> LevelSearch::settle_sets(const split::Split& split,
                                          const std::vector<int>& nodes) {
  const int column = split.column, n_levels = layout_.levels_of(column);
  const std::int64_t stride = layout_.stride_of(column);
  std::vector<int> taking;
  for (const int i : nodes) {
    fill_levels(column, i, scratch_[0]);
    const std::int64_t* const missing = scratch_[0] + layout_.column_begin(column);
    std::vector<std::int64_t> left(static_cast<std::size_t>(channels_.cell_size()));
    for (int code = 0; code <= n_levels; ++code)
      if (code == 0 ? split.missing_left : data::in_set(split.left_set.data(), code - 1))
        for (std::size_t c = 0; c < left.size(); ++c) left[c] += missing[code * stride + c];
    tree::Node& node = growing_tree_.nodes[i];
    split::WideLevels<C> levels(channels_, limits_, growing_tree_.totals_of(i), node.bounds);
    if (!levels.gain_of(left.data(), 0.0).is_admitted) continue;
    node.split = split;
    node.left_totals = std::move(left);
    taking.push_back(i);
  }
  return taking;
}

}  // namespace weald::engine
