#include "grower.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"

namespace weald {
namespace {

// Histograms kept for subtraction hold at most this many bytes; beyond it a node's histogram is
// counted anew. Sums are integers, so the tree is the same either way.
constexpr std::int64_t pool_bytes = std::int64_t{256} << 20;

// Below this many additions a second thread costs more than it brings.
constexpr std::int64_t worth_a_thread = 40'000;

// Rows of one task where a node's rows are shared out among threads.
constexpr std::int64_t row_block = 32'768;

}  // namespace

Grower::Grower(const Codes& codes, std::string_view criterion, const TreeParams& params)
    : codes_(codes), criterion_(criterion), params_(params) {}

Tree Grower::grow(const Target& target, std::int32_t* leaf_of_row) {
  rows_.clear();
  for (std::int64_t row = 0; row < codes_.n_rows; ++row)
    if (!target.copies || target.copies[row] > 0) rows_.push_back(static_cast<Row>(row));
  const bool needs_count =
      params_.split.min_samples_leaf > 1 || params_.min_samples_split > 2;
  channels_.prepare(target, codes_.n_rows, rows_.data(), static_cast<std::int64_t>(rows_.size()),
                    needs_count, params_.n_threads);
  start();
  Tree tree;
  const bool known = AllCriteria::with_name(criterion_, [&]<Criterion C>(C) {
    run<C>();
    tree = emit<C>(leaf_of_row);
  });
  if (!known) throw std::invalid_argument("unknown criterion");
  if (static_cast<std::int64_t>(rows_.size()) < codes_.n_rows) send_unseen_rows(tree, leaf_of_row);
  return tree;
}

void Grower::start() {
  if (layout_.empty() || layout_[0].cell_size() != channels_.cell_size()) {
    layout_.assign(1, HistogramLayout(codes_, channels_.cell_size()));
    pool_.clear();
  }
  free_slots_.resize(pool_.size());
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0);
  spare_rows_.resize(rows_.size());
  nodes_.clear();
  totals_.clear();
  frontier_.clear();
  n_leaves_ = 1;
}

template <Criterion C>
void Grower::run() {
  look_at<C>(add_node(0, static_cast<std::int64_t>(rows_.size()), 0, channels_.totals()), -1, -1);
  while (!frontier_.empty() &&
         (params_.max_leaf_nodes == 0 || n_leaves_ < params_.max_leaf_nodes)) {
    if (interrupted()) throw Interrupted{};
    const int node = pop();
    split_node(node);
    ++n_leaves_;
    look_at<C>(nodes_[node].left, nodes_[node].right, nodes_[node].histogram);
  }
}

int Grower::add_node(std::int64_t begin, std::int64_t end, int depth, const std::int64_t* totals) {
  nodes_.push_back({begin, end, depth, -1, -1, -1, {}, {}});
  totals_.insert(totals_.end(), totals, totals + channels_.cell_size());
  return static_cast<int>(nodes_.size()) - 1;
}

