#include "grower.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/kernels.hpp"
#include "parallel.hpp"

namespace weald {
namespace {

// Histograms kept for subtraction hold at most this many bytes; beyond it a node's histogram is
// counted anew. Sums are integers, so the tree is the same either way.
constexpr std::int64_t pool_bytes = std::int64_t{256} << 20;

// Below this many additions a second thread costs more than it brings.
constexpr std::int64_t worth_a_thread = 40'000;

// Least rows of one thread where all rows of a node are counted.
constexpr std::int64_t part_rows = 8'192;

// Rows of one task where all rows are passed over, and of those that stay near meanwhile.
constexpr std::int64_t block = 32'768, near_rows = 512;

// A second copy of the codes, column by column, may take this much: sending rows left and right
// then reads a byte of each instead of a cache line.
constexpr std::int64_t columns_bytes = std::int64_t{64} << 20;

}  // namespace

Grower::Grower(const Codes& codes, std::string_view criterion, const TreeParams& params)
    : codes_(codes), criterion_(criterion), params_(params) {
  if (codes.n_rows * codes.n_columns > columns_bytes) return;
  columns_.resize(static_cast<std::size_t>(codes.n_rows * codes.n_columns));
  parallel_for((codes.n_rows + block - 1) / block, params.n_threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * block, codes.n_rows);
    for (std::int64_t begin = task * block; begin < end; begin += near_rows)
      for (int column = 0; column < codes.n_columns; ++column)
        for (std::int64_t row = begin; row < std::min(begin + near_rows, end); ++row)
          columns_[column * codes.n_rows + row] = codes.at(static_cast<Row>(row), column);
  });
}

Tree Grower::grow(const Target& target, std::int32_t* leaf_of_row) {
  rows_.start(codes_.n_rows, target.copies);
  const bool needs_count = params_.split.min_samples_leaf > 1;
  const Cells cells = criterion_ == Newton::name ? params_.cells : Cells::wide;
  channels_.prepare(target, codes_.n_rows, rows_.at(0), rows_.size(), needs_count, cells,
                    params_.n_threads);
  start();
  Tree tree;
  const bool known = AllCriteria::with_name(criterion_, [&]<Criterion C>(C) {
    run<C>();
    tree = emit<C>(leaf_of_row);
  });
  if (!known) throw std::invalid_argument("unknown criterion");
  if (rows_.size() < codes_.n_rows) send_unseen_rows(tree, leaf_of_row);
  return tree;
}

void Grower::start() {
  if (!layout_ || layout_->cell_size() != channels_.cell_size()) {
    layout_.emplace(codes_, channels_.cell_size());
    pool_.clear();
  }
  free_slots_.resize(pool_.size());
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0);
  nodes_.clear();
  totals_.clear();
  frontier_.clear();
  n_leaves_ = 1;
}

template <Criterion C>
void Grower::run() {
  search<C>(look_at_root());
  while (!frontier_.empty() &&
         (params_.max_leaf_nodes == 0 || n_leaves_ < params_.max_leaf_nodes)) {
    if (interrupted()) throw Interrupted{};
    search<C>(split_node(pop()));
  }
}

template <Criterion C>
void Grower::search(const Pair& pair) {
  if (!pair.wants_counted && !pair.wants_rest) return;
  channels_.is_packed() ? search_packed(pair) : search_wide<C>(pair);
}

int Grower::add_node(std::int64_t begin, std::int64_t end, int depth, const std::int64_t* totals) {
  nodes_.push_back({begin, end, depth, -1, -1, -1, -1, -1, {}, {}});
  totals_.insert(totals_.end(), totals, totals + channels_.cell_size());
  return static_cast<int>(nodes_.size()) - 1;
}

std::int64_t Grower::copies_in(int node) {
  if (const int count = channels_.count_index(); count >= 0) return totals_of(node)[count];
  return channels_.count(rows_.at(nodes_[node].begin), rows_in(node));
}

// May a node's children be split, as far as the limits on depth and leaves go?
bool Grower::has_room_below(const Node& node) const {
  return (params_.max_depth == 0 || node.depth + 1 < params_.max_depth) &&
         (params_.max_leaf_nodes == 0 || n_leaves_ + 1 < params_.max_leaf_nodes);
}

