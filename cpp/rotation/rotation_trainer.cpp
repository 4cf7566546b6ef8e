#include "rotation/rotation_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/draws.hpp"
#include "base/exact_sum.hpp"
#include "base/parallel.hpp"
#include "split/category_order.hpp"

namespace weald::rotation {
namespace {

constexpr std::int64_t rows_per_block = 4096;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// Random words that choose the class by whose share levels are sorted.
constexpr std::uint64_t first_level_word = std::uint64_t{1} << 41;

// Turns thresholds on the rank of a level into sets of levels; levels without a rank go with
// missing values.
void make_level_sets(tree::Tree& tree, int column, const std::vector<double>& places) {
  const std::size_t n_words = (places.size() + 63) / 64;
  for (std::size_t node = 0; node < tree.feature.size(); ++node) {
    if (tree.feature[node] != column) continue;
    tree.category_set[node] = static_cast<std::int32_t>(tree.first_word.size()) - 1;
    const std::size_t begin = tree.words.size();
    tree.words.resize(begin + n_words, 0);
    for (std::size_t level = 0; level < places.size(); ++level) {
      const double place = places[level];
      const bool left =
          place != place ? tree.missing_left[node] != 0 : place <= tree.threshold[node];
      if (left) tree.words[begin + level / 64] |= std::uint64_t{1} << level % 64;
    }
    tree.first_word.push_back(static_cast<std::int64_t>(tree.words.size()));
    tree.threshold[node] = 0.0;
  }
}

}  // namespace

RotationTrainer::RotationTrainer(std::shared_ptr<const RotationTable> table,
                                 std::shared_ptr<const data::Bootstrap> bootstrap,
                                 const RotationParams& rotation,
                                 const grow::ForestTrainerParams& params, std::string criterion,
                                 const tree::TreeParams& tree, const std::int64_t* mass)
    : table_(std::move(table)),
      bootstrap_(std::move(bootstrap)),
      rotation_(rotation),
      params_(params),
      criterion_(std::move(criterion)),
      tree_(tree),
      mass_(mass),
      n_threads_(tree.n_threads),
      first_loading_(first_loadings(rotation.first_of_block)) {
  tree_.n_threads = 1;  // one tree per thread
  tree_.columns.max_features = table_->columns().n_columns();
  for (std::size_t b = 0; b + 1 < rotation_.first_of_block.size(); ++b)
    block_of_.resize(static_cast<std::size_t>(rotation_.first_of_block[b + 1]),
                     static_cast<std::int32_t>(b));
}

std::vector<RotatedTree> RotationTrainer::grow(const target::Target& target, std::uint64_t first,
                                               std::int64_t n_trees,
                                               const grow::OutOfBag& out_of_bag) {
  const bool has_out_of_bag = out_of_bag.sums != nullptr;
  tree_.sends_unseen_rows = has_out_of_bag;
  if (!bootstrap_)
    rows_ = std::make_unique<RowsByClass>(target.classes, target.classes ? target.n_channels : 1,
                                          mass_, false, table_->n_rows());
  workers_.resize(static_cast<std::size_t>(std::min<std::int64_t>(n_threads_, n_trees)));
  const auto n_workers = static_cast<std::int64_t>(workers_.size());
  std::vector<RotatedTree> trees(static_cast<std::size_t>(n_trees));
  // Out-of-bag sums are added in the order of trees, so trees are grown in rounds.
  const std::int64_t turn = has_out_of_bag ? n_workers : n_trees;
  for (std::int64_t begin = 0; begin < n_trees; begin += turn) {
    const std::int64_t size = std::min(turn, n_trees - begin);
    parallel_for(size, n_threads_, [&](std::int64_t i, int thread) {
      Worker& worker = workers_[has_out_of_bag ? i : thread];
      trees[begin + i] = grow_one(worker, target, first + static_cast<std::uint64_t>(begin + i));
    });
    if (has_out_of_bag) add_out_of_bag(trees, begin, out_of_bag);
  }
  workers_.clear();
  return trees;
}

RotatedTree RotationTrainer::grow_one(Worker& worker, target::Target target,
                                      std::uint64_t member) const {
  const std::int64_t n_rows = table_->n_rows();
  const RotationColumns& columns = table_->columns();
  target.member = member;
  worker.leaf_of_row.resize(static_cast<std::size_t>(n_rows));
  const std::int64_t* mass = mass_;
  std::unique_ptr<const RowsByClass> own;
  if (bootstrap_) {  // rotations use drawn rows only
    worker.copies.resize(static_cast<std::size_t>(n_rows));
    bootstrap_->draw(member, worker.copies.data());
    mass = target.copies = worker.copies.data();
    if (mass_) {
      worker.mass.resize(static_cast<std::size_t>(n_rows));
      for (std::int64_t row = 0; row < n_rows; ++row)
        worker.mass[row] = worker.copies[row] * mass_[row];
      mass = worker.mass.data();
    }
    own = std::make_unique<RowsByClass>(target.classes, target.classes ? target.n_channels : 1,
                                        mass, !mass_, n_rows);
    if (params_.balances_bags) grow::balance_classes(target, n_rows, worker.weight);
  }
  RotatedTree grown;
  grown.rotation = draw_rotation(*table_, own ? *own : *rows_, rotation_, member, worker.scratch);
  std::vector<std::vector<double>> places;
  for (std::size_t kept = 0; kept < columns.kept.size(); ++kept)
    places.push_back(ranks_of_levels(static_cast<int>(kept), target, mass, member));
  const auto ranks = std::make_shared<const data::RankedTable>(
      n_rows, columns.n_columns(),
      [&](int column, double* values) { make_column(grown.rotation, places, column, values); },
      mass_);
  std::int32_t* const leaf_of_row = worker.leaf_of_row.data();
  grown.tree = grow::ForestGrower::grows(tree_)
                   ? grow::ForestGrower(ranks, criterion_, tree_).grow(target, leaf_of_row)
                   : grow::Grower(ranks, criterion_, tree_).grow(target, leaf_of_row);
  grown.tree.category_set.resize(grown.tree.feature.size(), -1);
  for (std::size_t kept = 0; kept < places.size(); ++kept)
    if (!places[kept].empty())
      make_level_sets(grown.tree, columns.n_rotated() + static_cast<int>(kept), places[kept]);
  return grown;
}

// The rank of each level by mean target, or by the share of one class drawn for the tree; NaN for
// levels that are not in its sample.
std::vector<double> RotationTrainer::ranks_of_levels(int kept, const target::Target& target,
                                                     const std::int64_t* mass,
                                                     std::uint64_t member) const {
  const auto n_levels = static_cast<std::size_t>(table_->n_levels(kept));
  if (n_levels == 0) return {};
  const Draws draws(rotation_.seed, member, Purpose::rotation);
  const auto chosen =
      static_cast<std::int32_t>(draws.below(first_level_word + static_cast<std::uint64_t>(kept),
                                            static_cast<std::uint64_t>(target.n_channels)));
  const std::int64_t n_rows = table_->n_rows();
  double largest = 0.0;
  for (std::int64_t row = 0; !target.classes && row < n_rows; ++row)
    largest = std::max(largest, std::abs(target.sums[row]));
  const FixedPoint fixed(exponent_above(largest), exact_bits);
  std::vector<Int128> sums(n_levels, 0);
  std::vector<std::int64_t> total(n_levels, 0);
  const double* const values = table_->values_of(table_->columns().n_rotated() + kept);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double x = values[row];
    if (!(x >= 0.0 && x < static_cast<double>(n_levels))) continue;
    const auto level = static_cast<std::size_t>(x);
    const std::int64_t m = mass ? mass[row] : 1;
    total[level] += m;
    if (!target.classes)
      sums[level] += Int128{fixed(target.sums[row])} * m;
    else if (target.classes[row] == chosen)
      sums[level] += m;
  }
  std::vector<int> order;
  for (std::size_t level = 0; level < n_levels; ++level)
    if (total[level] > 0) order.push_back(static_cast<int>(level));
  split::LevelSorter().sort(order, [&](int level) {
    return static_cast<double>(sums[level]) / static_cast<double>(total[level]);
  });
  std::vector<double> places(n_levels, missing);
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<double>(i);
  return places;
}