bool Grower::may_split(int node) {
  const Node& n = nodes_[node];
  if (n.end - n.begin < 2 || (params_.max_depth > 0 && n.depth >= params_.max_depth)) return false;
  if (params_.max_leaf_nodes > 0 && n_leaves_ >= params_.max_leaf_nodes) return false;
  if (const int count = channels_.count_index(); count >= 0) {
    const std::int64_t copies = totals_of(node)[count];
    if (copies < params_.min_samples_split || copies / 2 < params_.split.min_samples_leaf)
      return false;
  }
  // Where every gain is welcome, only a node of equal rows ends by itself.
  const bool any_gain = params_.split.min_gain < 0.0;
  return !any_gain || !channels_.is_pure(rows_.data() + n.begin, n.end - n.begin);
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

void Grower::split_node(int node) {
  const std::int64_t middle = partition(node);
  const Node parent = std::move(nodes_[node]);
  std::vector<std::int64_t> right(totals_of(node), totals_of(node) + channels_.cell_size());
  for (std::size_t c = 0; c < right.size(); ++c) right[c] -= parent.left_totals[c];
  const int left_child = add_node(parent.begin, middle, parent.depth + 1, parent.left_totals.data());
  const int right_child = add_node(middle, parent.end, parent.depth + 1, right.data());
  nodes_[node] = {parent.begin,     parent.end,   parent.depth, left_child, right_child,
                  parent.histogram, parent.split, {}};
}

// Moves the rows that go left to the front, keeping the order on both sides, and returns where the
// right ones begin. Blocks are sorted out in parallel: lefts stay in place, rights go to the spare.
std::int64_t Grower::partition(int node) {
  const Node& n = nodes_[node];
  const Split& split = n.split;
  const Code* const group = codes_.group(split.column / lanes);
  const int lane = split.column % lanes;
  const Code last_left = static_cast<Code>(split.bin);
  const Code missing = static_cast<Code>(codes_.n_bins[split.column]);
  const std::int64_t size = n.end - n.begin, n_blocks = (size + row_block - 1) / row_block;
  std::vector<std::int64_t> lefts(static_cast<std::size_t>(n_blocks));
  parallel_for(n_blocks, n_blocks > 1 ? params_.n_threads : 1, [&](std::int64_t block, int) {
    const std::int64_t begin = n.begin + block * row_block;
    const std::int64_t end = std::min(begin + row_block, n.end);
    Row* left = rows_.data() + begin;
    Row* right = spare_rows_.data() + begin;
    for (std::int64_t i = begin; i < end; ++i) {
      const Row row = rows_[i];
      const Code code = group[static_cast<std::int64_t>(row) * lanes + lane];
      const bool goes_left = code == missing ? split.missing_left : code <= last_left;
      *left = row;
      *right = row;
      left += goes_left;
      right += !goes_left;
    }
    lefts[block] = left - (rows_.data() + begin);
  });
  std::int64_t at = n.begin;
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    const std::int64_t begin = n.begin + block * row_block;
    std::memmove(rows_.data() + at, rows_.data() + begin,
                 static_cast<std::size_t>(lefts[block]) * sizeof(Row));
    at += lefts[block];
  }
  const std::int64_t middle = at;
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    const std::int64_t begin = n.begin + block * row_block;
    const std::int64_t n_right = std::min(row_block, n.end - begin) - lefts[block];
    std::memcpy(rows_.data() + at, spare_rows_.data() + begin,
                static_cast<std::size_t>(n_right) * sizeof(Row));
    at += n_right;
  }
  return middle;
}