bool Grower::may_split(int node) {
  const Node& n = nodes_[node];
  if (n.end - n.begin < 2 || (params_.max_depth > 0 && n.depth >= params_.max_depth)) return false;
  if (params_.max_leaf_nodes > 0 && n_leaves_ >= params_.max_leaf_nodes) return false;
  const std::int64_t least = params_.split.min_samples_leaf;
  if (least > 1 || params_.min_samples_split > 2) {
    const std::int64_t copies = copies_in(node);
    if (copies < params_.min_samples_split || copies / 2 < least) return false;
  }
  // Where every gain is welcome, only a node of equal rows ends by itself.
  return !params_.split.takes_any_gain() || !channels_.is_pure(rows_.at(n.begin), n.end - n.begin);
}

bool Grower::comes_before(int a, int b) const {
  // Without a limit on leaves the order changes no tree: depth first keeps few histograms alive.
  if (params_.max_leaf_nodes == 0) return a > b;
  const Node &x = nodes_[a], &y = nodes_[b];
  if (params_.growth == Growth::depth_wise && x.depth != y.depth) return x.depth < y.depth;
  if (x.split.gain != y.split.gain) return x.split.gain > y.split.gain;
  return a < b;
}

void Grower::push(int node) {
  frontier_.push_back(node);
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [this](int a, int b) { return comes_before(b, a); });
}

int Grower::pop() {
  std::pop_heap(frontier_.begin(), frontier_.end(),
                [this](int a, int b) { return comes_before(b, a); });
  const int node = frontier_.back();
  frontier_.pop_back();
  return node;
}

Grower::Pair Grower::look_at_root() {
  const int root = add_node(0, rows_.size(), 0, channels_.totals());
  const bool wanted = may_split(root);
  if (wanted) nodes_[root].histogram = fill_histogram(root);
  return {root, -1, wanted, false, false};
}

// Sends a node's rows to its children. The lighter child's histogram is counted on the way, while
// the rows' codes are near; the other's is what is left of the parent's.
Grower::Pair Grower::split_node(int node) {
  const Node parent = std::move(nodes_[node]);
  std::vector<std::int64_t> right_totals(totals_of(node), totals_of(node) + channels_.cell_size());
  for (std::size_t c = 0; c < right_totals.size(); ++c) right_totals[c] -= parent.left_totals[c];
  const auto weight = [&](const std::vector<std::int64_t>& totals) {
    return channels_.is_packed() ? packed_h(totals[0]) : totals[0];
  };
  const bool count_left = weight(parent.left_totals) <= weight(right_totals);
  const bool counts = has_room_below(parent);

  const std::int64_t n_rows = parent.end - parent.begin;
  const int n_threads =
      static_cast<int>(std::min<std::int64_t>(threads_for(n_rows), Partition::n_blocks(n_rows)));
  std::vector<int> slots(counts ? static_cast<std::size_t>(n_threads) : 0);
  for (int& slot : slots) slot = take_slot();
  std::vector<char> is_clear(slots.size(), 0);
  const Split& split = parent.split;
  const int g = split.column / lanes;
  const Code offset = split.missing_left ? 0 : 1;
  const Code limit = static_cast<Code>(split.bin - offset);
  const Partition::Test test =
      columns_.empty()
          ? Partition::Test{codes_.group(g) + split.column % lanes, codes_.stride(g), offset, limit}
          : Partition::Test{columns_.data() + split.column * codes_.n_rows, 1, offset, limit};
  const std::int64_t middle =
      rows_.split(parent.begin, parent.end, test, n_threads,
                  [&](const Row* left, std::int64_t n_left, const Row* right, std::int64_t n_right,
                      int worker) {
                    if (!counts) return;
                    std::int64_t* const cells = cells_of(slots[worker]);
                    if (!std::exchange(is_clear[worker], 1)) std::fill_n(cells, layout_->size(), 0);
                    add_rows(codes_, *layout_, channels_, count_left ? left : right, 0,
                             count_left ? n_left : n_right, cells);
                  });
  for (std::size_t part = 0; part < slots.size(); ++part)
    if (!is_clear[part]) std::fill_n(cells_of(slots[part]), layout_->size(), 0);
  merge(slots);

  ++n_leaves_;
  const int left = add_node(parent.begin, middle, parent.depth + 1, parent.left_totals.data());
  const int right = add_node(middle, parent.end, parent.depth + 1, right_totals.data());
  nodes_[node] = {parent.begin, parent.end, parent.depth, left,         right,
                  -1,           -1,         -1,           parent.split, {}};
  Pair pair{count_left ? left : right, count_left ? right : left, false, false, false};
  pair.wants_counted = counts && may_split(pair.counted);
  pair.wants_rest = counts && may_split(pair.rest);
  pair.subtract = pair.wants_rest && parent.histogram >= 0;
  if (counts) nodes_[pair.counted].histogram = slots[0];
  if (pair.subtract) nodes_[pair.rest].histogram = parent.histogram;
  if (!pair.subtract) give_slot(parent.histogram);
  if (pair.wants_rest && !pair.subtract) nodes_[pair.rest].histogram = fill_histogram(pair.rest);
  if (!pair.wants_counted && !pair.wants_rest) settle(pair.counted, {});
  return pair;
}

