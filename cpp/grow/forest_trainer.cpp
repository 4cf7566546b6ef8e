#include "grow/forest_trainer.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/parallel.hpp"

namespace weald::grow {
namespace {

constexpr std::int64_t block = 4096;

// `first`: the first class of each output.
void vote(tree::Tree& tree, std::vector<int> first) {
  if (first.empty()) first = {0, tree.n_outputs};
  for (auto leaf = tree.value.begin(); leaf != tree.value.end(); leaf += tree.n_outputs) {
    for (std::size_t j = 0; j + 1 < first.size(); ++j) {
      const auto begin = leaf + first[j], end = leaf + first[j + 1];
      const auto best = std::max_element(begin, end);  // the first of ties
      std::fill(begin, end, 0.0);
      *best = 1.0;
    }
  }
}

// Squared error of a prediction; the target of a class is 1 for that of the row, else 0.
double squared_error(const target::Target& target, std::int64_t row, std::int64_t n_rows,
                     const double* prediction) {
  double total = 0.0;
  if (!target.classes) {
    for (int k = 0; k < target.n_channels; ++k) {
      const double error = target.sums[k * n_rows + row] - prediction[k];
      total += error * error;
    }
    return total;
  }
  for (int k = 0; k < target.n_channels; ++k) total += prediction[k] * prediction[k];
  for (int j = 0; j < target.n_labels; ++j)
    total += 1.0 - 2.0 * prediction[target.classes[row * target.n_labels + j]];
  return total;
}

}  // namespace

void balance_classes(target::Target& target, std::int64_t n_rows, LargeVector<double>& weight) {
  std::vector<std::int64_t> copies(static_cast<std::size_t>(target.n_channels), 0);
  std::int64_t total = 0;
  const std::int64_t n_labels = target.n_labels;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    for (std::int64_t j = 0; j < n_labels; ++j)
      copies[target.classes[row * n_labels + j]] += target.copies[row];
    total += target.copies[row];
  }
  std::vector<double> class_weight;
  for (const std::int64_t n : copies)
    class_weight.push_back(
        n == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(target.n_channels * n));
  weight.resize(static_cast<std::size_t>(n_rows));
  for (std::int64_t row = 0; row < n_rows; ++row) {
    double row_weight = target.weight ? target.weight[row] : 1.0;
    for (std::int64_t j = 0; j < n_labels; ++j)
      row_weight *= class_weight[target.classes[row * n_labels + j]];
    weight[row] = row_weight;
  }
  target.weight = weight.data();
}

ForestTrainer::ForestTrainer(std::shared_ptr<const data::RankedTable> table,
                             std::shared_ptr<const data::Bootstrap> bootstrap,
                             const ForestTrainerParams& params, std::string criterion,
                             const tree::TreeParams& tree)
    : table_(std::move(table)),
      bootstrap_(std::move(bootstrap)),
      params_(params),
      criterion_(std::move(criterion)),
      tree_(tree),
      n_threads_(tree.n_threads) {
  tree_.n_threads = 1;  // one tree per thread
}

PackedForest ForestTrainer::grow(const target::Target& target, std::uint64_t first,
                                 std::int64_t n_trees, const OutOfBag& out_of_bag) {
  // Built by all threads, because every tree of several classes uses it.
  if (target.classes && target.n_labels == 1 && target.n_channels > 2 && !target.weight)
    table_->binary_columns(n_threads_);
  const bool has_out_of_bag = out_of_bag.sums != nullptr;
  tree_.sends_unseen_rows = has_out_of_bag;
  const std::int64_t n_at_once = std::min<std::int64_t>(n_threads_, n_trees);
  workers_.resize(static_cast<std::size_t>(n_threads_));
  ForestWriter writer(n_trees, n_at_once);
  // Out-of-bag sums are added in the order of trees, so trees are grown in rounds.
  const std::int64_t turn = has_out_of_bag ? n_at_once : n_trees;
  std::vector<tree::Tree> now(static_cast<std::size_t>(has_out_of_bag ? n_at_once : 0));
  for (std::int64_t begin = 0; begin < n_trees; begin += turn) {
    const std::int64_t size = std::min(turn, n_trees - begin);
    in_turn(size, [&](std::int64_t i, int thread, Branches* branches) {
      Worker& worker = workers_[has_out_of_bag ? i : thread];
      tree::Tree tree =
          grow_one(worker, target, first + static_cast<std::uint64_t>(begin + i), branches);
      if (has_out_of_bag)
        now[i] = std::move(tree);
      else
        worker.old = writer.put(i, std::move(tree));
      if (!has_out_of_bag && writer.all_begun()) worker = {};  // other threads may still be busy
    });
    if (!has_out_of_bag) break;
    now.resize(static_cast<std::size_t>(size));
    add_out_of_bag(now, target, out_of_bag);
    for (std::int64_t i = 0; i < size; ++i)
      workers_[i].old = writer.put(begin + i, std::move(now[i]));
  }
  workers_.clear();
  return writer.take();
}