void RotationTrainer::make_column(const Rotation& rotation,
                                  const std::vector<std::vector<double>>& places, int column,
                                  double* values) const {
  const std::int64_t n_rows = table_->n_rows();
  const int n_rotated = table_->columns().n_rotated();
  if (interrupted()) throw Interrupted{};
  if (column >= n_rotated) {
    const double* const from = table_->values_of(column);
    const auto kept = static_cast<std::size_t>(column - n_rotated);
    if (kept >= places.size() || places[kept].empty()) {
      std::copy(from, from + n_rows, values);
      return;
    }
    const auto n_levels = static_cast<double>(places[kept].size());
    for (std::int64_t row = 0; row < n_rows; ++row)
      values[row] = from[row] >= 0.0 && from[row] < n_levels
                        ? places[kept][static_cast<std::size_t>(from[row])]
                        : missing;
    return;
  }
  const std::int32_t block = block_of_[column];
  const std::int64_t begin = rotation_.first_of_block[block];
  const std::int64_t size = rotation_.first_of_block[block + 1] - begin;
  const double* const loading = rotation.loading.data() + first_loading_[block] + (column - begin);
  // Terms are added in the order of the block, as in prediction.
  for (std::int64_t i = 0; i < size; ++i) {
    const double* const from = table_->values_of(rotation.order[begin + i]);
    const double by = loading[i * size];
    if (i == 0)
      for (std::int64_t row = 0; row < n_rows; ++row) values[row] = from[row] * by;
    else
      for (std::int64_t row = 0; row < n_rows; ++row) values[row] += from[row] * by;
  }
}

// Adds the predictions of the trees for their out-of-bag rows.
void RotationTrainer::add_out_of_bag(const std::vector<RotatedTree>& trees, std::int64_t first,
                                     const grow::OutOfBag& out_of_bag) const {
  const std::int64_t n_rows = table_->n_rows();
  const auto n_trees = static_cast<std::int64_t>(trees.size());
  const std::int64_t last = std::min(n_trees, first + static_cast<std::int64_t>(workers_.size()));
  parallel_for((n_rows + rows_per_block - 1) / rows_per_block, n_threads_,
               [&](std::int64_t task, int) {
                 const std::int64_t end = std::min(n_rows, (task + 1) * rows_per_block);
                 for (std::int64_t t = first; t < last; ++t) {
                   const Worker& worker = workers_[t - first];
                   const tree::Tree& tree = trees[t].tree;
                   const int n = tree.n_outputs;
                   for (std::int64_t row = task * rows_per_block; row < end; ++row) {
                     if (worker.copies[row] > 0) continue;
                     const double* const value =
                         tree.value.data() + std::int64_t{worker.leaf_of_row[row]} * n;
                     for (int k = 0; k < n; ++k) out_of_bag.sums[row * n + k] += value[k];
                     ++out_of_bag.counts[row];
                   }
                 }
               });
}

}  // namespace weald::rotation