int Grower::take_slot() {
  if (free_slots_.empty()) {
    pool_.emplace_back(static_cast<std::size_t>(layout_->size()));
    return static_cast<int>(pool_.size()) - 1;
  }
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Grower::give_slot(int slot) {
  if (slot >= 0) free_slots_.push_back(slot);
}

// Adds the histograms of all slots to the first and gives the others back.
void Grower::merge(const std::vector<int>& slots) {
  if (slots.size() < 2) return;
  parallel_for(codes_.n_groups(), threads_for(0), [&](std::int64_t g, int) {
    const std::int64_t begin = layout_->group_begin(static_cast<int>(g));
    const std::int64_t end = layout_->group_end(static_cast<int>(g));
    std::int64_t* const sum = cells_of(slots[0]);
    for (std::size_t part = 1; part < slots.size(); ++part) {
      const std::int64_t* const more = cells_of(slots[part]);
      for (std::int64_t i = begin; i < end; ++i) sum[i] += more[i];
    }
  });
  for (std::size_t part = 1; part < slots.size(); ++part) give_slot(slots[part]);
}

int Grower::threads_for(std::int64_t n_rows) const {
  const std::int64_t work = n_rows * codes_.n_columns + layout_->size() / 2;
  return work < worth_a_thread ? 1 : params_.n_threads;
}

// Counts a node's rows and returns the slot of the histogram.
int Grower::fill_histogram(int node) {
  const HistogramLayout& layout = *layout_;
  const std::int64_t n = rows_in(node);
  const int n_threads = threads_for(n);
  const std::int64_t fitting = std::max<std::int64_t>(1, pool_bytes / (8 * layout.size()));
  const std::int64_t n_parts =
      std::clamp<std::int64_t>(n / part_rows, 1, std::min<std::int64_t>(n_threads, fitting));
  std::vector<int> slots(static_cast<std::size_t>(n_parts));
  for (int& slot : slots) slot = take_slot();
  const bool all_rows = n == codes_.n_rows;  // then they are in order
  const Row* const rows = rows_.at(nodes_[node].begin);
  parallel_for(n_parts, n_threads, [&](std::int64_t part, int) {
    const std::int64_t begin = n * part / n_parts, end = n * (part + 1) / n_parts;
    std::fill_n(cells_of(slots[part]), layout.size(), 0);
    add_rows(codes_, layout, channels_, all_rows ? nullptr : rows + begin, begin, end - begin,
             cells_of(slots[part]));
  });
  merge(slots);
  return slots[0];
}

void Grower::subtract_group(int g, const Pair& pair) {
  const HistogramLayout& layout = *layout_;
  const std::int64_t begin = layout.group_begin(g);
  kernels().subtract(cells_of(nodes_[pair.rest].histogram) + begin,
                     cells_of(nodes_[pair.counted].histogram) + begin, layout.group_end(g) - begin);
}

template <Criterion C>
void Grower::search_wide(const Pair& pair) {
  const HistogramLayout& layout = *layout_;
  const auto n_groups = static_cast<std::size_t>(codes_.n_groups());
  std::vector<Split> found_counted(n_groups), found_rest(n_groups);
  const auto look = [&](int node, int g, Split& best) {
    SplitSearch<C> search(channels_, params_.split, totals_of(node));
    const std::int64_t* const cells = cells_of(nodes_[node].histogram);
    for (int column = g * lanes; column < g * lanes + codes_.lanes_of(g); ++column)
      search.try_column(column, cells + layout.column_begin(column), layout.bin_stride(),
                        codes_.n_bins[column], best);
  };
  parallel_for(codes_.n_groups(), threads_for(0), [&](std::int64_t task, int) {
    const int g = static_cast<int>(task);
    if (pair.subtract) subtract_group(g, pair);
    if (pair.wants_counted) look(pair.counted, g, found_counted[g]);
    if (pair.wants_rest) look(pair.rest, g, found_rest[g]);
  });
  const auto best_of = [](const std::vector<Split>& found) {
    Split best;
    for (const Split& split : found)
      if (split.gain > best.gain) best = split;
    return best;
  };
  settle(pair.counted, best_of(found_counted));
  if (pair.wants_rest) settle(pair.rest, best_of(found_rest));
}

void Grower::search_packed(const Pair& pair) {
  const auto n_groups = static_cast<std::size_t>(codes_.n_groups());
  std::vector<LaneBests> found_counted(n_groups), found_rest(n_groups);
  const auto search_of = [&](int node) {
    return PackedSearch(codes_, *layout_, channels_, params_.split, totals_of(node)[0]);
  };
  parallel_for(codes_.n_groups(), threads_for(0), [&](std::int64_t task, int) {
    const int g = static_cast<int>(task);
    const auto look = [&](int node) {
      return search_of(node).look(g, cells_of(nodes_[node].histogram));
    };
    if (pair.subtract) subtract_group(g, pair);
    if (pair.wants_counted) found_counted[g] = look(pair.counted);
    if (pair.wants_rest) found_rest[g] = look(pair.rest);
  });
  const auto decide = [&](int node, const std::vector<LaneBests>& found) {
    const Node& n = nodes_[node];
    return search_of(node).decide(found, cells_of(n.histogram), rows_.at(n.begin), rows_in(node));
  };
  settle(pair.counted, pair.wants_counted ? decide(pair.counted, found_counted) : Split{});
  if (pair.wants_rest) settle(pair.rest, decide(pair.rest, found_rest));
}

// Queues a node with the split found for it; or lets it be a leaf.
void Grower::settle(int i, const Split& found) {
  Node& node = nodes_[i];
  node.split = found;
  if (node.split.found()) {
    const HistogramLayout& layout = *layout_;
    const std::int64_t* const cells =
        cells_of(node.histogram) + layout.column_begin(node.split.column);
    node.left_totals.assign(static_cast<std::size_t>(layout.cell_size()), 0);
    const auto add = [&](int bin) {
      for (int c = 0; c < layout.cell_size(); ++c)
        node.left_totals[c] += cells[bin * layout.bin_stride() + c];
    };
    // Where no row is missing, bin 0 is an empty cell.
    for (int bin = node.split.missing_left ? 0 : 1; bin <= node.split.bin; ++bin) add(bin);
    push(i);
  }
  const auto in_use = static_cast<std::int64_t>(pool_.size() - free_slots_.size());
  const bool too_many = in_use > 2 && in_use * layout_->size() * 8 > pool_bytes;
  if (node.split.found() && !too_many) return;
  give_slot(node.histogram);
  node.histogram = -1;
}

// W and S of every node from the doubles of its rows, not from the histograms.
std::vector<Int128> Grower::exact_totals(const std::int32_t* leaf_of_row) const {
  const auto n_totals = static_cast<std::size_t>(1 + channels_.n_channels());
  std::vector<Int128> exact(nodes_.size() * n_totals, 0);
  if (n_leaves_ * static_cast<std::int64_t>(n_totals) * 64 < block &&
      rows_.size() == codes_.n_rows) {
    // Few leaves: in the order of the rows, which are read once, with a sum per leaf and block.
    std::vector<Int128*> of_leaf(static_cast<std::size_t>(n_leaves_));
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].leaf >= 0) of_leaf[nodes_[i].leaf] = exact.data() + i * n_totals;
    std::mutex lock;
    parallel_for((codes_.n_rows + block - 1) / block, params_.n_threads,
                 [&](std::int64_t task, int) {
                   std::vector<Int128> sums(of_leaf.size() * n_totals, 0);
                   channels_.add_exact(task * block, std::min((task + 1) * block, codes_.n_rows),
                                       leaf_of_row, sums.data());
                   const std::scoped_lock hold(lock);
                   for (std::size_t i = 0; i < sums.size(); ++i)
                     of_leaf[i / n_totals][i % n_totals] += sums[i];
                 });
  } else {
    parallel_for(static_cast<std::int64_t>(nodes_.size()), params_.n_threads,
                 [&](std::int64_t i, int) {
                   const Node& node = nodes_[i];
                   if (node.leaf < 0) return;
                   channels_.add_exact(rows_.at(node.begin), node.end - node.begin,
                                       exact.data() + i * n_totals);
                 });
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {  // children are numbered after their parent
    if (nodes_[i].leaf >= 0) continue;
    for (std::size_t t = 0; t < n_totals; ++t)
      exact[i * n_totals + t] =
          exact[nodes_[i].left * n_totals + t] + exact[nodes_[i].right * n_totals + t];
  }
  return exact;
}