// Calls grow_tree(tree, thread, branches) for n_trees trees. Where trees are large, idle threads
// help others.
template <class GrowTree>
void ForestTrainer::in_turn(std::int64_t n_trees, GrowTree&& grow_tree) const {
  if (table_->n_rows() < 4 * Branches::least_rows || !ForestGrower::grows(tree_))
    return parallel_for(n_trees, n_threads_,
                        [&](std::int64_t i, int thread) { grow_tree(i, thread, nullptr); });
  Branches branches;
  std::atomic<std::int64_t> next{0};
  // Helpers outlive the loop: a branch that one of them offered refers to it, even after a failure.
  std::vector<std::unique_ptr<ForestGrower>> helpers(static_cast<std::size_t>(n_threads_));
  parallel_for(n_threads_, n_threads_, [&](std::int64_t, int thread) {
    {
      const Branches::Growing growing(branches);
      for (std::int64_t i; (i = next.fetch_add(1)) < n_trees;) grow_tree(i, thread, &branches);
    }
    helpers[thread] = std::make_unique<ForestGrower>(table_, criterion_, tree_);
    helpers[thread]->help(branches);
  });
}

tree::Tree ForestTrainer::grow_one(Worker& worker, target::Target target, std::uint64_t member,
                                   Branches* branches) const {
  const auto n_rows = static_cast<std::size_t>(table_->n_rows());
  target.member = member;
  if (!worker.quick && !worker.grower) {
    if (ForestGrower::grows(tree_))
      worker.quick = std::make_unique<ForestGrower>(table_, criterion_, tree_);
    else
      worker.grower = std::make_unique<Grower>(table_, criterion_, tree_);
  }
  if (worker.quick) worker.quick->share(branches);
  // ForestGrower writes leaves only for out-of-bag rows.
  if (!worker.quick || tree_.sends_unseen_rows) worker.leaf_of_row.resize(n_rows);
  if (bootstrap_) {
    worker.copies.resize(n_rows);
    bootstrap_->draw(member, worker.copies.data());
    target.copies = worker.copies.data();
  }
  if (params_.balances_bags && bootstrap_) balance_classes(target, table_->n_rows(), worker.weight);
  std::int32_t* const leaf_of_row = worker.leaf_of_row.data();
  tree::Tree tree = worker.quick ? worker.quick->grow(target, leaf_of_row, std::move(worker.old))
                                 : worker.grower->grow(target, leaf_of_row);
  if (params_.hard_votes) vote(tree, params_.first_class);
  return tree;
}

// Adds the predictions of the trees for their out-of-bag rows.
void ForestTrainer::add_out_of_bag(const std::vector<tree::Tree>& trees,
                                   const target::Target& target, const OutOfBag& out_of_bag) const {
  const std::int64_t n_rows = table_->n_rows();
  parallel_for((n_rows + block - 1) / block, n_threads_, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(n_rows, (task + 1) * block);
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const Worker& worker = workers_[t];
      const int n = trees[t].n_outputs;
      for (std::int64_t row = task * block; row < end; ++row) {
        if (worker.copies[row] > 0) continue;
        const double* const value =
            trees[t].value.data() + std::int64_t{worker.leaf_of_row[row]} * n;
        for (int k = 0; k < n; ++k) out_of_bag.sums[row * n + k] += value[k];
        ++out_of_bag.counts[row];
        if (out_of_bag.squares)
          out_of_bag.squares[row] += squared_error(target, row, n_rows, value);
      }
    }
  });
}

}  // namespace weald::grow
