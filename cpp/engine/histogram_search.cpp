// Finds the best splits of nodes whose histograms were counted.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/parallel.hpp"
#include "engine/histogram_engine.hpp"
#include "engine/level_search.hpp"
#include "kernels/kernels.hpp"
#include "split/category_search.hpp"
#include "split/half_word_search.hpp"

namespace weald::engine {
namespace {

// Cells whose search is worth a thread.
constexpr std::int64_t searched_cells = 3'000;

}  // namespace

// How many threads search so many histograms.
int HistogramEngine::threads_to_search(std::size_t n_nodes) const {
  if (growing_tree_.parts || inside_a_loop()) return 1;  // parts answer one question at a time
  const std::int64_t n_cells = static_cast<std::int64_t>(n_nodes) * column_layout_->size();
  return static_cast<int>(std::clamp<std::int64_t>(n_cells / searched_cells, 1, n_threads_));
}

// Make a part of two siblings' histograms complete.
void HistogramEngine::make_part(int part, const Pair& pair) {
  if (slot_of_[pair.counted] >= 0) sum_part(part, pair.counted);
  if (pair.wants_rest && !pair.subtract) sum_part(part, pair.rest);
  if (!pair.subtract) return;
  const std::int64_t begin = layout_->part_begin(part);
  kernels::active().subtract(cells_of_node(pair.rest) + begin, cells_of_node(pair.counted) + begin,
                             layout_->part_end(part) - begin);
}

void HistogramEngine::search(const std::vector<tree::Siblings>& siblings) {
  if (in_order_) {
    for (const tree::Siblings& one : siblings) ordered_.search(one);
    return;
  }
  std::vector<Pair> pairs;
  for (const tree::Siblings& one : siblings) pairs.push_back(take_histograms(one));
  search_pairs(pairs);
}

void HistogramEngine::search_again(const std::vector<tree::Siblings>& nodes) {
  for (const tree::Siblings& one : nodes) {
    pool_.give(std::exchange(slot_of_[one.left], -1));
    count_rows(one.left);
    search_pairs({{one.left, -1, true, false, false, one.left_columns}});
  }
}

// With feature bundles, which are searched one pair at a time: complete both histograms and expand
// the columns' own cells.
void HistogramEngine::expand(const Pair& pair) {
  parallel_for(layout_->n_parts(), threads_to_search(2),
               [&](std::int64_t part, int) { make_part(static_cast<int>(part), pair); });
  const int nodes[2] = {pair.wants_counted ? pair.counted : -1, pair.wants_rest ? pair.rest : -1};
  parallel_for(2, threads_to_search(2), [&](std::int64_t i, int) {
    expanded_[i].node = nodes[i];
    if (nodes[i] >= 0)
      bundles_.expand(*layout_, cells_of_node(nodes[i]), *column_layout_,
                      expanded_[i].cells.data());
  });
}

const std::int64_t* HistogramEngine::columns_of_node(int node) {
  if (!bundles_.any()) return cells_of_node(node);
  return expanded_[expanded_[0].node == node ? 0 : 1].cells.data();
}

void HistogramEngine::search_pairs(const std::vector<Pair>& pairs) {
  if (bundles_.any()) expand(pairs[0]);
  if (channels_.has_words())
    return search_parts<kernels::LaneBests>(
        pairs,
        [this](int node, int part, const data::CandidateColumns& columns) {
          return packed_search(node).search_part(part, columns_of_node(node), columns);
        },
        [this](int node, std::vector<kernels::LaneBests> found,
               const data::CandidateColumns& columns) {
          return decided(node, std::move(found), columns);
        });
  criteria::AllCriteria::with_name(criterion_, [&]<criteria::Criterion C>(C) {
    search_parts<Found>(
        pairs,
        [this](int node, int part, const data::CandidateColumns& columns) {
          return best_of_part<C>(node, part, columns);
        },
        [this](int node, const std::vector<Found>& found, const data::CandidateColumns& columns) {
          return joined<C>(node, found, columns);
        });
  });
}

// One task for each part of each pair. The thread that ends the last part of a pair decides on the
// splits of both nodes.
template <class FoundInPart, class SearchPart, class Decide>
void HistogramEngine::search_parts(const std::vector<Pair>& pairs, SearchPart search_part,
                                   Decide decide) {
  const auto n_parts = static_cast<std::size_t>(column_layout_->n_parts());
  struct State {
    std::atomic<std::size_t> n_open;
    std::vector<FoundInPart> counted, rest;
  };
  const auto states = std::make_unique<State[]>(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    states[i].n_open = n_parts;
    states[i].counted.resize(pairs[i].wants_counted ? n_parts : 0);
    states[i].rest.resize(pairs[i].wants_rest ? n_parts : 0);
  }
  const auto search_one = [&](std::int64_t task, int) {
    const Pair& pair = pairs[static_cast<std::size_t>(task) / n_parts];
    State& state = states[static_cast<std::size_t>(task) / n_parts];
    const auto part = static_cast<int>(static_cast<std::size_t>(task) % n_parts);
    if (!bundles_.any()) make_part(part, pair);
    if (pair.wants_counted)
      state.counted[part] = search_part(pair.counted, part, pair.counted_columns);
    if (pair.wants_rest) state.rest[part] = search_part(pair.rest, part, pair.rest_columns);
    if (state.n_open.fetch_sub(1) > 1) return;
    end_sum(pair.counted);
    end_sum(pair.rest);
    split::Split counted, rest;
    if (pair.wants_counted)
      counted = decide(pair.counted, std::move(state.counted), pair.counted_columns);
    if (pair.wants_rest) rest = decide(pair.rest, std::move(state.rest), pair.rest_columns);
    settle(pair.counted, counted);
    if (pair.wants_rest) settle(pair.rest, rest);
  };
  const auto n_tasks = static_cast<std::int64_t>(pairs.size() * n_parts);
  const int n_threads = threads_to_search(2 * pairs.size());
  if (n_threads > 1) return parallel_for(n_tasks, n_threads, search_one);
  for (std::int64_t task = 0; task < n_tasks; ++task) search_one(task, 0);  // reads no clock
}

template <criteria::Criterion C>
HistogramEngine::Found HistogramEngine::best_of_part(int node, int part,
                                                     const data::CandidateColumns& columns) {
  const split::HistogramLayout& layout = *column_layout_;
  const std::int64_t* const cells = columns_of_node(node);
  const std::int64_t* const totals = growing_tree_.totals_of(node);
  const Bounds& bounds = growing_tree_.nodes[node].bounds;
  if (channels_.has_half_words()) {
    split::HalfWordSearch search(channels_, limits_, totals);
    const auto [best, any_admitted] = search.search_part(categories_, layout, part, cells, columns);
    return {best, any_admitted};
  }
  split::SplitSearch<C> search(channels_, limits_, totals, bounds);
  split::Split best;
  bool any_admitted = false;
  const auto try_levels = [&](int column) {
    split::WideLevels<C> levels(channels_, limits_, totals, bounds);
    split::CategoryBest sets =
        split::CategorySearch(levels, limits_.category)
            .search(cells + layout.column_begin(column), layout.stride_of(column),
                    layout.levels_of(column), nullptr, 0);
    any_admitted |= levels.any_admitted();
    if (sets.score > best.gain)
      best = {sets.score, column, 0, sets.missing_left, 0.0, std::move(sets.left)};
  };
  for (int lane = 0; lane < layout.lanes_of(part); ++lane) {
    const int column = layout.column_of(part, lane);
    if (layout.part_of(column) != part || !columns.takes(column)) continue;
    if (categories_.holds(column))
      try_levels(column);
    else
      search.try_column(column, cells + layout.column_begin(column), layout.stride_of(column),
                        layout.levels_of(column), best);
  }
  return {best, any_admitted || search.any_admitted()};
}

// The best split of all parts. If no drawn column can be split, try further ones one at a time.
template <criteria::Criterion C>
split::Split HistogramEngine::joined(int node, const std::vector<Found>& found,
                                     data::CandidateColumns columns) {
  Found best;
  for (const Found& one : found) {
    const split::Split& split = one.split;
    const bool ties =
        split.found() && split.gain == best.split.gain && split.column < best.split.column;
    if (split.gain > best.split.gain || ties) best.split = split;
    best.any_admitted |= one.any_admitted;
  }
  for (int column; !best.any_admitted && (column = columns.next_column()) >= 0;)
    best = best_of_part<C>(node, column_layout_->part_of(column), columns);
  return best.split;
}

split::PackedSearch HistogramEngine::packed_search(int node) const {
  return split::PackedSearch(codes_, categories_, *column_layout_, channels_, limits_,
                             table_->has_missing.data(), growing_tree_.totals_of(node),
                             growing_tree_.nodes[node].bounds);
}

split::Split HistogramEngine::decided(int node, std::vector<kernels::LaneBests> found,
                                      data::CandidateColumns columns) {
  const split::PackedSearch search = packed_search(node);
  const std::int64_t* const cells = columns_of_node(node);
  const split::CountedRows rows = rows_to_count(node);
  const auto decide = [&] { return search.decide(found, cells, columns, rows); };
  split::PackedSearch::Decided best = decide();
  if (best.any_admitted || columns.is_all()) return best.split;
  for (int part = 0; part < static_cast<int>(found.size()); ++part)
    found[part] = kernels::LaneBests::empty();
  for (int column; !best.any_admitted && (column = columns.next_column()) >= 0;) {
    const int part = column_layout_->part_of(column);
    found[part] = search.search_part(part, cells, columns);
    best = decide();
    found[part] = kernels::LaneBests::empty();
  }
  return best.split;
}

// The siblings of a level keep their histograms while memory allows.
void HistogramEngine::keep(const std::vector<tree::Siblings>& siblings) {
  std::vector<Pair> pairs;
  for (tree::Siblings one : siblings) {
    one.wants_left = one.wants_right = slot_of_[one.parent] >= 0;
    pairs.push_back(take_histograms(one));
  }
  const auto n_parts = static_cast<std::int64_t>(layout_->n_parts());
  parallel_for(static_cast<std::int64_t>(pairs.size()) * n_parts,
               threads_to_search(2 * pairs.size()), [&](std::int64_t task, int) {
                 make_part(static_cast<int>(task % n_parts), pairs[task / n_parts]);
               });
  for (const tree::Siblings& one : siblings)
    for (const int child : {one.left, one.right}) {
      end_sum(child);
      if (!has_room() || !(child == one.left ? one.wants_left : one.wants_right))
        pool_.give(std::exchange(slot_of_[child], -1));
    }
}

std::vector<int> HistogramEngine::search_level(const std::vector<int>& nodes,
                                               data::CandidateColumns columns) {
  slot_of_.resize(growing_tree_.nodes.size(), -1);
  std::vector<const std::int64_t*> kept(nodes.size(), nullptr);
  for (const int node : nodes)
    if (slot_of_[node] < 0 && (growing_tree_.parts || has_room())) {
      count_rows(node);
      parallel_for(layout_->n_parts(), threads_to_search(1),
                   [&](std::int64_t part, int) { sum_part(static_cast<int>(part), node); });
      end_sum(node);
    }
  const std::int64_t n_cells = static_cast<std::int64_t>(nodes.size()) * column_layout_->size();
  const int n_threads = threads_to_search(nodes.size());
  // With feature bundles, all nodes are expanded, or none if that takes too much memory.
  std::vector<std::vector<std::int64_t>> expanded(bundles_.any() ? nodes.size() : 0);
  parallel_for(static_cast<std::int64_t>(nodes.size()), n_threads, [&](std::int64_t i, int) {
    if (slot_of_[nodes[i]] < 0 || (bundles_.any() && 8 * n_cells > pool_bytes)) return;
    kept[i] = cells_of_node(nodes[i]);
    if (!bundles_.any()) return;
    expanded[i].resize(static_cast<std::size_t>(column_layout_->size()));
    bundles_.expand(*layout_, kept[i], *column_layout_, expanded[i].data());
    kept[i] = expanded[i].data();
  });
  LevelSearch level(codes_, categories_, *column_layout_, table_->has_missing.data(), limits_,
                    growing_tree_, nodes, std::move(kept));
  return level.run(criterion_, std::move(columns), n_threads);
}

// Whether another histogram may be kept.
bool HistogramEngine::has_room() {
  const auto in_use = static_cast<std::int64_t>(pool_.n_in_use());
  return in_use <= 2 || in_use * layout_->size() * 8 <= pool_bytes;
}

// Store the split of a node. Its histogram is kept for its children, if there will be any and
// memory allows.
void HistogramEngine::settle(int i, const split::Split& found) {
  tree::Node& node = growing_tree_.nodes[i];
  node.split = found;
  if (found.found()) {
    const split::HistogramLayout& layout = *column_layout_;
    const std::int64_t* const cells = columns_of_node(i) + layout.column_begin(found.column);
    std::vector<std::int64_t> left(static_cast<std::size_t>(layout.cell_size()), 0);
    const std::int64_t stride = layout.stride_of(found.column);
    const auto add = [&](int bin) {
      for (int c = 0; c < layout.cell_size(); ++c) left[c] += cells[bin * stride + c];
    };
    // Without missing values bin 0 is an empty cell.
    if (found.missing_left) add(0);
    const bool has_set = !found.left_set.empty();
    node.split.parts_missing = !has_set && found.bin == layout.levels_of(found.column);
    for (int bin = 1; bin <= (has_set ? layout.levels_of(found.column) : found.bin); ++bin)
      if (!has_set || data::in_set(found.left_set.data(), bin - 1)) add(bin);
    node.left_totals = channels_.totals_of_cell(std::move(left));
  }
  if (found.found() && has_room()) return;
  pool_.give(std::exchange(slot_of_[i], -1));
}

}  // namespace weald::engine
