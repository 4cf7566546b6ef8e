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

// Below this many additions a second thread does not pay; with more, each thread should have as
// many as the second number.
constexpr std::int64_t worth_a_thread = 40'000, worth_another = 10'000;

// Cells that a task adds up when what several threads counted is added.
constexpr std::int64_t added_cells = 512;

// Rows of a block that one thread counts at a time, at least and at most.
constexpr std::int64_t least_rows = 1'024, most_rows = 8'192;

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
  const int cell_size = channels_.histogram_cell_size();
  if (!layout_ || layout_->cell_size() != cell_size) {
    layout_.emplace(counted_, counted_categories_, cell_size);
    column_layout_.emplace(codes_, categories_, cell_size);
    for (Expanded& one : expanded_)
      one.cells.assign(static_cast<std::size_t>(bundles_.any() ? column_layout_->size() : 0), 0);
  }
  word_blocks_.start(counted_, counted_categories_, channels_.rows_of_block(), n_threads_);
  pool_.start(layout_->size());
  slot_of_.clear();
  counts_.clear();
}

// The lighter child of each node is counted during partitioning, while the rows' codes are in
// cache. Each thread has a histogram of its own for each node of which it sees rows; the search
// adds them.
std::vector<std::int64_t> HistogramEngine::send_rows(const std::vector<tree::Announced>& nodes) {
  std::vector<std::int64_t> middles;
  if (in_order_) {
    for (const tree::Announced& one : nodes) middles.push_back(ordered_.send_rows(one.node));
    return middles;
  }
  slot_of_.resize(growing_tree_.nodes.size(), -1);
  counts_.resize(growing_tree_.nodes.size());
  if (growing_tree_.parts) return divide_elsewhere(nodes);
  std::vector<tree::Partition::Division> ranges;
  std::vector<std::vector<std::uint8_t>> sides(nodes.size());  // of codes of categorical columns
  std::vector<Lighter> lighter;
  std::int64_t n_rows = 0;
  for (const auto& [i, looks_on] : nodes) {
    const tree::Node& node = growing_tree_.nodes[i];
    ranges.push_back({node.begin, node.end, test_of(node.split, sides[ranges.size()])});
    const bool is_left = is_left_lighter(i);
    lighter.push_back({looks_on ? node.ahead + (is_left ? 0 : 1) : -1, is_left});
    if (looks_on) counts_[lighter.back().child].begin(n_threads_, counts_by_lists(node.n_rows()));
    n_rows += node.n_rows();
  }
  const int n_threads = threads_for(n_rows);
  pool_.reserve(tree::Partition::most_visits(ranges, n_threads));
  middles = growing_tree_.rows.split(ranges, n_threads,
                                     [&](int i, const Row* left, std::int64_t n_left,
                                         const Row* right, std::int64_t n_right, int worker) {
                                       const auto [child, is_left] = lighter[i];
                                       if (child < 0) return;
                                       count(child, worker, is_left ? left : right, 0,
                                             is_left ? n_left : n_right);
                                     });
  std::vector<int> counted;
  for (const Lighter& one : lighter)
    if (one.child >= 0) counted.push_back(one.child);
  begin_sums(counted);
  return middles;
}

// The histogram of a node to which a thread adds rows.
std::int64_t* HistogramEngine::own_cells(int node, int worker) {
  int& slot = counts_[node].slots[worker];
  if (slot >= 0) return cells_of(slot);
  slot = pool_.take();
  std::fill_n(cells_of(slot), layout_->size(), 0);
  return cells_of(slot);
}

// The first of each node's histograms becomes the sum of all.
void HistogramEngine::begin_sums(const std::vector<int>& nodes) {
  word_blocks_.finish();
  for (const int node : nodes) {
    std::vector<int>& slots = counts_[node].slots;
    std::erase(slots, -1);
    slot_of_[node] = slots[0];
    slots.erase(slots.begin());
  }
  sum_first(nodes);
}

