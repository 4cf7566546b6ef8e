#include "grow/forest_grower.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"
#include "forest/leaf_impurity.hpp"
#include "tree/monotonic.hpp"

namespace weald::grow {
namespace {

constexpr int nodes_per_check = 256;  // for an interrupt
constexpr int most_waiting = 8;       // nested growers of one thread

}  // namespace

ForestGrower::ForestGrower(std::shared_ptr<const data::RankedTable> table,
                           std::string_view criterion, const tree::TreeParams& params)
    : n_rows_(table->n_rows()),
      has_levels_(table->any_levels()),
      criterion_(criterion),
      params_(params),
      engine_(table, params, criterion_, own_),
      table_(std::move(table)),
      is_median_(criterion == forest::MedianScan::name) {}

tree::Tree ForestGrower::grow(const target::Target& target, std::int32_t* leaf_of_row,
                              tree::Tree old) {
  tree_ = std::move(old);
  own_.rows.start(n_rows_, n_rows_, target.copies);
  if (knows_all_rows_)
    own_.channels.set_member(target.member);
  else
    own_.channels.prepare(target, n_rows_, own_.rows.at(0), own_.rows.size(),
                          params_.split.min_samples_leaf > 1, target::Cells::wide, 1);
  knows_all_rows_ = !target.copies;
  own_.start();
  engine_.start();
  begin_tree(own_.rows.size());
  sums_.assign(own_.channels.totals(), own_.channels.totals() + cell_size_);
  grow_below({0, own_.rows.size(), engine_.root_draws(), {}, 0, -1});
  if (is_median_) {
    tree_.value = medians_;
    tree_.gain = gains_;
  }
  if (params_.sends_unseen_rows && !own_.rows.holds_all_rows())
    engine_.send_unseen_rows(tree_, limits_, leaf_of_row);
  return std::move(tree_);
}

// Starts a tree or branch of n_rows rows, for which the engine was started.
void ForestGrower::begin_tree(std::int64_t n_rows) {
  small_nodes_ = params_.min_samples_split > 2
                     ? nullptr
                     : forest::SmallNodes::made_for(*table_, engine_, growing_tree_->channels,
                                                    params_.max_depth);
  const target::Channels& channels = growing_tree_->channels;
  counts_ = channels.target().classes && !channels.target().weight;
  cell_size_ = static_cast<std::size_t>(channels.cell_size());
  n_exact_ = static_cast<std::size_t>(1 + channels.n_channels());
  for (auto* array : {&tree_.threshold, &tree_.weight, &tree_.gain, &tree_.value}) array->clear();
  for (auto* array : {&tree_.feature, &tree_.right}) array->clear();
  tree_.missing_left.clear();
  tree_.category_set.clear();
  tree_.first_word.assign(1, 0);
  tree_.words.clear();
  tree_.n_outputs = channels.n_channels();
  exact_.resize(n_exact_);
  exact_sums_.resize(n_exact_ - 1);
  halves_.clear();
  criteria::AllCriteria::with_name(is_median_ ? criteria::Variance::name : criterion_,
                                   [&]<criteria::Criterion C>(C) {
                                     sum_leaf_ = &ForestGrower::sum_leaf<C>;
                                     complete_ = &ForestGrower::complete<C>;
                                     score_of_exact_ = &ForestGrower::score_of_exact<C>;
                                   });
  limits_.clear();
  medians_.clear();
  gains_.clear();
  reserve(n_rows);
}

// For the largest possible tree: untouched memory costs nothing, moving nodes does.
void ForestGrower::reserve(std::int64_t n_rows) {
  std::int64_t n_leaves = n_rows / std::max<std::int64_t>(1, params_.split.min_samples_leaf) + 1;
  if (params_.max_depth > 0 && params_.max_depth < 31)
    n_leaves = std::min(n_leaves, std::int64_t{1} << params_.max_depth);
  const auto n = static_cast<std::size_t>(2 * n_leaves);
  for (auto* array : {&tree_.threshold, &tree_.weight, &tree_.gain}) array->reserve(n);
  for (auto* array : {&tree_.feature, &tree_.right}) array->reserve(n);
  tree_.missing_left.reserve(n);
  if (tree_.n_outputs <= 2) tree_.value.reserve(n / 2 * static_cast<std::size_t>(tree_.n_outputs));
}

void ForestGrower::grow_below(const OpenNode& root) {
  std::vector<std::int64_t> sums(cell_size_);
  open_.assign({Open{root}});
  for (int n_grown = 0; !open_.empty(); ++n_grown) {
    if (n_grown % nodes_per_check == 0 && interrupted()) throw Interrupted{};
    Open node = std::move(open_.back());
    open_.pop_back();
    std::copy(sums_.end() - static_cast<std::ptrdiff_t>(cell_size_), sums_.end(), sums.begin());
    sums_.resize(sums_.size() - cell_size_);
    const auto place = static_cast<std::int32_t>(tree_.feature.size());
    if (node.parent >= 0) tree_.right[node.parent] = place;
    if (node.branch) {
      graft(*node.branch);
      continue;
    }
    if (branches_ && branches_->are_wanted()) offer_a_branch();
    if (has_small_targets(node, sums.data())) {
      graft_small_targets(node);
      continue;
    }
    if (is_small_enough(node, sums.data())) {
      finish(node, sums.data());
      continue;
    }
    if (!may_split(node, sums.data()) ||
        !engine_.find(node.begin, node.end, sums.data(), node.draws, node.constants, node.bounds)) {
      write_leaf(node, sums.data());
      continue;
    }
    const std::int64_t middle = engine_.send(node.begin, node.end, engine_.found());
    write_split(engine_.found(), sums.data());
    const std::vector<std::int64_t>& left = engine_.left_sums();
    for (std::size_t c = 0; c < cell_size_; ++c) sums_.push_back(sums[c] - left[c]);
    sums_.insert(sums_.end(), left.begin(), left.end());
    open_.push_back(
        {{middle, node.end, node.draws.child(true), node.constants, node.depth + 1, place}});
    open_.push_back(
        {{node.begin, middle, node.draws.child(false), node.constants, node.depth + 1, -1}});
    if (params_.split.is_directed())
      bound_children(node.bounds, left.data(), sums_.data() + sums_.size() - 2 * cell_size_);
  }
}

// ---- branches grown by other threads ----

// Offers the largest open node, unless it is small.
void ForestGrower::offer_a_branch() {
  const auto largest =
      std::max_element(open_.begin(), open_.end(), [](const Open& a, const Open& b) {
        const auto rows = [](const Open& node) { return node.branch ? 0 : node.end - node.begin; };
        return rows(a) < rows(b);
      });
  if (largest == open_.end() || largest->branch ||
      largest->end - largest->begin < Branches::least_rows)
    return;
  const auto sums =
      sums_.begin() + (largest - open_.begin()) * static_cast<std::ptrdiff_t>(cell_size_);
  OpenNode root = *largest;
  root.parent = -1;
  largest->branch = std::make_shared<Branch>(
      Branch{*this, root, {sums, sums + static_cast<std::ptrdiff_t>(cell_size_)}});
  branches_->offer(largest->branch);
}

void ForestGrower::help(Branches& branches) {
  branches_ = &branches;
  branches.help_to_the_end([&](Branch& branch) { grow_branch(branch); });
}

void ForestGrower::grow_branch(Branch& branch) {
  const std::uint64_t member = branch.from.growing_tree_->channels.target().member;
  if (growing_tree_ != branch.from.growing_tree_ || member_ != member) {
    growing_tree_ = branch.from.growing_tree_;
    member_ = member;
    engine_.start_beside(branch.from.engine_);
  }
  begin_tree(branch.root.end - branch.root.begin);
  sums_ = branch.sums;
  grow_below(branch.root);
  branch.tree = std::move(tree_);
  branch.limits = std::move(limits_);
  branch.medians = std::move(medians_);
  branch.gains = std::move(gains_);
  branch.exact = exact_;
  branch.score = score_;
}

// Appends a subtree grown elsewhere.
void ForestGrower::append(const tree::Tree& tree, const std::vector<std::uint32_t>& limits,
                          const RawGrowingVector<double>& medians,
                          const RawGrowingVector<double>& gains) {
  tree_.graft(tree);
  limits_.insert(limits_.end(), limits.begin(), limits.end());
  medians_.insert(medians_.end(), medians.begin(), medians.end());
  gains_.insert(gains_.end(), gains.begin(), gains.end());
}

// Appends a branch once it is grown; until then this thread grows branches of others.
void ForestGrower::graft(Branch& branch) {
  branches_->help_until_grown(branch, [&](Branch& other) {
    if (!helper_) helper_ = std::make_unique<ForestGrower>(table_, criterion_, params_);
    helper_->n_waiting_ = n_waiting_ + 1;
    // The last helper offers no branches and so never waits: recursion is bounded.
    helper_->branches_ = n_waiting_ + 1 < most_waiting ? branches_ : nullptr;
    helper_->grow_branch(other);
  });
  append(branch.tree, branch.limits, branch.medians, branch.gains);
  branch.tree = {};
  if (counts_) return;
  exact_ = branch.exact;
  (this->*complete_)(branch.score);
}

// ---- nodes of small targets ----

// Relative to the largest target of the tree their integers keep little precision
// (target/channels.hpp).
bool ForestGrower::has_small_targets(const OpenNode& node, const std::int64_t* sums) const {
  const target::Channels& channels = growing_tree_->channels;
  return channels.has_small_rows() && may_split(node, sums) &&
         channels.are_small(growing_tree_->rows.at(node.begin), node.end - node.begin);
}

// Grows a node of another grower's tree as a tree of its own, with its own integer scale.
void ForestGrower::grow_within(const ForestGrower& whole, const OpenNode& root) {
  const std::int64_t n = root.end - root.begin;
  own_.rows.start(n_rows_, whole.growing_tree_->rows.at(root.begin), n);
  own_.channels.prepare(whole.growing_tree_->channels.target(), n_rows_, own_.rows.at(0), n,
                        params_.split.min_samples_leaf > 1, target::Cells::wide, 1);
  own_.start();
  engine_.start_within(whole.engine_);
  begin_tree(n);
  sums_.assign(own_.channels.totals(), own_.channels.totals() + cell_size_);
  grow_below({0, n, root.draws, root.constants, root.depth, -1, root.bounds});
}

void ForestGrower::graft_small_targets(const OpenNode& node) {
  if (!apart_) apart_ = std::make_unique<ForestGrower>(table_, criterion_, params_);
  apart_->grow_within(*this, node);
  append(apart_->tree_, apart_->limits_, apart_->medians_, apart_->gains_);
  std::fill(exact_.begin(), exact_.end(), 0);
  growing_tree_->channels.add_exact(growing_tree_->rows.at(node.begin), node.end - node.begin,
                                    exact_.data());
  (this->*complete_)((this->*score_of_exact_)());
}

// ---- nodes and leaves ----

// All rows of a small subtree must share one integer scale.
bool ForestGrower::is_small_enough(const OpenNode& node, const std::int64_t* sums) const {
  const std::int64_t n = node.end - node.begin;
  if (!small_nodes_ || !small_nodes_->takes(n, sums[0])) return false;
  const target::Channels& channels = growing_tree_->channels;
  return !channels.has_small_rows() ||
         !channels.any_is_small(growing_tree_->rows.at(node.begin), n);
}

// Grows a small node and its subtree.
void ForestGrower::finish(const OpenNode& node, const std::int64_t* sums) {
  const forest::SmallNodes::NodeSums grown = small_nodes_->grow(
      {growing_tree_->rows.at(node.begin), static_cast<int>(node.end - node.begin), sums,
       node.draws, node.constants, node.depth},
      tree_, params_.sends_unseen_rows ? &limits_ : nullptr);
  if (counts_) return;
  exact_ = {grown.weight, grown.sum};
  complete<criteria::Variance>(grown.score);
}

// The two nodes opened last; the left one is on top.
void ForestGrower::bound_children(const Bounds& bounds, const std::int64_t* left,
                                  const std::int64_t* right) {
  Bounds &of_left = open_[open_.size() - 1].bounds, &of_right = open_[open_.size() - 2].bounds;
  of_left = of_right = bounds;
  const double direction = params_.split.direction_of(engine_.found().column);
  if (direction == 0.0 || engine_.found().parts_missing) return;
  const double middle =
      tree::middle_of(criterion_, growing_tree_->channels, engine_.found(), left, right, Penalty{});
  tree::part_bounds(direction, middle, of_left, of_right);
}

bool ForestGrower::may_split(const OpenNode& node, const std::int64_t* sums) const {
  const std::int64_t n = node.end - node.begin;
  if (n < 2 || (params_.max_depth > 0 && node.depth >= params_.max_depth)) return false;
  const target::Channels& channels = growing_tree_->channels;
  const std::int64_t least = params_.split.min_samples_leaf;
  if (least > 1 || params_.min_samples_split > 2) {
    const int count = channels.count_index();
    const std::int64_t copies =
        count >= 0 ? sums[count] : channels.count(growing_tree_->rows.at(node.begin), n);
    if (copies < params_.min_samples_split || copies / 2 < least) return false;
  }
  if (!counts_) return !channels.is_pure(growing_tree_->rows.at(node.begin), n);
  int n_impure = channels.target().n_labels;  // outputs that are not known to be pure
  for (int k = 1; k <= channels.n_channels(); ++k)
    if (sums[k] == sums[0] && --n_impure == 0) return false;
  return true;
}

void ForestGrower::add_place(int feature, const split::Split* split) {
  tree_.feature.push_back(feature);
  tree_.threshold.push_back(split ? split->threshold : 0.0);
  tree_.missing_left.push_back(split && split->missing_left);
  if (has_levels_) tree_.add_set(split ? split->left_set : data::LevelSet{});
  if (is_median_)
    gains_.push_back(
        split ? std::max(0.0, scale_by_power(split->gain, growing_tree_->channels.unit())) : 0.0);
}

void ForestGrower::write_split(const split::Split& split, const std::int64_t* sums) {
  add_place(split.column, &split);
  tree_.right.push_back(-1);
  if (params_.sends_unseen_rows) limits_.push_back(engine_.limit_of(split));
  // Class counts have no unit.
  tree_.weight.push_back(static_cast<double>(sums[0]));
  tree_.gain.push_back(std::max(0.0, split.gain));
  if (counts_) return;
  halves_.push_back({tree_.feature.size() - 1, false, 0.0});
  lefts_.resize(halves_.size() * n_exact_);
}

void ForestGrower::write_leaf(const OpenNode& node, const std::int64_t* sums) {
  add_place(-1, nullptr);
  const int n_outputs = tree_.n_outputs;
  tree_.right.push_back(static_cast<std::int32_t>(tree_.value.size()) / n_outputs);
  if (params_.sends_unseen_rows) limits_.push_back(0);
  const auto weight = static_cast<double>(sums[0]);
  tree_.weight.push_back(weight);
  tree_.gain.push_back(0.0);
  if (counts_) {
    for (int k = 0; k < n_outputs; ++k)
      tree_.value.push_back(static_cast<double>(sums[1 + k]) / weight);
    tree::clip_to_bounds(tree_.value.data() + tree_.value.size() - n_outputs, n_outputs,
                         node.bounds);
    return;
  }
  const Row* const rows = growing_tree_->rows.at(node.begin);
  const std::int64_t n = node.end - node.begin;
  double& rest = is_median_ ? gains_.back() : tree_.gain.back();
  rest = forest::leaf_impurity(criterion_, growing_tree_->channels, rows, n);
  if (is_median_)
    medians_.push_back(node.bounds.held(forest::median_of_rows(growing_tree_->channels, rows, n)));
  (this->*sum_leaf_)(node);
}

template <criteria::Criterion C>
void ForestGrower::sum_leaf(const OpenNode& leaf) {
  const target::Channels& channels = growing_tree_->channels;
  const std::size_t place = tree_.feature.size() - 1;
  std::fill(exact_.begin(), exact_.end(), 0);
  const Row* const rows = growing_tree_->rows.at(leaf.begin);
  const std::int64_t n = leaf.end - leaf.begin;
  channels.add_exact(rows, n, exact_.data());
  const double score = write_weight<C>(place);
  for (int k = 0; k < tree_.n_outputs; ++k)
    tree_.value.push_back(C::leaf_value(channels.leaf_sum(rows, n, exact_.data(), k),
                                        tree_.weight[place], params_.split.penalty));
  if (params_.split.is_directed())
    tree::clip_to_bounds(tree_.value.data() + tree_.value.size() - tree_.n_outputs, tree_.n_outputs,
                         leaf.bounds);
  complete<C>(score);
}

// Finishes all nodes whose last child is the node in exact_, which has this score.
template <criteria::Criterion C>
void ForestGrower::complete(double score) {
  const target::Channels& channels = growing_tree_->channels;
  for (; !halves_.empty(); halves_.pop_back()) {
    Half& half = halves_.back();
    Int128* const left = lefts_.data() + (halves_.size() - 1) * n_exact_;
    if (!half.has_left) {
      half = {half.place, true, score};
      std::copy(exact_.begin(), exact_.end(), left);
      return;
    }
    for (std::size_t t = 0; t < n_exact_; ++t) exact_[t] += left[t];
    const std::size_t place = half.place;
    const double children = half.left_score + score;
    score = write_weight<C>(place);
    tree_.gain[place] = std::max(
        0.0, scale_by_power(children - score, criteria::gain_exponent<C>(channels.unit())));
  }
  score_ = score;
}

// Writes the weight of the node in exact_; returns its score.
template <criteria::Criterion C>
double ForestGrower::write_weight(std::size_t place) {
  const target::Channels& channels = growing_tree_->channels;
  tree_.weight[place] = channels.exact_weight(exact_.data());
  return score_of_exact<C>();
}

template <criteria::Criterion C>
double ForestGrower::score_of_exact() {
  const target::Channels& channels = growing_tree_->channels;
  const double weight = channels.exact_weight(exact_.data());
  const int n_channels = channels.n_channels();
  for (int k = 0; k < n_channels; ++k)
    exact_sums_[k] = scale_by_power(channels.exact_sum(exact_.data(), k), -channels.unit());
  return C::score({weight, exact_sums_.data(), n_channels}, params_.split.penalty);
}

}  // namespace weald::grow
