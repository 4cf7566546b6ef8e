#include "tree/tree.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "tree/monotonic.hpp"

namespace weald::tree {
namespace {

// Fewer rows are written by one thread.
constexpr std::int64_t few_rows = 8'192;

// Rows per task in passes over rows that no node holds.
constexpr std::int64_t unseen_rows = 16'384;

// Up to this many leaf sums, merging blocks is cheap.
constexpr std::int64_t few_sums = 512;

// Pre-order of the nodes.
struct Order {
  std::vector<int> nodes;                // by position
  RawGrowingVector<std::int32_t> right;  // of each position, as in Tree
  std::vector<int> leaf;                 // of each node, its leaf index; -1: not a leaf

  explicit Order(const GrowingTree& growing_tree) : leaf(growing_tree.nodes.size(), -1) {
    nodes.reserve(leaf.size());
    right.reserve(leaf.size());
    std::int32_t n_leaves = 0;
    std::vector<std::pair<int, int>> stack{
        {0, -1}};  // a node, and the position whose right child it is
    while (!stack.empty()) {
      const auto [i, parent] = stack.back();
      stack.pop_back();
      const Node& node = growing_tree.nodes[i];
      const int place = static_cast<int>(nodes.size());
      nodes.push_back(i);
      if (parent >= 0) right[parent] = place;
      const bool is_leaf = node.left < 0;
      right.push_back(is_leaf ? n_leaves : -1);
      if (is_leaf) {
        leaf[i] = n_leaves++;
        continue;
      }
      stack.push_back({node.right, place});
      stack.push_back({node.left, -1});
    }
  }
};

class Writer {
 public:
  Writer(const GrowingTree& growing_tree, int n_threads, std::int32_t* leaf_of_row)
      : growing_tree_(growing_tree),
        channels_(growing_tree.channels),
        n_threads_(n_threads),
        leaf_of_row_(leaf_of_row),
        order_(growing_tree),
        n_totals_(static_cast<std::size_t>(1 + channels_.n_channels())) {}

  template <criteria::Criterion C>
  Tree write(const Penalty& penalty) {
    if (!growing_tree_.parts) write_leaves();
    sum_exactly();
    const int n_channels = channels_.n_channels();
    std::vector<double> sums(static_cast<std::size_t>(n_channels));
    const auto score = [&](int i) {
      const Penalty here = channels_.in_units(penalty, growing_tree_.nodes[i].bounds);
      for (int k = 0; k < n_channels; ++k)
        sums[k] = scale_by_power(channels_.exact_sum(totals(i), k), -channels_.unit());
      return C::score({channels_.exact_weight(totals(i)), sums.data(), n_channels}, here);
    };
    Tree tree;
    tree.n_outputs = n_channels;
    tree.make_room(order_.nodes.size());
    for (const int i : order_.nodes) {
      const Node& node = growing_tree_.nodes[i];
      const bool is_leaf = order_.leaf[i] >= 0;
      const double weight = channels_.exact_weight(totals(i));
      double gain = 0.0;
      int unit = channels_.unit();
      if (!is_leaf && channels_.has_small_rows())
        gain = gain_in_own_units<C>(i, penalty, unit);
      else if (!is_leaf)
        gain = score(node.left) + score(node.right) - score(i);
      tree.feature.push_back(is_leaf ? -1 : node.split.column);
      tree.code.push_back(static_cast<std::uint16_t>(is_leaf ? 0 : node.split.bin));
      tree.add_set(is_leaf ? data::LevelSet{} : node.split.left_set);
      tree.threshold.push_back(is_leaf ? 0.0 : node.split.threshold);
      tree.missing_left.push_back(!is_leaf && node.split.missing_left);
      tree.weight.push_back(weight);
      tree.gain.push_back(std::max(0.0, scale_by_power(gain, criteria::gain_exponent<C>(unit))));
      Penalty here = penalty;
      here.bounds = node.bounds;
      for (int k = 0; is_leaf && k < n_channels; ++k)
        tree.value.push_back(
            C::leaf_value(growing_tree_.exact_sum_of(i, totals(i), k), weight, here));
      if (is_leaf)
        clip_to_bounds(tree.value.data() + tree.value.size() - n_channels, n_channels, node.bounds);
    }
    tree.right = std::move(order_.right);
    return tree;
  }

