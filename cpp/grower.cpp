#include "grower.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"

namespace weald {

Grower::Grower(std::int64_t n_rows, std::string_view criterion, const TreeParams& params)
    : n_rows_(n_rows), criterion_(criterion), params_(params) {
  if (!AllCriteria::with_name(criterion, [](auto) {}))
    throw std::invalid_argument("unknown criterion");
}

Grower::Grower(std::shared_ptr<const HistogramTable> table, std::string_view criterion,
               const TreeParams& params)
    : Grower(table->codes.n_rows, criterion, params) {
  engine_ = std::make_unique<HistogramEngine>(std::move(table), criterion_, params_.split,
                                              params_.n_threads, sapling_);
}

template <class T>
Grower::Grower(const Table<T>& table, const CutsView& cuts, std::string_view criterion,
               const TreeParams& params)
    : Grower(table.n_rows, criterion, params) {
  if (params.growth == Growth::symmetric)
    throw std::invalid_argument("symmetric growth is for codes of at most 255 bins");
  params_.cells = Cells::wide;
  engine_ = std::make_unique<SortedEngine<T>>(table, cuts, criterion_, params_.split,
                                              params_.n_threads, sapling_);
}
template Grower::Grower(const Table<float>&, const CutsView&, std::string_view, const TreeParams&);
template Grower::Grower(const Table<double>&, const CutsView&, std::string_view, const TreeParams&);

Grower::Grower(std::shared_ptr<const RankedTable> table, const ForestParams& forest,
               std::string_view criterion, const TreeParams& params)
    : Grower(table->n_rows(), criterion, params) {
  if (params.growth == Growth::symmetric)
    throw std::invalid_argument("symmetric growth draws no columns");
  params_.cells = Cells::wide;
  engine_ =
      std::make_unique<ForestEngine>(std::move(table), forest, criterion_, params_.split, sapling_);
}

Tree Grower::grow(const Target& target, std::int32_t* leaf_of_row) {
  sapling_.rows.start(n_rows_, target.copies);
  const bool needs_count = params_.split.min_samples_leaf > 1;
  const bool is_symmetric = params_.growth == Growth::symmetric;
  const Cells cells = criterion_ == Newton::name && !is_symmetric ? params_.cells : Cells::wide;
  sapling_.channels.prepare(target, n_rows_, sapling_.rows.at(0), sapling_.rows.size(), needs_count,
                            cells, params_.n_threads);
  sapling_.start();
  engine_->start();
  is_symmetric ? run_level_by_level() : run_node_by_node();
  const Tree tree =
      write_tree(sapling_, criterion_, params_.split.penalty, params_.n_threads, leaf_of_row);
  if (!sapling_.rows.holds_all_rows() && params_.sends_unseen_rows)
    engine_->send_unseen_rows(tree, leaf_of_row);
  return tree;
}

void Grower::run_node_by_node() {
  frontier_.clear();
  engine_->search({-1, 0, -1, may_split(0), false});
  push_if_split(0);
  while (!frontier_.empty() &&
         (params_.max_leaf_nodes == 0 || sapling_.n_leaves < params_.max_leaf_nodes)) {
    if (interrupted()) throw Interrupted{};
    split(pop());
  }
}

// A level is made if all of it keeps the limit on leaves. A node that does not take the level's
// test stays as it is and is asked again on the next level.
void Grower::run_level_by_level() {
  const std::int64_t most = params_.max_leaf_nodes;
  std::vector<int> level{0};
  for (std::int64_t depth = 0; params_.max_depth == 0 || depth < params_.max_depth; ++depth) {
    if (interrupted()) throw Interrupted{};
    std::erase_if(level, [&](int node) { return !may_split(node); });
    if (level.empty()) return;
    const std::vector<int> split = engine_->search_level(level);
    const auto n_split = static_cast<std::int64_t>(split.size());
    if (n_split == 0 || (most > 0 && sapling_.n_leaves + n_split > most)) return;
    std::vector<int> next;
    for (std::size_t i = 0, s = 0; i < level.size(); ++i) {
      if (s == split.size() || level[i] != split[s]) {
        next.push_back(level[i]);
        continue;
      }
      sapling_.divide(level[i], engine_->send_rows(level[i], false));
      next.push_back(sapling_.nodes[level[i]].left);
      next.push_back(sapling_.nodes[level[i]].right);
      ++s;
    }
    level = std::move(next);
  }
}

void Grower::split(int node) {
  const bool looks_on = has_room_below(node);
  sapling_.divide(node, engine_->send_rows(node, looks_on));
  const int left = sapling_.nodes[node].left, right = sapling_.nodes[node].right;
  engine_->search({node, left, right, looks_on && may_split(left), looks_on && may_split(right)});
  push_if_split(left);
  push_if_split(right);
}

// May a node's children be split, as far as the limits on depth and leaves go?
bool Grower::has_room_below(int node) const {
  const bool is_high = params_.max_depth == 0 || sapling_.nodes[node].depth + 1 < params_.max_depth;
  return is_high && (params_.max_leaf_nodes == 0 || sapling_.n_leaves + 1 < params_.max_leaf_nodes);
}

bool Grower::may_split(int i) const {
  const Node& node = sapling_.nodes[i];
  if (node.n_rows() < 2 || (params_.max_depth > 0 && node.depth >= params_.max_depth)) return false;
  if (params_.max_leaf_nodes > 0 && sapling_.n_leaves >= params_.max_leaf_nodes) return false;
  const std::int64_t least = params_.split.min_samples_leaf;
  if (least > 1 || params_.min_samples_split > 2) {
    const std::int64_t copies = sapling_.copies_in(i);
    if (copies < params_.min_samples_split || copies / 2 < least) return false;
  }
  // Where every gain is welcome, only a node of equal rows ends by itself.
  return !params_.split.takes_any_gain() ||
         !sapling_.channels.is_pure(sapling_.rows_of(i), node.n_rows());
}

bool Grower::comes_before(int a, int b) const {
  // Without a limit on leaves the order changes no tree: depth first keeps few histograms alive.
  if (params_.max_leaf_nodes == 0) return a > b;
  const Node &x = sapling_.nodes[a], &y = sapling_.nodes[b];
  if (params_.growth == Growth::depth_wise && x.depth != y.depth) return x.depth < y.depth;
  if (x.split.gain != y.split.gain) return x.split.gain > y.split.gain;
  return a < b;
}

void Grower::push_if_split(int node) {
  if (!sapling_.nodes[node].split.found()) return;
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

}  // namespace weald