int Grower::take_slot() {
  if (free_slots_.empty()) {
    pool_.emplace_back(static_cast<std::size_t>(layout_[0].size()));
    return static_cast<int>(pool_.size()) - 1;
  }
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Grower::give_slot(int slot) {
  if (slot >= 0) free_slots_.push_back(slot);
}

int Grower::threads_for(std::int64_t n_rows) const {
  const std::int64_t work = n_rows * codes_.n_columns + layout_[0].size() / 2;
  return work < worth_a_thread ? 1 : params_.n_threads;
}

// Counts a node's rows into its histogram. A large node's rows are shared out in blocks: each
// block beyond the first counts into a spare histogram that is added afterwards.
void Grower::fill_histogram(int node) {
  const HistogramLayout& layout = layout_[0];
  const std::int64_t n = rows_in(node);
  const int n_threads = threads_for(n), n_groups = codes_.n_groups();
  const std::int64_t n_parts =
      std::clamp<std::int64_t>(n / row_block, 1, n_threads > 1 ? n_threads : 1);
  std::vector<int> slots(static_cast<std::size_t>(n_parts));
  for (int& slot : slots) slot = take_slot();
  nodes_[node].histogram = slots[0];
  const Row* const rows = rows_.data() + nodes_[node].begin;
  parallel_for(n_groups * n_parts, n_threads, [&](std::int64_t task, int) {
    const int g = static_cast<int>(task / n_parts);
    const std::int64_t part = task % n_parts;
    std::int64_t* const cells = cells_of(slots[part]);
    std::fill(cells + layout.group_begin(g), cells + layout.group_end(g), 0);
    const std::int64_t begin = n * part / n_parts, end = n * (part + 1) / n_parts;
    add_rows(codes_, g, channels_, rows + begin, end - begin, cells + layout.group_begin(g));
  });
  for (std::int64_t part = 1; part < n_parts; ++part) {
    std::int64_t* const sum = cells_of(slots[0]);
    const std::int64_t* const more = cells_of(slots[part]);
    for (std::int64_t i = 0; i < layout.size(); ++i) sum[i] += more[i];
    give_slot(slots[part]);
  }
}

// Finds the best split of one or two new nodes (b = -1: only a) and queues those that have one.
// With the parent's histogram at hand only the smaller child is counted; the other is the rest.
template <Criterion C>
void Grower::look_at(int a, int b, int parent_slot) {
  const HistogramLayout& layout = layout_[0];
  const int small = b < 0 || rows_in(a) <= rows_in(b) ? a : b, large = small == a ? b : a;
  const bool wants_small = may_split(small), wants_large = large >= 0 && may_split(large);
  if (!wants_small && !wants_large) return give_slot(parent_slot);
  const bool subtract = parent_slot >= 0 && wants_large;
  if (wants_small || subtract) fill_histogram(small);
  if (subtract) {
    nodes_[large].histogram = parent_slot;
  } else {
    give_slot(parent_slot);
    if (wants_large) fill_histogram(large);
  }

  const auto n_groups = static_cast<std::size_t>(codes_.n_groups());
  std::vector<Split> found_small(n_groups), found_large(n_groups);
  const auto search = [&](int node, int g, Split& best) {
    SplitSearch<C> search(channels_, params_.split, totals_of(node));
    const std::int64_t* const cells = cells_of(nodes_[node].histogram);
    for (int column = g * lanes; column < g * lanes + codes_.lanes_of(g); ++column)
      search.try_column(column, cells + layout.column_begin(column), layout.bin_stride(),
                        codes_.n_bins[column], best);
  };
  parallel_for(codes_.n_groups(), threads_for(0), [&](std::int64_t task, int) {
    const int g = static_cast<int>(task);
    if (subtract) {
      const std::int64_t* const taken = cells_of(nodes_[small].histogram);
      std::int64_t* const rest = cells_of(nodes_[large].histogram);
      for (auto i = layout.group_begin(g); i < layout.group_end(g); ++i) rest[i] -= taken[i];
    }
    if (wants_small) search(small, g, found_small[g]);
    if (wants_large) search(large, g, found_large[g]);
  });
  settle(small, found_small);
  if (wants_large) settle(large, found_large);
}

// Takes the best of the splits found, group by group, and queues the node; or lets it be a leaf.
void Grower::settle(int i, const std::vector<Split>& found) {
  Node& node = nodes_[i];
  for (const Split& split : found)
    if (split.found() && split.gain > node.split.gain) node.split = split;
  if (node.split.found()) {
    const HistogramLayout& layout = layout_[0];
    const std::int64_t* const cells =
        cells_of(node.histogram) + layout.column_begin(node.split.column);
    node.left_totals.assign(static_cast<std::size_t>(layout.cell_size()), 0);
    const auto add = [&](int bin) {
      for (int c = 0; c < layout.cell_size(); ++c)
        node.left_totals[c] += cells[bin * layout.bin_stride() + c];
    };
    for (int bin = 0; bin <= node.split.bin; ++bin) add(bin);
    // Where no row is missing this adds an empty cell.
    if (node.split.missing_left) add(codes_.n_bins[node.split.column]);
    push(i);
  }
  const auto in_use = static_cast<std::int64_t>(pool_.size() - free_slots_.size());
  const bool too_many = in_use > 2 && in_use * layout_[0].size() * 8 > pool_bytes;
  if (node.split.found() && !too_many) return;
  give_slot(node.histogram);
  node.histogram = -1;
}

// W and S of every node from the doubles of its rows, not from the histograms.
std::vector<Int128> Grower::exact_totals() const {
  const auto n_totals = static_cast<std::size_t>(1 + channels_.n_channels());
  std::vector<Int128> exact(nodes_.size() * n_totals, 0);
  parallel_for(static_cast<std::int64_t>(nodes_.size()), params_.n_threads,
               [&](std::int64_t i, int) {
                 const Node& node = nodes_[i];
                 if (node.left >= 0) return;
                 channels_.exact_totals(rows_.data() + node.begin, node.end - node.begin,
                                        exact.data() + i * n_totals);
               });
  for (std::size_t i = nodes_.size(); i-- > 0;) {  // children are numbered after their parent
    if (nodes_[i].left < 0) continue;
    for (std::size_t t = 0; t < n_totals; ++t)
      exact[i * n_totals + t] =
          exact[nodes_[i].left * n_totals + t] + exact[nodes_[i].right * n_totals + t];
  }
  return exact;
}

template <Criterion C>
Tree Grower::emit(std::int32_t* leaf_of_row) {
  const int n_channels = channels_.n_channels(), unit = channels_.unit();
  const std::vector<Int128> exact = exact_totals();
  const auto totals = [&](int i) { return exact.data() + i * std::int64_t{1 + n_channels}; };
  std::vector<double> sums(static_cast<std::size_t>(n_channels));
  const auto score = [&](int i) {
    for (int k = 0; k < n_channels; ++k)
      sums[k] = scale_by_power(channels_.exact_sum(totals(i), k), -unit);
    return C::score({channels_.exact_weight(totals(i)), sums.data(), n_channels},
                    params_.split.penalty);
  };

  Tree tree;
  tree.n_outputs = n_channels;
  std::int32_t n_leaves = 0;
  std::vector<std::pair<int, int>> stack{{0, -1}};  // a node; the node whose right child it is
  while (!stack.empty()) {
    const auto [i, parent] = stack.back();
    stack.pop_back();
    const Node& node = nodes_[i];
    const bool is_leaf = node.left < 0;
    const auto here = static_cast<std::int32_t>(tree.feature.size());
    const double weight = channels_.exact_weight(totals(i));
    if (parent >= 0) tree.right[parent] = here;
    tree.feature.push_back(is_leaf ? -1 : node.split.column);
    tree.code.push_back(is_leaf ? Code{0} : static_cast<Code>(node.split.bin));
    tree.right.push_back(is_leaf ? n_leaves : -1);
    tree.missing_left.push_back(!is_leaf && node.split.missing_left);
    tree.weight.push_back(weight);
    if (is_leaf) {
      tree.gain.push_back(0.0);
      for (int k = 0; k < n_channels; ++k)
        tree.value.push_back(
            C::leaf_value(channels_.exact_sum(totals(i), k), weight, params_.split.penalty));
      for (std::int64_t r = node.begin; r < node.end; ++r) leaf_of_row[rows_[r]] = n_leaves;
      ++n_leaves;
    } else {
      const double gain = score(node.left) + score(node.right) - score(i);
      tree.gain.push_back(std::max(0.0, scale_by_power(gain, C::is_quadratic ? 2 * unit : 0)));
      stack.push_back({node.right, here});
      stack.push_back({node.left, -1});
    }
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
      const bool goes_left = code == codes_.n_bins[column] ? tree.missing_left[at] != 0
                                                           : code <= tree.code[at];
      at = goes_left ? at + 1 : tree.right[at];
    }
    leaf_of_row[row] = tree.right[at];
  };
  const std::int64_t n_blocks = (codes_.n_rows + row_block - 1) / row_block;
  parallel_for(n_blocks, params_.n_threads, [&](std::int64_t block, int) {
    const std::int64_t end = std::min((block + 1) * row_block, codes_.n_rows);
    for (std::int64_t row = block * row_block; row < end; ++row)
      if (copies[row] <= 0) send(static_cast<Row>(row));
  });
}

}  // namespace weald