 private:
  // For nodes whose rows may be small, with units chosen for these rows.
  template <criteria::Criterion C>
  double gain_in_own_units(int i, const Penalty& penalty, int& unit) const {
    const Node& node = growing_tree_.nodes[i];
    unit = exponent_above(channels_.largest_sum(growing_tree_.rows_of(i), node.n_rows()));
    std::vector<double> sums(static_cast<std::size_t>(channels_.n_channels()));
    const auto score = [&](int one) {
      const Node& of = growing_tree_.nodes[one];
      channels_.add_in_units(growing_tree_.rows_of(one), of.n_rows(), unit, sums.data());
      return C::score({channels_.exact_weight(totals(one)), sums.data(), channels_.n_channels()},
                      target::in_units(penalty, of.bounds, unit));
    };
    return score(node.left) + score(node.right) - score(i);
  }

  const Int128* totals(int node) const { return exact_.data() + node * n_totals_; }

  void write_leaves() const {
    const auto write = [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        leaf_of_row_[*growing_tree_.rows.at(r)] = order_.leaf[i];
    };
    const auto& nodes = growing_tree_.nodes;
    std::vector<std::int64_t> leaves;
    for (std::int64_t i = 0; i < n_nodes(); ++i)
      if (order_.leaf[i] >= 0) leaves.push_back(i);
    const std::int64_t n_rows = growing_tree_.rows.size();
    if (n_threads_ == 1 || n_rows < few_rows) {
      for (const std::int64_t i : leaves) write(i, nodes[i].begin, nodes[i].end);
      return;
    }
    // Leaves differ in size, so threads share blocks of rows.
    std::sort(leaves.begin(), leaves.end(),
              [&](std::int64_t a, std::int64_t b) { return nodes[a].begin < nodes[b].begin; });
    const std::int64_t block = rows_of_task(n_rows, n_threads_);
    parallel_for((n_rows + block - 1) / block, n_threads_, [&](std::int64_t task, int) {
      const std::int64_t begin = task * block, end = std::min(begin + block, n_rows);
      auto leaf = std::partition_point(leaves.begin(), leaves.end(),
                                       [&](std::int64_t i) { return nodes[i].end <= begin; });
      for (; leaf != leaves.end() && nodes[*leaf].begin < end; ++leaf)
        write(*leaf, std::max(begin, nodes[*leaf].begin), std::min(end, nodes[*leaf].end));
    });
  }

  // W and S of every node from the doubles of its rows, not from histograms.
  void sum_exactly() {
    exact_.assign(growing_tree_.nodes.size() * n_totals_, 0);
    const bool few_leaves =
        growing_tree_.n_leaves * static_cast<std::int64_t>(n_totals_) < few_sums;
    if (growing_tree_.parts)
      sum_elsewhere();
    else if (few_leaves && growing_tree_.rows.holds_first_rows())
      sum_in_order_of_rows();
    else
      sum_leaf_by_leaf();
    for (std::size_t i = growing_tree_.nodes.size();
         i-- > 0;) {  // children come after their parent
      const Node& node = growing_tree_.nodes[i];
      if (order_.leaf[i] >= 0 || node.left < 0) continue;  // a leaf, or pruned
      for (std::size_t t = 0; t < n_totals_; ++t)
        exact_[i * n_totals_ + t] =
            exact_[node.left * n_totals_ + t] + exact_[node.right * n_totals_ + t];
    }
  }

  // Few leaves: one pass over the rows, with one sum per leaf and block.
  void sum_in_order_of_rows() {
    const std::int64_t n_rows = growing_tree_.rows.size();
    std::vector<Int128*> of_leaf(static_cast<std::size_t>(growing_tree_.n_leaves));
    for (std::size_t i = 0; i < growing_tree_.nodes.size(); ++i)
      if (order_.leaf[i] >= 0) of_leaf[order_.leaf[i]] = exact_.data() + i * n_totals_;
    std::mutex lock;
    const std::int64_t block = rows_of_task(n_rows, n_threads_);
    parallel_for((n_rows + block - 1) / block, n_threads_, [&](std::int64_t task, int) {
      std::vector<Int128> sums(of_leaf.size() * n_totals_, 0);
      channels_.add_exact(task * block, std::min((task + 1) * block, n_rows), leaf_of_row_,
                          sums.data());
      const std::scoped_lock hold(lock);
      for (std::size_t i = 0; i < sums.size(); ++i)
        of_leaf[i / n_totals_][i % n_totals_] += sums[i];
    });
  }

  void sum_elsewhere() {
    const std::vector<Int128> sums =
        growing_tree_.parts->sums_of_leaves(order_.leaf, growing_tree_.n_leaves);
    for (std::size_t i = 0; i < order_.leaf.size(); ++i)
      for (std::size_t t = 0; order_.leaf[i] >= 0 && t < n_totals_; ++t)
        exact_[i * n_totals_ + t] = sums[static_cast<std::size_t>(order_.leaf[i]) * n_totals_ + t];
  }

