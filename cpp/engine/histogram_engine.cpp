#include "engine/histogram_engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "engine/level_search.hpp"
#include "engine/row_test.hpp"
#include "kernels/kernels.hpp"
#include "split/category_search.hpp"

namespace weald::engine {
namespace {

// Size limit of the histograms kept for subtraction; beyond it a node's histogram is computed from
// its rows. Sums are integers, so the tree is the same either way.
constexpr std::int64_t pool_bytes = std::int64_t{256} << 20;

// Below this many additions a second thread does not pay.
constexpr std::int64_t worth_a_thread = 40'000;

// Minimum rows per thread when all rows of a node are counted.
constexpr std::int64_t part_rows = 8'192;

// Cells that a task adds up when the histograms of several threads are merged.
constexpr std::int64_t merged_cells = 1'024;

}  // namespace

HistogramEngine::HistogramEngine(std::shared_ptr<const split::HistogramTable> table,
                                 std::string_view criterion, const split::SplitLimits& limits,
                                 int n_threads, tree::GrowingTree& growing_tree,
                                 target::Cells cells)
    : table_(std::move(table)),
      codes_(table_->codes),
      counted_(table_->counted),
      categories_(table_->categories),
      counted_categories_(table_->counted_categories),
      bundles_(table_->bundles),
      criterion_(criterion),
      limits_(limits),
      n_threads_(n_threads),
      cells_(cells),
      growing_tree_(growing_tree),
      channels_(growing_tree.channels),
      ordered_(table_->order, codes_, limits, growing_tree) {}

void HistogramEngine::start() {
  in_order_ =
      (cells_ == target::Cells::automatic || cells_ == target::Cells::ordered) && ordered_.suits();
  if (cells_ == target::Cells::ordered && !in_order_)
    throw std::invalid_argument("cells='ordered' is not possible for this table and target");
  if (in_order_) return ordered_.start();
  if (!layout_ || layout_->cell_size() != channels_.cell_size()) {
    layout_.emplace(counted_, counted_categories_, channels_.cell_size());
    column_layout_.emplace(codes_, categories_, channels_.cell_size());
    for (Expanded& one : expanded_)
      one.cells.assign(static_cast<std::size_t>(bundles_.any() ? column_layout_->size() : 0), 0);
  }
  pool_.start(layout_->size());
  slot_of_.clear();
}

// Concurrent nodes must not create slots or grow the list: reserve one slot for the lighter child
// of each node, and one for the other child if the parent's histogram was not kept.
void HistogramEngine::expect(const std::vector<tree::Announced>& nodes) {
  if (in_order_) return;
  slot_of_.resize(growing_tree_.nodes.size(), -1);
  if (nodes.size() >= 2) pool_.reserve(2 * nodes.size());
  if (growing_tree_.parts) divide_elsewhere(nodes);
}

// The lighter child's histogram is built during partitioning, while the rows' codes are in cache.
std::int64_t HistogramEngine::send_rows(int node, bool looks_on) {
  if (in_order_) return ordered_.send_rows(node);
  const tree::Node& parent = growing_tree_.nodes[node];
  if (growing_tree_.parts) return parent.begin + sent_left_[node];
  const bool count_left = is_left_lighter(node);
  const std::int64_t n_rows = parent.n_rows();
  const int n_threads = static_cast<int>(
      std::min<std::int64_t>(threads_for(n_rows), tree::Partition::n_blocks(n_rows)));
  std::vector<std::uint8_t> sides;  // of each code of a categorical column
  const bool by_lists = counts_by_lists(n_rows);
  std::vector<int> slots(looks_on ? static_cast<std::size_t>(n_threads) : 0);
  for (int& slot : slots) slot = pool_.take();
  std::vector<char> is_clear(slots.size(), 0);
  const std::int64_t middle = growing_tree_.rows.split(
      parent.begin, parent.end, test_of(parent.split, sides), n_threads,
      [&](const Row* left, std::int64_t n_left, const Row* right, std::int64_t n_right,
          int worker) {
        if (!looks_on) return;
        std::int64_t* const cells = cells_of(slots[worker]);
        if (!std::exchange(is_clear[worker], 1)) std::fill_n(cells, layout_->size(), 0);
        count(by_lists, count_left ? left : right, 0, count_left ? n_left : n_right, cells);
      });
  for (std::size_t part = 0; part < slots.size(); ++part)
    if (!is_clear[part]) std::fill_n(cells_of(slots[part]), layout_->size(), 0);
  merge(slots);
  if (!looks_on) return middle;
  const int counted = parent.ahead + (count_left ? 0 : 1);
  slot_of_[counted] = slots[0];
  if (by_lists) complete(growing_tree_.totals_of(counted)[0], cells_of(slots[0]));
  return middle;
}

bool HistogramEngine::is_left_lighter(int parent) const {
  const int child = growing_tree_.nodes[parent].ahead;
  const std::int64_t left = growing_tree_.totals_of(child)[0],
                     right = growing_tree_.totals_of(child + 1)[0];
  return channels_.is_packed() ? kernels::packed_h(left) <= kernels::packed_h(right)
                               : left <= right;
}

tree::Partition::Test HistogramEngine::test_of(const split::Split& split,
                                               std::vector<std::uint8_t>& sides) const {
  const std::uint64_t* const left_set = split.left_set.empty() ? nullptr : split.left_set.data();
  return row_test(codes_, categories_, split.column, split.bin, split.missing_left, left_set,
                  sides);
}

void HistogramEngine::send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const {
  std::vector<tree::Partition::Test> tests(tree.feature.size());
  std::vector<std::vector<std::uint8_t>> sides(tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (tree.feature[i] < 0) continue;
    const std::int32_t set = tree.category_set[i];
    tests[i] =
        row_test(codes_, categories_, tree.feature[i], tree.code[i], tree.missing_left[i] != 0,
                 set < 0 ? nullptr : tree.words_of(set), sides[i]);
  }
  part_unseen_rows(tree, tests, channels_.target(), codes_.n_rows, n_threads_, leaf_of_row);
}

// Add the histograms of all slots to the first and release the others.
void HistogramEngine::merge(const std::vector<int>& slots) {
  if (slots.size() < 2) return;
  const std::int64_t n_cells = layout_->size();
  const std::int64_t work = n_cells * static_cast<std::int64_t>(slots.size() - 1);
  const int n_threads = work < worth_a_thread || inside_a_loop() ? 1 : n_threads_;
  parallel_for((n_cells + merged_cells - 1) / merged_cells, n_threads, [&](std::int64_t task, int) {
    const std::int64_t begin = task * merged_cells, end = std::min(begin + merged_cells, n_cells);
    std::int64_t* const sum = cells_of(slots[0]);
    for (std::size_t other = 1; other < slots.size(); ++other) {
      const std::int64_t* const more = cells_of(slots[other]);
      for (std::int64_t i = begin; i < end; ++i) sum[i] += more[i];
    }
  });
  for (std::size_t other = 1; other < slots.size(); ++other) pool_.give(slots[other]);
}

int HistogramEngine::threads_for(std::int64_t n_rows) const {
  const std::int64_t work = n_rows * counted_.n_columns + column_layout_->size() / 2;
  return work < worth_a_thread || inside_a_loop() ? 1 : n_threads_;
}

// Sparse lists require packed cells and pay only for many rows. Both ways give the same histogram.
bool HistogramEngine::counts_by_lists(std::int64_t n_rows) const {
  return channels_.is_packed() && table_->sparse.pays_for(n_rows);
}

// Add rows to a histogram; counts by lists still need `complete`.
void HistogramEngine::count(bool by_lists, const Row* rows, std::int64_t begin, std::int64_t n,
                            std::int64_t* cells) const {
  table_->wide_groups.add_rows(*layout_, channels_, rows, begin, n, cells);
  if (!by_lists)
    return add_rows(counted_, counted_categories_, *layout_, channels_, rows, begin, n, cells);
  table_->sparse.add(counted_, *layout_, channels_.values(), rows, begin, n, cells);
  add_wide_columns(counted_categories_, *layout_, channels_, rows, begin, n, cells);
}

void HistogramEngine::complete(std::int64_t total, std::int64_t* cells) {
  parallel_for(counted_.n_groups(), threads_for(0), [&](std::int64_t group, int) {
    table_->sparse.complete(static_cast<int>(group), *layout_, total, cells);
  });
}

// Build the histogram of a node from its rows; returns its slot.
int HistogramEngine::fill_histogram(int node) {
  const split::HistogramLayout& layout = *layout_;
  if (growing_tree_.parts) {
    const int slot = pool_.take();
    std::fill_n(cells_of(slot), layout.size(), 0);
    growing_tree_.parts->add_rows(node, cells_of(slot), layout.size());
    return slot;
  }
  const std::int64_t n = growing_tree_.nodes[node].n_rows();
  const int n_threads = threads_for(n);
  const std::int64_t fitting = std::max<std::int64_t>(1, pool_bytes / (8 * layout.size()));
  const std::int64_t n_parts =
      std::clamp<std::int64_t>(n / part_rows, 1, std::min<std::int64_t>(n_threads, fitting));
  std::vector<int> slots(static_cast<std::size_t>(n_parts));
  for (int& slot : slots) slot = pool_.take();
  const bool in_order = growing_tree_.rows.holds_first_rows() && n == growing_tree_.rows.size();
  const Row* const rows = growing_tree_.rows_of(node);
  const bool by_lists = counts_by_lists(n);
  parallel_for(n_parts, n_threads, [&](std::int64_t part, int) {
    const std::int64_t begin = n * part / n_parts, end = n * (part + 1) / n_parts;
    std::fill_n(cells_of(slots[part]), layout.size(), 0);
    count(by_lists, in_order ? nullptr : rows + begin, begin, end - begin, cells_of(slots[part]));
  });
  merge(slots);
  if (by_lists) complete(growing_tree_.totals_of(node)[0], cells_of(slots[0]));
  return slots[0];
}

// Assign the histograms of two siblings: one was built during partitioning, the other is the
// parent's minus that, or built now if the parent's was not kept.
HistogramEngine::Pair HistogramEngine::take_histograms(const tree::Siblings& siblings) {
  if (siblings.parent < 0) {
    slot_of_.assign(1, -1);
    if (siblings.wants_left) slot_of_[siblings.left] = fill_histogram(siblings.left);
    return {siblings.left, -1, siblings.wants_left, false, false, siblings.left_columns};
  }
  Pair pair{siblings.left, siblings.right,        siblings.wants_left,   siblings.wants_right,
            false,         siblings.left_columns, siblings.right_columns};
  if (!is_left_lighter(siblings.parent)) {
    std::swap(pair.counted, pair.rest);
    std::swap(pair.wants_counted, pair.wants_rest);
    std::swap(pair.counted_columns, pair.rest_columns);
  }
  const int parent_slot = std::exchange(slot_of_[siblings.parent], -1);
  pair.subtract = pair.wants_rest && parent_slot >= 0;
  if (pair.subtract)
    slot_of_[pair.rest] = parent_slot;
  else
    pool_.give(parent_slot);
  if (pair.wants_rest && !pair.subtract) slot_of_[pair.rest] = fill_histogram(pair.rest);
  return pair;
}

void HistogramEngine::subtract_part(int part, const Pair& pair) {
  const std::int64_t begin = layout_->part_begin(part);
  kernels::active().subtract(cells_of_node(pair.rest) + begin, cells_of_node(pair.counted) + begin,
                             layout_->part_end(part) - begin);
}

// With feature bundles, subtract and expand the columns' own cells before the search.
void HistogramEngine::make_ready(const Pair& pair) {
  if (!bundles_.any()) return;
  if (pair.subtract)
    parallel_for(layout_->n_parts(), threads_for(0),
                 [&](std::int64_t part, int) { subtract_part(static_cast<int>(part), pair); });
  const int nodes[2] = {pair.wants_counted ? pair.counted : -1, pair.wants_rest ? pair.rest : -1};
  parallel_for(2, threads_for(0), [&](std::int64_t i, int) {
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

void HistogramEngine::search(const tree::Siblings& siblings) {
  if (in_order_) return ordered_.search(siblings);
  const Pair pair = take_histograms(siblings);
  pair.wants_counted || pair.wants_rest ? search_pair(pair) : settle(pair.counted, {});
}

void HistogramEngine::search_again(const std::vector<tree::Siblings>& nodes) {
  for (const tree::Siblings& one : nodes) {
    pool_.give(std::exchange(slot_of_[one.left], fill_histogram(one.left)));
    search_pair({one.left, -1, true, false, false, one.left_columns});
  }
}

void HistogramEngine::search_pair(const Pair& pair) {
  make_ready(pair);
  if (channels_.is_packed())
    search_packed(pair);
  else
    criteria::AllCriteria::with_name(criterion_,
                                     [&]<criteria::Criterion C>(C) { search_wide<C>(pair); });
}

template <criteria::Criterion C>
HistogramEngine::Found HistogramEngine::best_of_part(int node, int part,
                                                     const data::CandidateColumns& columns) {
  const split::HistogramLayout& layout = *column_layout_;
  const std::int64_t* const cells = columns_of_node(node);
  const std::int64_t* const totals = growing_tree_.totals_of(node);
  const Bounds& bounds = growing_tree_.nodes[node].bounds;
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

template <criteria::Criterion C>
void HistogramEngine::search_wide(const Pair& pair) {
  const int n_parts = column_layout_->n_parts();
  std::vector<Found> found_counted(static_cast<std::size_t>(n_parts)), found_rest(found_counted);
  parallel_for(n_parts, threads_for(0), [&](std::int64_t task, int) {
    const int part = static_cast<int>(task);
    if (pair.subtract && !bundles_.any()) subtract_part(part, pair);
    if (pair.wants_counted)
      found_counted[part] = best_of_part<C>(pair.counted, part, pair.counted_columns);
    if (pair.wants_rest) found_rest[part] = best_of_part<C>(pair.rest, part, pair.rest_columns);
  });
  split::Split counted, rest;
  if (pair.wants_counted) counted = joined<C>(pair.counted, found_counted, pair.counted_columns);
  if (pair.wants_rest) rest = joined<C>(pair.rest, found_rest, pair.rest_columns);
  settle(pair.counted, counted);
  if (pair.wants_rest) settle(pair.rest, rest);
}

split::PackedSearch HistogramEngine::packed_search(int node) const {
  return split::PackedSearch(codes_, categories_, *column_layout_, channels_, limits_,
                             table_->has_missing.data(), growing_tree_.totals_of(node)[0],
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

split::Split HistogramEngine::best_packed(int node, const data::CandidateColumns& columns) {
  const split::PackedSearch search = packed_search(node);
  std::vector<kernels::LaneBests> found(static_cast<std::size_t>(column_layout_->n_parts()));
  for (int part = 0; part < column_layout_->n_parts(); ++part)
    found[part] = search.search_part(part, columns_of_node(node), columns);
  return decided(node, std::move(found), columns);
}

// Few bins are searched by one thread, and those of the sibling by another.
void HistogramEngine::search_packed(const Pair& pair) {
  if (threads_for(0) > 1) return search_packed_by_parts(pair);
  if (pair.subtract && !bundles_.any())
    for (int part = 0; part < layout_->n_parts(); ++part) subtract_part(part, pair);
  split::Split found[2];
  const bool both = pair.wants_counted && pair.wants_rest;
  // A thread that just helped with partitioning is still awake, so searching a whole group of
  // columns already pays.
  std::int64_t n_rows = growing_tree_.nodes[pair.counted].n_rows();
  if (both && codes_.n_columns >= lanes) n_rows += growing_tree_.nodes[pair.rest].n_rows();
  const int n_threads = both ? threads_for(n_rows) : 1;
  parallel_for(2, n_threads, [&](std::int64_t i, int) {
    if (i == 0 && pair.wants_rest) found[0] = best_packed(pair.rest, pair.rest_columns);
    if (i == 1 && pair.wants_counted) found[1] = best_packed(pair.counted, pair.counted_columns);
  });
  settle(pair.counted, found[1]);
  if (pair.wants_rest) settle(pair.rest, found[0]);
}

void HistogramEngine::search_packed_by_parts(const Pair& pair) {
  const int n_parts = column_layout_->n_parts();
  std::vector<kernels::LaneBests> found_counted(static_cast<std::size_t>(n_parts));
  std::vector<kernels::LaneBests> found_rest(static_cast<std::size_t>(n_parts));
  parallel_for(n_parts, threads_for(0), [&](std::int64_t task, int) {
    const int part = static_cast<int>(task);
    const auto search_node = [&](int node, const data::CandidateColumns& columns) {
      return packed_search(node).search_part(part, columns_of_node(node), columns);
    };
    if (pair.subtract && !bundles_.any()) subtract_part(part, pair);
    if (pair.wants_counted) found_counted[part] = search_node(pair.counted, pair.counted_columns);
    if (pair.wants_rest) found_rest[part] = search_node(pair.rest, pair.rest_columns);
  });
  split::Split counted, rest;
  if (pair.wants_counted)
    counted = decided(pair.counted, std::move(found_counted), pair.counted_columns);
  if (pair.wants_rest) rest = decided(pair.rest, std::move(found_rest), pair.rest_columns);
  settle(pair.counted, counted);
  if (pair.wants_rest) settle(pair.rest, rest);
}

// The siblings of a level keep their histograms while memory allows.
void HistogramEngine::keep(const tree::Siblings& siblings) {
  tree::Siblings both = siblings;
  both.wants_left = both.wants_right = slot_of_[siblings.parent] >= 0;
  const Pair pair = take_histograms(both);
  if (pair.subtract)
    parallel_for(layout_->n_parts(), threads_for(0),
                 [&](std::int64_t part, int) { subtract_part(static_cast<int>(part), pair); });
  for (const int child : {siblings.left, siblings.right})
    if (!has_room() || !(child == siblings.left ? siblings.wants_left : siblings.wants_right))
      pool_.give(std::exchange(slot_of_[child], -1));
}

std::vector<int> HistogramEngine::search_level(const std::vector<int>& nodes,
                                               data::CandidateColumns columns) {
  slot_of_.resize(growing_tree_.nodes.size(), -1);
  std::vector<const std::int64_t*> kept(nodes.size(), nullptr);
  for (const int node : nodes)
    if (slot_of_[node] < 0 && (growing_tree_.parts || has_room()))
      slot_of_[node] = fill_histogram(node);
  const std::int64_t n_cells = static_cast<std::int64_t>(nodes.size()) * column_layout_->size();
  const int n_threads = n_cells < worth_a_thread ? 1 : n_threads_;
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
    node.left_totals.assign(static_cast<std::size_t>(layout.cell_size()), 0);
    const std::int64_t stride = layout.stride_of(found.column);
    const auto add = [&](int bin) {
      for (int c = 0; c < layout.cell_size(); ++c) node.left_totals[c] += cells[bin * stride + c];
    };
    // Without missing values bin 0 is an empty cell.
    if (found.missing_left) add(0);
    const bool has_set = !found.left_set.empty();
    node.split.parts_missing = !has_set && found.bin == layout.levels_of(found.column);
    for (int bin = 1; bin <= (has_set ? layout.levels_of(found.column) : found.bin); ++bin)
      if (!has_set || data::in_set(found.left_set.data(), bin - 1)) add(bin);
  }
  if (found.found() && has_room()) return;
  pool_.give(std::exchange(slot_of_[i], -1));
}

}  // namespace weald::engine