bool HistogramEngine::is_left_lighter(int parent) const {
  const int child = growing_tree_.nodes[parent].ahead;
  return channels_.heaviness(growing_tree_.totals_of(child)) <=
         channels_.heaviness(growing_tree_.totals_of(child + 1));
}

tree::Partition::Test HistogramEngine::test_of(const split::Split& split,
                                               std::vector<std::uint8_t>& sides) const {
  if (table_->listed.any())
    return row_test(table_->listed.column(split.column), split.bin, split.missing_left);
  const std::uint64_t* const left_set = split.left_set.empty() ? nullptr : split.left_set.data();
  return row_test(codes_, categories_, split.column, split.bin, split.missing_left, left_set,
                  sides);
}

void HistogramEngine::send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const {
  std::vector<tree::Partition::Test> tests(tree.feature.size());
  std::vector<std::vector<std::uint8_t>> sides(tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (tree.feature[i] < 0) continue;
    if (table_->listed.any()) {
      tests[i] =
          row_test(table_->listed.column(tree.feature[i]), tree.code[i], tree.missing_left[i] != 0);
      continue;
    }
    const std::int32_t set = tree.category_set[i];
    tests[i] =
        row_test(codes_, categories_, tree.feature[i], tree.code[i], tree.missing_left[i] != 0,
                 set < 0 ? nullptr : tree.words_of(set), sides[i]);
  }
  part_unseen_rows(tree, tests, channels_.target(), codes_.n_rows, n_threads_, leaf_of_row);
}

int HistogramEngine::threads_for(std::int64_t n_rows) const {
  const double a_row = table_->listed.any() ? table_->sparse.additions_per_row()
                                            : static_cast<double>(counted_.n_columns);
  const std::int64_t work =
      static_cast<std::int64_t>(static_cast<double>(n_rows) * a_row) + column_layout_->size() / 2;
  if (work < worth_a_thread || inside_a_loop()) return 1;
  return static_cast<int>(std::min<std::int64_t>(n_threads_, work / worth_another));
}

// Sparse lists beside codes require words and pay only for many rows. Both ways give the same
// histogram.
bool HistogramEngine::counts_by_lists(std::int64_t n_rows) const {
  if (table_->listed.any()) return true;
  return channels_.has_words() && table_->sparse.pays_for(n_rows);
}

// Add rows to the histogram that a worker has of a node.
void HistogramEngine::count(int node, int worker, const Row* rows, std::int64_t begin,
                            std::int64_t n) {
  const bool by_lists = counts_[node].by_lists;
  std::int64_t* const cells = own_cells(node, worker);
  if (!word_blocks_.are_used()) return count(*layout_, by_lists, rows, begin, n, cells);
  word_blocks_.add(worker, n, cells,
                   [&](const split::HistogramLayout& layout, std::int64_t first, std::int64_t size,
                       std::int64_t* packed) {
                     count(layout, by_lists, rows ? rows + first : nullptr, begin + first, size,
                           packed);
                   });
}

// Add rows to a histogram; counts by lists still need `complete`.
void HistogramEngine::count(const split::HistogramLayout& layout, bool by_lists, const Row* rows,
                            std::int64_t begin, std::int64_t n, std::int64_t* cells) const {
  table_->wide_groups.add_rows(layout, channels_, rows, begin, n, cells);
  if (!by_lists)
    return add_rows(counted_, counted_categories_, layout, channels_, rows, begin, n, cells);
  if (!channels_.has_words()) return table_->sparse.add_wide(channels_, rows, begin, n, cells);
  table_->sparse.add(counted_, layout, channels_.values(), rows, begin, n, cells);
  add_wide_columns(counted_categories_, layout, channels_, rows, begin, n, cells);
}