  void sum_leaf_by_leaf() {
    parallel_for(n_nodes(), n_threads_, [&](std::int64_t i, int) {
      const Node& node = growing_tree_.nodes[i];
      if (order_.leaf[i] < 0) return;
      channels_.add_exact(growing_tree_.rows.at(node.begin), node.n_rows(),
                          exact_.data() + i * n_totals_);
    });
  }

  std::int64_t n_nodes() const { return static_cast<std::int64_t>(growing_tree_.nodes.size()); }

  const GrowingTree& growing_tree_;
  const target::Channels& channels_;
  int n_threads_;
  std::int32_t* leaf_of_row_;
  Order order_;
  std::size_t n_totals_;
  std::vector<Int128> exact_;  // [node][W, S of each channel]
};

}  // namespace

Tree write_tree(const GrowingTree& growing_tree, std::string_view criterion, const Penalty& penalty,
                int n_threads, std::int32_t* leaf_of_row) {
  Writer writer(growing_tree, n_threads, leaf_of_row);
  Tree tree;
  criteria::AllCriteria::with_name(
      criterion, [&]<criteria::Criterion C>(C) { tree = writer.write<C>(penalty); });
  return tree;
}

std::vector<Int128> exact_totals(const GrowingTree& growing_tree, const std::vector<int>& nodes,
                                 int n_threads) {
  const auto n_nodes = static_cast<std::int64_t>(nodes.size());
  if (growing_tree.parts) {
    std::vector<int> place(growing_tree.nodes.size(), -1);
    for (std::int64_t i = 0; i < n_nodes; ++i) place[nodes[i]] = static_cast<int>(i);
    return growing_tree.parts->sums_of_leaves(place, n_nodes);
  }
  const std::int64_t size = 1 + growing_tree.channels.n_channels();
  std::vector<Int128> totals(static_cast<std::size_t>(n_nodes * size), 0);
  std::mutex lock;
  for (std::int64_t i = 0; i < n_nodes; ++i) {
    const Row* const rows = growing_tree.rows_of(nodes[i]);
    const std::int64_t n = growing_tree.nodes[nodes[i]].n_rows();
    const std::int64_t block = rows_of_task(n, n_threads);
    parallel_for((n + block - 1) / block, n_threads, [&](std::int64_t task, int) {
      std::vector<Int128> own(static_cast<std::size_t>(size), 0);
      growing_tree.channels.add_exact(rows + task * block, std::min(block, n - task * block),
                                      own.data());
      const std::scoped_lock hold(lock);
      for (std::int64_t t = 0; t < size; ++t) totals[i * size + t] += own[t];
    });
  }
  return totals;
}

void part_unseen_rows(const Tree& tree, const std::vector<Partition::Test>& tests,
                      const target::Target& target, std::int64_t n_rows, int n_threads,
                      std::int32_t* leaf_of_row) {
  struct Range {
    std::int32_t node;
    std::int64_t begin, end;
  };
  const std::int64_t first = target.copies ? 0 : std::min(n_rows, target.n_used);
  const std::int64_t n_tasks = (n_rows - first + unseen_rows - 1) / unseen_rows;
  parallel_for(n_tasks, n_threads, [&](std::int64_t task, int) {
    const std::int64_t from = first + task * unseen_rows, to = std::min(n_rows, from + unseen_rows);
    std::vector<Row> unseen(static_cast<std::size_t>(to - from));
    if (!target.copies) std::iota(unseen.begin(), unseen.end(), static_cast<Row>(from));
    std::int64_t n_unseen = target.copies ? 0 : to - from;
    for (std::int64_t row = from; target.copies && row < to; ++row) {
      unseen[n_unseen] = static_cast<Row>(row);
      n_unseen += (row >= target.n_used) | (target.copies[row] <= 0);  // no branch on chance
    }
    Partition rows;
    rows.start(n_rows, unseen.data(), n_unseen);
    std::vector<Range> stack{{0, 0, rows.size()}};
    while (!stack.empty()) {
      const auto [node, begin, end] = stack.back();
      stack.pop_back();
      if (begin == end) continue;
      if (tree.feature[node] < 0) {
        for (std::int64_t i = begin; i < end; ++i) leaf_of_row[*rows.at(i)] = tree.right[node];
        continue;
      }
      const std::int64_t middle =
          rows.split({{begin, end, tests[node]}}, 1, Partition::visits_nothing)[0];
      stack.push_back({tree.right[node], middle, end});
      stack.push_back({node + 1, begin, middle});
    }
  });
}

}  // namespace weald::tree
