#include "forest_grower.hpp"

#include <algorithm>
#include <utility>

#include "monotone.hpp"
#include "parallel.hpp"

namespace weald {
namespace {

constexpr int nodes_a_look = 256;  // between two looks whether the user wants to stop

}  // namespace

ForestGrower::ForestGrower(std::shared_ptr<const RankedTable> table, const ForestParams& forest,
                           std::string_view criterion, const TreeParams& params)
    : n_rows_(table->n_rows()),
      has_levels_(table->any_levels()),
      criterion_(criterion),
      params_(params),
      engine_(std::move(table), forest, criterion_, params.split, sapling_) {}

Tree ForestGrower::grow(const Target& target, std::int32_t* leaf_of_row) {
  sapling_.rows.start(n_rows_, target.copies);
  sapling_.channels.prepare(target, n_rows_, sapling_.rows.at(0), sapling_.rows.size(),
                            params_.split.min_samples_leaf > 1, Cells::wide, 1);
  sapling_.start();
  engine_.start();
  const Channels& channels = sapling_.channels;
  counts_ = target.classes && !target.weight;
  cell_size_ = static_cast<std::size_t>(channels.cell_size());
  n_exact_ = static_cast<std::size_t>(1 + channels.n_channels());
  for (auto* array : {&tree_.threshold, &tree_.weight, &tree_.gain, &tree_.value}) array->clear();
  for (auto* array : {&tree_.feature, &tree_.right}) array->clear();
  tree_.missing_left.clear();
  tree_.category_set.clear();
  tree_.first_word.assign(1, 0);
  tree_.words.clear();
  tree_.n_outputs = channels.n_channels();
  exact_.clear();
  limits_.clear();
  bounds_.clear();
  medians_.clear();
  gains_.clear();
  sums_.assign(channels.totals(), channels.totals() + cell_size_);
  grow_below({0, sapling_.rows.size(), engine_.root_draws(), {}, 0, -1});
  if (criterion_ == MedianScan::name) {
    weigh_exactly<Variance>();
    tree_.value = medians_;
    tree_.gain = gains_;
  } else if (!counts_) {
    AllCriteria::with_name(criterion_, [&]<Criterion C>(C) { weigh_exactly<C>(); });
  }
  if (params_.sends_unseen_rows && !sapling_.rows.holds_all_rows())
    engine_.send_unseen_rows(tree_, limits_, leaf_of_row);
  return tree_;
}

void ForestGrower::grow_below(Open root) {
  std::vector<std::int64_t> sums(cell_size_);
  open_.assign({root});
  for (int looked = 0; !open_.empty(); ++looked) {
    if (looked % nodes_a_look == 0 && interrupted()) throw Interrupted{};
    Open node = open_.back();
    open_.pop_back();
    std::copy(sums_.end() - static_cast<std::ptrdiff_t>(cell_size_), sums_.end(), sums.begin());
    sums_.resize(sums_.size() - cell_size_);
    const auto place = static_cast<std::int32_t>(tree_.feature.size());
    if (node.parent >= 0) tree_.right[node.parent] = place;
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
        {middle, node.end, node.draws.child(true), node.constants, node.depth + 1, place});
    open_.push_back(
        {node.begin, middle, node.draws.child(false), node.constants, node.depth + 1, -1});
    if (params_.split.is_directed())
      bound_children(node.bounds, left.data(), sums_.data() + sums_.size() - 2 * cell_size_);
  }
}

// The two that were opened last: the left one is on top.
void ForestGrower::bound_children(const Bounds& bounds, const std::int64_t* left,
                                  const std::int64_t* right) {
  Bounds &of_left = open_[open_.size() - 1].bounds, &of_right = open_[open_.size() - 2].bounds;
  of_left = of_right = bounds;
  const double direction = params_.split.direction_of(engine_.found().column);
  if (direction == 0.0 || engine_.found().parts_missing) return;
  const double middle =
      middle_of(criterion_, sapling_.channels, engine_.found(), left, right, Penalty{});
  part_bounds(direction, middle, of_left, of_right);
}

bool ForestGrower::may_split(const Open& node, const std::int64_t* sums) const {
  const std::int64_t n = node.end - node.begin;
  if (n < 2 || (params_.max_depth > 0 && node.depth >= params_.max_depth)) return false;
  const Channels& channels = sapling_.channels;
  const std::int64_t least = params_.split.min_samples_leaf;
  if (least > 1 || params_.min_samples_split > 2) {
    const int count = channels.count_index();
    const std::int64_t copies =
        count >= 0 ? sums[count] : channels.count(sapling_.rows.at(node.begin), n);
    if (copies < params_.min_samples_split || copies / 2 < least) return false;
  }
  if (!counts_) return !channels.is_pure(sapling_.rows.at(node.begin), n);
  int waiting = channels.target().n_labels;  // outputs of which no class has all rows so far
  for (int k = 1; k <= channels.n_channels(); ++k)
    if (sums[k] == sums[0] && --waiting == 0) return false;
  return true;
}