void Grower::write_leaves(std::int32_t* leaf_of_row) const {
  const int n_threads = rows_.size() < block ? 1 : params_.n_threads;
  parallel_for(static_cast<std::int64_t>(nodes_.size()), n_threads, [&](std::int64_t i, int) {
    const Node& node = nodes_[i];
    if (node.leaf < 0) return;
    for (std::int64_t r = node.begin; r < node.end; ++r) leaf_of_row[*rows_.at(r)] = node.leaf;
  });
}

// Writes the arrays: first which node stands where, in pre-order, then what each holds.
template <Criterion C>
Tree Grower::emit(std::int32_t* leaf_of_row) {
  Tree tree;
  std::int32_t n_leaves = 0;
  std::vector<std::pair<int, int>> stack{{0, -1}};  // a node; the node whose right child it is
  std::vector<int> order;
  while (!stack.empty()) {
    const auto [i, parent] = stack.back();
    stack.pop_back();
    Node& node = nodes_[i];
    node.place = static_cast<int>(order.size());
    order.push_back(i);
    if (parent >= 0) tree.right[nodes_[parent].place] = node.place;
    const bool is_leaf = node.left < 0;
    tree.right.push_back(is_leaf ? n_leaves : -1);
    if (is_leaf) {
      node.leaf = n_leaves++;
      continue;
    }
    stack.push_back({node.right, i});
    stack.push_back({node.left, -1});
  }
  write_leaves(leaf_of_row);

  const int n_channels = channels_.n_channels(), unit = channels_.unit();
  const std::vector<Int128> exact = exact_totals(leaf_of_row);
  const auto totals = [&](int i) { return exact.data() + i * std::int64_t{1 + n_channels}; };
  std::vector<double> sums(static_cast<std::size_t>(n_channels));
  const auto score = [&](int i) {
    for (int k = 0; k < n_channels; ++k)
      sums[k] = scale_by_power(channels_.exact_sum(totals(i), k), -unit);
    return C::score({channels_.exact_weight(totals(i)), sums.data(), n_channels},
                    params_.split.penalty);
  };
  tree.n_outputs = n_channels;
  for (const int i : order) {
    const Node& node = nodes_[i];
    const bool is_leaf = node.leaf >= 0;
    const double weight = channels_.exact_weight(totals(i));
    const double gain = is_leaf ? 0.0 : score(node.left) + score(node.right) - score(i);
    tree.feature.push_back(is_leaf ? -1 : node.split.column);
    tree.code.push_back(is_leaf ? Code{0} : static_cast<Code>(node.split.bin));
    tree.missing_left.push_back(!is_leaf && node.split.missing_left);
    tree.weight.push_back(weight);
    tree.gain.push_back(std::max(0.0, scale_by_power(gain, C::is_quadratic ? 2 * unit : 0)));
    for (int k = 0; is_leaf && k < n_channels; ++k)
      tree.value.push_back(
          C::leaf_value(channels_.exact_sum(totals(i), k), weight, params_.split.penalty));
  }
  return tree;
}

void Grower::send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const {
  const std::int64_t* const copies = channels_.target().copies;
  const auto send = [&](Row row) {
    std::int32_t at = 0;
    while (tree.feature[at] >= 0) {
      const int column = tree.feature[at];
      const Code code = codes_.at(row, column);
      const bool goes_left = code == 0 ? tree.missing_left[at] != 0 : code <= tree.code[at];
      at = goes_left ? at + 1 : tree.right[at];
    }
    leaf_of_row[row] = tree.right[at];
  };
  const std::int64_t n_blocks = (codes_.n_rows + block - 1) / block;
  parallel_for(n_blocks, params_.n_threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * block, codes_.n_rows);
    for (std::int64_t row = task * block; row < end; ++row)
      if (copies[row] <= 0) send(static_cast<Row>(row));
  });
}

}  // namespace weald