// Count the rows of a node. Threads share them: the search adds what they counted.
void HistogramEngine::count_rows(int node) {
  counts_.resize(growing_tree_.nodes.size());
  const std::int64_t n = growing_tree_.nodes[node].n_rows();
  counts_[node].begin(n_threads_, counts_by_lists(n));
  if (growing_tree_.parts) {
    std::int64_t* const cells = own_cells(node, 0);
    growing_tree_.parts->add_rows(node, cells, layout_->size());
    return begin_sums({node});
  }
  const bool in_order = growing_tree_.rows.holds_first_rows() && n == growing_tree_.rows.size();
  const Row* const rows = growing_tree_.rows_of(node);
  const std::int64_t fitting = std::max<std::int64_t>(1, pool_bytes / (8 * layout_->size()));
  const auto n_threads = static_cast<int>(std::min<std::int64_t>(threads_for(n), fitting));
  const std::int64_t block =
      n_threads == 1 ? std::max<std::int64_t>(1, n)
                     : std::clamp(tree::Partition::block_of(n, n_threads), least_rows, most_rows);
  const std::int64_t n_blocks = (n + block - 1) / block;
  pool_.reserve(static_cast<std::size_t>(std::min<std::int64_t>(n_threads, n_blocks)));
  parallel_for(n_blocks, n_threads, [&](std::int64_t b, int worker) {
    const std::int64_t begin = b * block, size = std::min(block, n - begin);
    count(node, worker, in_order ? nullptr : rows + begin, begin, size);
  });
  begin_sums({node});
}

// Add what the threads counted in some cells of a node's histogram.
void HistogramEngine::sum_cells(int node, std::int64_t begin, std::int64_t end) {
  std::int64_t* const sum = cells_of_node(node);
  for (const int slot : counts_[node].slots) {
    const std::int64_t* const more = cells_of(slot);
    for (std::int64_t i = begin; i < end; ++i) sum[i] += more[i];
  }
}

// The same in a part, which is then complete.
void HistogramEngine::sum_part(int part, int node) {
  sum_cells(node, layout_->part_begin(part), layout_->part_end(part));
  if (counts_[node].by_lists && part < counted_.n_groups())
    table_->sparse.complete(part, *layout_, growing_tree_.totals_of(node), cells_of_node(node));
}

// If many threads counted nodes of few columns, all of them add: the search has a task for each
// part only.
void HistogramEngine::sum_first(const std::vector<int>& nodes) {
  std::int64_t n_added = 0;
  for (const int node : nodes) n_added += static_cast<std::int64_t>(counts_[node].slots.size());
  const auto n_nodes = static_cast<std::int64_t>(nodes.size());
  if (n_added * layout_->size() < worth_a_thread || n_nodes * layout_->n_parts() >= n_threads_)
    return;
  const std::int64_t n_blocks = (layout_->size() + added_cells - 1) / added_cells;
  parallel_for(n_nodes * n_blocks, n_threads_, [&](std::int64_t task, int) {
    const std::int64_t begin = task % n_blocks * added_cells;
    sum_cells(nodes[task / n_blocks], begin, std::min(begin + added_cells, layout_->size()));
  });
  for (const int node : nodes)
    for (const int slot : std::exchange(counts_[node].slots, {})) pool_.give(slot);
}

// The histogram of the node is complete.
void HistogramEngine::end_sum(int node) {
  if (node < 0 || static_cast<std::size_t>(node) >= counts_.size()) return;
  for (const int slot : counts_[node].slots) pool_.give(slot);
  counts_[node] = {};
}

// Assign the histograms of two siblings: one was counted during partitioning, the other is the
// parent's minus that, or counted now if the parent's was not kept.
HistogramEngine::Pair HistogramEngine::take_histograms(const tree::Siblings& siblings) {
  if (siblings.parent < 0) {
    slot_of_.assign(1, -1);
    if (siblings.wants_left) count_rows(siblings.left);
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
  if (pair.wants_rest && !pair.subtract) count_rows(pair.rest);
  return pair;
}

}  // namespace weald::engine