void ForestGrower::add_place(int feature, const Split* split) {
  tree_.feature.push_back(feature);
  tree_.threshold.push_back(split ? split->threshold : 0.0);
  tree_.missing_left.push_back(split && split->missing_left);
  if (has_levels_) tree_.add_set(split ? split->left_set : LevelSet{});
  if (!counts_) exact_.resize(exact_.size() + n_exact_, 0);
  if (criterion_ == MedianScan::name)
    gains_.push_back(split ? std::max(0.0, scale_by_power(split->gain, sapling_.channels.unit()))
                           : 0.0);
}

void ForestGrower::write_split(const Split& split, const std::int64_t* sums) {
  add_place(split.column, &split);
  tree_.right.push_back(-1);
  if (params_.sends_unseen_rows) limits_.push_back(engine_.limit_of(split));
  if (!counts_) return;
  tree_.weight.push_back(static_cast<double>(sums[0]));
  tree_.gain.push_back(std::max(0.0, split.gain));  // sums of classes have no unit
}

void ForestGrower::write_leaf(const Open& node, const std::int64_t* sums) {
  add_place(-1, nullptr);
  const int n_outputs = tree_.n_outputs;
  tree_.right.push_back(static_cast<std::int32_t>(tree_.value.size()) / n_outputs);
  if (params_.sends_unseen_rows) limits_.push_back(0);
  if (params_.split.is_directed()) bounds_.push_back(node.bounds);
  if (counts_) {
    const auto weight = static_cast<double>(sums[0]);
    tree_.weight.push_back(weight);
    tree_.gain.push_back(0.0);
    for (int k = 0; k < n_outputs; ++k)
      tree_.value.push_back(static_cast<double>(sums[1 + k]) / weight);
    hold(tree_.value.data() + tree_.value.size() - n_outputs, n_outputs, node.bounds);
    return;
  }
  if (criterion_ == MedianScan::name)
    medians_.push_back(node.bounds.held(
        median_of_rows(sapling_.channels, sapling_.rows.at(node.begin), node.end - node.begin)));
  Int128* const totals = exact_.data() + exact_.size() - n_exact_;
  sapling_.channels.add_exact(sapling_.rows.at(node.begin), node.end - node.begin, totals);
  tree_.value.resize(tree_.value.size() + static_cast<std::size_t>(n_outputs));
}

// W, S and gains of all nodes from the doubles of the rows: children lie behind their parent.
template <Criterion C>
void ForestGrower::weigh_exactly() {
  const Channels& channels = sapling_.channels;
  const int n_channels = channels.n_channels(), unit = channels.unit();
  const Penalty& penalty = params_.split.penalty;
  const std::size_t n = tree_.feature.size();
  std::vector<double> sums(static_cast<std::size_t>(n_channels)), scores(n);
  tree_.weight.resize(n);
  tree_.gain.resize(n);
  for (std::size_t i = n; i-- > 0;) {
    Int128* const totals = exact_.data() + i * n_exact_;
    const bool is_leaf = tree_.feature[i] < 0;
    const auto right = static_cast<std::size_t>(tree_.right[i]);
    for (std::size_t t = 0; !is_leaf && t < n_exact_; ++t)
      totals[t] = exact(i + 1)[t] + exact(right)[t];
    const double weight = tree_.weight[i] = channels.exact_weight(totals);
    for (int k = 0; k < n_channels; ++k) {
      const double sum = channels.exact_sum(totals, k);
      sums[k] = scale_by_power(sum, -unit);
      if (is_leaf) tree_.value[right * sums.size() + k] = C::leaf_value(sum, weight, penalty);
    }
    if (is_leaf && !bounds_.empty())
      hold(tree_.value.data() + right * sums.size(), n_channels, bounds_[right]);
    scores[i] = C::score({weight, sums.data(), n_channels}, penalty);
    const double gain = is_leaf ? 0.0 : scores[i + 1] + scores[right] - scores[i];
    tree_.gain[i] = std::max(0.0, scale_by_power(gain, gain_exponent<C>(unit)));
  }
}

}  // namespace weald
