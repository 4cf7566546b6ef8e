#include "grow/grower.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "forest/leaf_impurity.hpp"
#include "tree/monotonic.hpp"

namespace weald::grow {
namespace {

// Rows times columns that keep a thread busy: nodes with fewer are split together.
constexpr std::int64_t enough_for_a_thread = 40'000;

// Smaller tables are grown by one thread.
constexpr std::int64_t tiny_table = 10'000;

}  // namespace

Grower::Grower(std::int64_t n_rows, int n_columns, std::string_view criterion,
               const tree::TreeParams& params, const data::ColumnParams& columns)
    : n_rows_(n_rows),
      n_columns_(n_columns),
      criterion_(criterion),
      params_(params),
      choice_(columns, n_columns) {
  if (!criteria::AllCriteria::with_name(criterion, [](auto) {}) &&
      criterion != forest::MedianScan::name)
    throw std::invalid_argument("unknown criterion");
  if (params.growth == tree::Growth::symmetric && params.columns.max_features > 0 &&
      params.columns.sampling == data::Sampling::node)
    throw std::invalid_argument("symmetric growth does not support column sampling per node");
  if (params.growth == tree::Growth::symmetric && params.prune_gain > 0.0)
    throw std::invalid_argument("symmetric growth does not support pruning");
  if (params.growth == tree::Growth::symmetric && params.cells == target::Cells::ordered)
    throw std::invalid_argument("symmetric growth is not possible with cells='ordered'");
  std::vector<double>& direction = params_.split.direction;
  if (!direction.empty()) {
    if (static_cast<int>(direction.size()) != n_columns)
      throw std::invalid_argument("monotonic directions must have one entry per column");
    direction.resize((direction.size() + lanes - 1) / lanes * lanes, 0.0);
  }
}

Grower::Grower(std::shared_ptr<const split::HistogramTable> table, std::string_view criterion,
               const tree::TreeParams& params)
    : Grower(table->codes.n_rows, table->codes.n_columns, criterion, params, params.columns) {
  // Levels are searched in histograms.
  const target::Cells cells =
      params.growth == tree::Growth::symmetric ? target::Cells::packed : params_.cells;
  engine_ = std::make_unique<engine::HistogramEngine>(std::move(table), criterion_, params_.split,
                                                      params_.n_threads, growing_tree_, cells);
}

template <class T>
Grower::Grower(const data::Table<T>& table, const engine::CutsView& cuts,
               std::string_view criterion, const tree::TreeParams& params)
    : Grower(table.n_rows, static_cast<int>(table.n_columns), criterion, params, params.columns) {
  if (params.growth == tree::Growth::symmetric)
    throw std::invalid_argument("symmetric growth is for codes of at most 255 bins");
  params_.cells = target::Cells::wide;
  engine_ = std::make_unique<engine::SortedEngine<T>>(table, cuts, criterion_, params_.split,
                                                      params_.n_threads, growing_tree_);
}
template Grower::Grower(const data::Table<float>&, const engine::CutsView&, std::string_view,
                        const tree::TreeParams&);
template Grower::Grower(const data::Table<double>&, const engine::CutsView&, std::string_view,
                        const tree::TreeParams&);

// The engine samples the columns of nodes itself.
Grower::Grower(std::shared_ptr<const data::RankedTable> table, std::string_view criterion,
               const tree::TreeParams& params)
    : Grower(table->n_rows(), static_cast<int>(table->n_columns()), criterion, params, {}) {
  if (params.growth == tree::Growth::symmetric)
    throw std::invalid_argument("symmetric growth is not supported by forests");
  params_.cells = target::Cells::wide;
  writes_impurity_ = true;
  engine_ =
      std::make_unique<forest::ForestEngine>(std::move(table), params_, criterion_, growing_tree_);
}

void Grower::prepare(const target::Target& target, const Row* rows, std::int64_t n) {
  const bool needs_count = params_.split.min_samples_leaf > 1;
  // Several channels are packed for the plain search only.
  const bool is_plain = params_.split.penalty.l1 == 0.0 && !params_.split.is_directed() &&
                        params_.growth != tree::Growth::symmetric;
  const bool may_pack =
      criterion_ == criteria::Newton::name && (target.n_channels == 1 || is_plain);
  growing_tree_.channels.prepare(target, n_rows_, rows, n, needs_count,
                                 may_pack ? params_.cells : target::Cells::wide, params_.n_threads);
}

tree::Tree Grower::grow(const target::Target& target, std::int32_t* leaf_of_row) {
  // leaf_of_row is written last; until then it serves as a buffer for partitioning, unless there
  // are out-of-bag rows, whose entries must not be written.
  growing_tree_.rows.start(n_rows_, std::min(n_rows_, target.n_used), target.copies,
                           target.copies ? nullptr : reinterpret_cast<Row*>(leaf_of_row),
                           params_.n_threads);
  prepare(target, growing_tree_.rows.at(0), growing_tree_.rows.size());
  growing_tree_.start();
  run();
  const bool is_median = criterion_ == forest::MedianScan::name;
  tree::Tree tree =
      write_tree(growing_tree_, is_median ? std::string_view(criteria::Variance::name) : criterion_,
                 params_.split.penalty, params_.n_threads, leaf_of_row);
  if (is_median) write_medians(tree);
  if (writes_impurity_) write_impurity(tree);
  if (!growing_tree_.rows.holds_all_rows() && params_.sends_unseen_rows)
    engine_->send_unseen_rows(tree, leaf_of_row);
  return tree;
}

tree::Tree Grower::grow(tree::Parts& parts, std::uint64_t member) {
  if (criterion_ != criteria::Newton::name || params_.split.takes_any_gain())
    throw std::invalid_argument("rows in parts need the newton criterion and a least gain");
  growing_tree_.parts = &parts;
  prepare_parts(member);
  run();
  return write_tree(growing_tree_, criterion_, params_.split.penalty, params_.n_threads, nullptr);
}

// As `prepare`, in steps; the channels take scales and sums of all parts, but have no rows.
void Grower::prepare_parts(std::uint64_t member) {
  tree::Parts& parts = *growing_tree_.parts;
  target::Channels& channels = growing_tree_.channels;
  static constexpr double no_row = 0.0;
  target::Target target;
  target.sums = &no_row;
  target.weight = parts.has_weight() ? &no_row : nullptr;
  target.member = member;
  channels.look(target, 0, nullptr, 0, params_.cells, params_.n_threads);
  const bool needs_count = params_.split.min_samples_leaf > 1;
  const target::Extremes all = parts.look();
  channels.set_scales(all, nullptr, 0);
  std::optional<target::Rounding> rounding;
  if (params_.cells != target::Cells::wide)
    rounding = channels.rounding(all, parts.coarse_sums(all));
  channels.write(all, rounding, nullptr, 0, needs_count);
  channels.set_totals(parts.write(all, rounding, needs_count).data());
  growing_tree_.start(all.copies);
}

// Grows the tree whose root was made.
void Grower::run() {
  all_.reset();  // the last tree may have failed
  engine_->start();
  params_.growth == tree::Growth::symmetric ? run_level_by_level() : run_node_by_node();
  if (all_) growing_tree_.channels = *std::exchange(all_, std::nullopt);
  if (params_.prune_gain > 0.0) prune();
}

// Calls visit(place, node) for all nodes in pre-order.
template <class Visit>
void Grower::in_order(Visit&& visit) const {
  std::vector<int> stack{0};
  for (std::size_t place = 0; !stack.empty(); ++place) {
    const tree::Node& node = growing_tree_.nodes[stack.back()];
    stack.pop_back();
    visit(place, node);
    if (node.left < 0) continue;
    stack.push_back(node.right);
    stack.push_back(node.left);
  }
}

// Medians are not a function of sums: leaf values and gains are written separately.
void Grower::write_medians(tree::Tree& tree) const {
  const target::Channels& channels = growing_tree_.channels;
  in_order([&](std::size_t place, const tree::Node& node) {
    if (node.left < 0)
      tree.value[tree.right[place]] = node.bounds.held(
          forest::median_of_rows(channels, growing_tree_.rows.at(node.begin), node.n_rows()));
    else
      tree.gain[place] = std::max(0.0, scale_by_power(node.split.gain, node.unit));
  });
}

void Grower::write_impurity(tree::Tree& tree) const {
  in_order([&](std::size_t place, const tree::Node& node) {
    if (node.left < 0)
      tree.gain[place] = forest::leaf_impurity(criterion_, growing_tree_.channels,
                                               growing_tree_.rows.at(node.begin), node.n_rows());
  });
}

void Grower::run_node_by_node() {
  frontier_.clear();
  small_.clear();
  paths_.clear();
  if (!choice_.is_free()) paths_.push_back(choice_.root(growing_tree_.channels.target().member));
  engine_->search({{-1, 0, -1, may_split(0), false, columns_of(0)}});
  push_if_split(0);
  split_frontier();
  while (search_small_targets()) split_frontier();
}

// Splits nodes until the frontier is empty or max_leaf_nodes is reached.
void Grower::split_frontier() {
  while (!frontier_.empty() &&
         (params_.max_leaf_nodes == 0 || growing_tree_.n_leaves < params_.max_leaf_nodes)) {
    const int node = frontier_.front();
    steps_.take((growing_tree_.nodes[node].n_rows() + max_value_bins) * n_columns_);
    if (growing_tree_.nodes[node].ahead < 0) expand(batch());
    pop();
    growing_tree_.join(node);
    push_if_split(growing_tree_.nodes[node].left);
    push_if_split(growing_tree_.nodes[node].right);
  }
}

bool Grower::is_small(int node) const {
  const target::Channels& channels = growing_tree_.channels;
  return channels.has_small_rows() &&
         channels.are_small(growing_tree_.rows_of(node), growing_tree_.nodes[node].n_rows());
}

// Gives the rows of these nodes integers relative to the largest target among them.
void Grower::rescale(const std::vector<int>& nodes) {
  std::vector<Row> rows;
  for (const int node : nodes)
    rows.insert(rows.end(), growing_tree_.rows_of(node),
                growing_tree_.rows_of(node) + growing_tree_.nodes[node].n_rows());
  const target::Target target = growing_tree_.channels.target();
  if (!all_) all_ = std::exchange(growing_tree_.channels, target::Channels());
  prepare(target, rows.data(), static_cast<std::int64_t>(rows.size()));
  for (const int node : nodes) growing_tree_.sum_again(node);
}

// Searches the nodes of small targets, after all others are split. Returns whether there are any.
bool Grower::search_small_targets() {
  std::erase_if(small_, [this](int node) { return !may_split(node); });
  if (small_.empty()) return false;
  rescale(small_);
  std::vector<tree::Siblings> again;
  for (const int node : small_) again.push_back({-1, node, -1, true, false, columns_of(node)});
  engine_->search_again(again);
  for (const int node : std::exchange(small_, {})) push_if_split(node);
  return true;
}

bool Grower::shares_nodes() const {
  return params_.n_threads > 1 && n_rows_ * n_columns_ >= tiny_table && !inside_a_loop() &&
         engine_->shares_nodes();
}

// The next node and, if it is too small for all threads, further nodes that are likely to be next:
// their children are found ahead of time. If their turn never comes, that work is lost. Parts are
// asked for all nodes that may be next, because a question takes longer than the work.
std::vector<int> Grower::batch() {
  const bool asks = growing_tree_.parts != nullptr;
  std::int64_t work =
      asks ? std::numeric_limits<std::int64_t>::max() : params_.n_threads * enough_for_a_thread;
  const auto cells_of = [this](int i) { return growing_tree_.nodes[i].n_rows() * n_columns_; };
  if (!asks && (!shares_nodes() || cells_of(frontier_.front()) >= work)) return {frontier_.front()};
  // Grows the tree as far as its nodes are known.
  std::vector<int> nodes, next = frontier_;
  const auto comes_after = [this](int a, int b) { return comes_before(b, a); };
  for (std::int64_t left = most_ahead(asks); left > 0 && work > 0 && !next.empty(); --left) {
    std::pop_heap(next.begin(), next.end(), comes_after);
    const int node = next.back(), ahead = growing_tree_.nodes[node].ahead;
    next.pop_back();
    if (ahead < 0) {
      nodes.push_back(node);
      work -= asks ? 0 : cells_of(node);
      continue;
    }
    for (const int child : {ahead, ahead + 1}) {
      if (!growing_tree_.nodes[child].split.found() || (!asks && is_small(child))) continue;
      next.push_back(child);
      std::push_heap(next.begin(), next.end(), comes_after);
    }
  }
  return nodes;
}

// How many splits to look ahead.
std::int64_t Grower::most_ahead(bool asks) const {
  const std::int64_t all = std::numeric_limits<std::int64_t>::max();
  if (params_.max_leaf_nodes == 0) return asks ? all : 2 * params_.n_threads;
  const std::int64_t left = params_.max_leaf_nodes - growing_tree_.n_leaves;
  if (asks || params_.growth == tree::Growth::depth_wise) return left;
  return std::min(left, std::max<std::int64_t>((left + 3) / 4, params_.n_threads));
}

// Creates the children of some nodes and finds their best splits.
void Grower::expand(const std::vector<int>& nodes) {
  std::vector<tree::Announced> announced;
  for (const int node : nodes) {
    announced.push_back({node, may_split_below(node)});
    growing_tree_.make_children(node);
    for (const bool is_right : {false, true})
      if (!choice_.is_free())
        paths_.push_back(
            choice_.child(paths_[node], growing_tree_.nodes[node].split.column, is_right));
  }
  partition(announced);
  std::vector<tree::Siblings> children;
  for (const auto& [node, looks_on] : announced) {
    const int left = growing_tree_.nodes[node].ahead, right = left + 1;
    children.push_back({node, left, right, looks_on && may_split(left),
                        looks_on && may_split(right), columns_of(left), columns_of(right)});
  }
  engine_->search(children);
}

// A level is split if all of it fits max_leaf_nodes. Nodes that the split of the level does not
// divide stay and are tried again on the next level. Columns are sampled per level.
void Grower::run_level_by_level() {
  const std::int64_t most = params_.max_leaf_nodes;
  std::vector<int> level{0};
  data::ColumnChoice::Path path = choice_.root(growing_tree_.channels.target().member);
  for (std::int64_t depth = 0; params_.max_depth == 0 || depth < params_.max_depth; ++depth) {
    if (interrupted()) throw Interrupted{};
    std::erase_if(level, [&](int node) { return !may_split(node); });
    if (level.empty()) return;
    if (std::all_of(level.begin(), level.end(), [this](int node) { return is_small(node); })) {
      rescale(level);
      engine_->start();
    }
    const std::vector<int> split = engine_->search_level(level, choice_.candidates(path));
    const auto n_split = static_cast<std::int64_t>(split.size());
    if (n_split == 0 || (most > 0 && growing_tree_.n_leaves + n_split > most)) return;
    std::vector<int> next;
    for (std::size_t i = 0, s = 0; i < level.size(); ++i) {
      if (s == split.size() || level[i] != split[s]) {
        next.push_back(level[i]);
        continue;
      }
      growing_tree_.make_children(level[i]);
      growing_tree_.join(level[i]);
      next.push_back(growing_tree_.nodes[level[i]].left);
      next.push_back(growing_tree_.nodes[level[i]].right);
      ++s;
    }
    const bool is_last =
        depth + 1 == params_.max_depth || (most > 0 && growing_tree_.n_leaves >= most);
    divide(split, !is_last);
    path = choice_.child(path, growing_tree_.nodes[split[0]].split.column, false);
    level = std::move(next);
  }
}

// Partitions the rows of a level's nodes, a few at a time because each needs memory while it is
// counted.
void Grower::divide(const std::vector<int>& nodes, bool looks_on) {
  const bool asks = growing_tree_.parts != nullptr;  // for all nodes at once
  const std::size_t most = asks             ? nodes.size()
                           : shares_nodes() ? 2 * static_cast<std::size_t>(params_.n_threads)
                                            : 1;
  for (std::size_t first = 0; first < nodes.size(); first += most) {
    std::vector<tree::Announced> some;
    for (std::size_t i = first; i < std::min(nodes.size(), first + most); ++i)
      some.push_back({nodes[i], looks_on});
    partition(some);
    if (!looks_on) continue;
    std::vector<tree::Siblings> children;
    for (const auto& [i, _] : some) {
      const tree::Node& node = growing_tree_.nodes[i];
      children.push_back({i, node.left, node.right, may_split(node.left), may_split(node.right)});
    }
    engine_->keep(children);
  }
}

data::CandidateColumns Grower::columns_of(int node) const {
  return choice_.is_free() ? data::CandidateColumns{} : choice_.candidates(paths_[node]);
}

void Grower::partition(const std::vector<tree::Announced>& nodes) {
  const std::vector<std::int64_t> middles = engine_->send_rows(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) growing_tree_.part_rows(nodes[i].node, middles[i]);
  if (!params_.split.direction.empty()) bound_children(nodes);
}

// Leaf values stay within the bounds of their node. A split on a monotonic column divides the
// bounds at the mean of its two values, unless one side holds only missing values.
void Grower::bound_children(const std::vector<tree::Announced>& nodes) {
  std::vector<int> parting;  // the bounds
  for (const auto& [i, _] : nodes) {
    const tree::Node& node = growing_tree_.nodes[i];
    for (const int child : {node.ahead, node.ahead + 1})
      growing_tree_.nodes[child].bounds = node.bounds;
    if (params_.split.direction_of(node.split.column) != 0.0 && !node.split.parts_missing)
      parting.push_back(i);
  }
  const std::vector<double> middles = middles_of(parting);
  for (std::size_t i = 0; i < parting.size(); ++i) {
    const tree::Node& node = growing_tree_.nodes[parting[i]];
    tree::part_bounds(params_.split.direction_of(node.split.column), middles[i],
                      growing_tree_.nodes[node.ahead].bounds,
                      growing_tree_.nodes[node.ahead + 1].bounds);
  }
}

// The means of the values of the children of some nodes.
std::vector<double> Grower::middles_of(const std::vector<int>& nodes) const {
  if (criterion_ == criteria::Newton::name) return exact_middles_of(nodes);
  std::vector<double> middles;
  for (const int i : nodes) {
    const tree::Node& node = growing_tree_.nodes[i];
    Penalty penalty = params_.split.penalty;
    penalty.bounds = node.bounds;
    middles.push_back(tree::middle_of(criterion_, growing_tree_.channels, node.split,
                                      growing_tree_.totals_of(node.ahead),
                                      growing_tree_.totals_of(node.ahead + 1), penalty));
  }
  return middles;
}

// Bounds end in the model, and gradients are rounded differently in packed and in wide cells: these
// are the values that the children would have as leaves.
std::vector<double> Grower::exact_middles_of(const std::vector<int>& nodes) const {
  if (nodes.empty()) return {};
  const target::Channels& channels = growing_tree_.channels;
  std::vector<int> children;
  for (const int i : nodes)
    for (const int side : {0, 1}) children.push_back(growing_tree_.nodes[i].ahead + side);
  const std::vector<Int128> totals = tree::exact_totals(growing_tree_, children, params_.n_threads);
  const auto value = [&](std::size_t child) {
    const Int128* const own = &totals[child * static_cast<std::size_t>(1 + channels.n_channels())];
    Penalty penalty = params_.split.penalty;
    penalty.bounds = growing_tree_.nodes[children[child]].bounds;
    return criteria::Newton::leaf_value(
        growing_tree_.exact_sum_of(children[child], own, channels.directed()),
        channels.exact_weight(own), penalty);
  };
  std::vector<double> middles;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    middles.push_back(value(2 * i) / 2 + value(2 * i + 1) / 2);
  return middles;
}

// Children come after their parent, so a reverse pass sees finished subtrees.
void Grower::prune() {
  const target::Channels& channels = growing_tree_.channels;
  int unit = 0;
  if (!channels.has_words())
    criteria::AllCriteria::with_name(criterion_, [&]<criteria::Criterion C>(C) {
      unit = criteria::gain_exponent<C>(channels.unit());
    });
  const auto is_leaf = [&](int i) { return growing_tree_.nodes[i].left < 0; };
  for (auto i = static_cast<int>(growing_tree_.nodes.size()); i-- > 0;) {
    tree::Node& node = growing_tree_.nodes[i];
    if (is_leaf(i) || !is_leaf(node.left) || !is_leaf(node.right)) continue;
    if (scale_by_power(node.split.gain, unit) > params_.prune_gain) continue;
    node.left = node.right = -1;
    --growing_tree_.n_leaves;
  }
}

// Whether max_depth and max_leaf_nodes allow a node's children to be split.
bool Grower::may_split_below(int node) const {
  const bool fits_depth =
      params_.max_depth == 0 || growing_tree_.nodes[node].depth + 1 < params_.max_depth;
  return fits_depth &&
         (params_.max_leaf_nodes == 0 || growing_tree_.n_leaves + 1 < params_.max_leaf_nodes);
}

bool Grower::may_split(int i) const {
  const tree::Node& node = growing_tree_.nodes[i];
  if (node.n_rows() < 2 || (params_.max_depth > 0 && node.depth >= params_.max_depth)) return false;
  if (params_.max_leaf_nodes > 0 && growing_tree_.n_leaves >= params_.max_leaf_nodes) return false;
  const std::int64_t least = params_.split.min_samples_leaf;
  if (least > 1 || params_.min_samples_split > 2) {
    const std::int64_t copies = growing_tree_.copies_in(i);
    if (copies < params_.min_samples_split || copies / 2 < least) return false;
  }
  // If every gain is accepted, only pure nodes are leaves by themselves.
  return !params_.split.takes_any_gain() ||
         !growing_tree_.channels.is_pure(growing_tree_.rows_of(i), node.n_rows());
}

bool Grower::comes_before(int a, int b) const {
  // Without max_leaf_nodes the order changes no tree: depth first keeps few histograms alive.
  const tree::Node &x = growing_tree_.nodes[a], &y = growing_tree_.nodes[b];
  if (params_.max_leaf_nodes == 0) return x.turn > y.turn;
  if (params_.growth == tree::Growth::depth_wise && x.depth != y.depth) return x.depth < y.depth;
  if (x.split.gain != y.split.gain) return x.split.gain > y.split.gain;
  return x.turn < y.turn;
}

void Grower::push_if_split(int node) {
  if (is_small(node)) return small_.push_back(node);
  if (!growing_tree_.nodes[node].split.found()) return;
  frontier_.push_back(node);
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [this](int a, int b) { return comes_before(b, a); });
}

void Grower::pop() {
  std::pop_heap(frontier_.begin(), frontier_.end(),
                [this](int a, int b) { return comes_before(b, a); });
  frontier_.pop_back();
}

}  // namespace weald::grow
