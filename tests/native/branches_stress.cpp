// A stress test of cpp/grow/forest_branches, by forests whose threads share trees: prints what
// fails and exits non-zero; ends by itself within a minute.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "grow/forest_trainer.hpp"
#include "stress.hpp"

namespace {

// Enough to share trees, and now and then branches of branches.
constexpr std::int64_t n_rows = 40'000;
constexpr int n_columns = 4, n_levels = 12;
static_assert(n_rows >= 4 * weald::grow::Branches::least_rows);

std::uint32_t word_of(std::int64_t row, int column) {
  return mixed(static_cast<std::uint32_t>(row * 8 + column + 1));
}

// Many values, fewer, some missing, levels.
float value_at(std::int64_t row, int column) {
  const std::uint32_t word = word_of(row, column);
  if (column == 0) return static_cast<float>(word >> 8) / 256;
  if (column == 2 && word % 16 == 0) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(word % (column == 1 ? 500 : n_levels));
}

struct Setting {
  const char* name;
  const char* criterion;
  int n_classes = 0;  // 0: numbers
  bool draws_cuts = false, has_levels = false;
  bool out_of_bag = false;  // predict out-of-bag rows
  std::int64_t most_trees = 3;
};

// A table, and what forests on it learn. Where cuts are drawn all members see all rows.
class Subject {
 public:
  explicit Subject(const Setting& setting) : setting_(setting) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      for (int column = 0; column < n_columns; ++column) values_.push_back(value_at(row, column));
      const std::uint32_t noise = word_of(row, n_columns);
      const double signal = values_[row * n_columns] / 20'000 + values_[row * n_columns + 3] / 4;
      numbers_.push_back(signal + (noise % 1000) / 500.0);
      classes_.push_back(static_cast<std::int32_t>(numbers_.back()) %
                         (setting.n_classes > 0 ? setting.n_classes : 1));
    }
    const weald::data::Table<float> view{values_.data(), n_rows, n_columns, n_columns, 1};
    const auto table = std::make_shared<weald::data::RankedTable>(view, nullptr, n_rows, nullptr, 1,
                                                                  setting.draws_cuts);
    if (setting.has_levels) table->set_levels({0, 0, 0, n_levels});
    table_ = table;
    if (!setting.draws_cuts)
      bootstrap_ = std::make_shared<weald::data::Bootstrap>(
          static_cast<const std::int64_t*>(nullptr), n_rows, n_rows, 7);
    target_.sums_per_weight = true;
    if (setting.n_classes == 0) {
      target_.sums = numbers_.data();
    } else {
      target_.classes = classes_.data();
      target_.n_channels = setting.n_classes;
    }
  }

  weald::grow::ForestTrainer trainer(int n_threads) const {
    return {table_, bootstrap_, {}, setting_.criterion, tree(n_threads)};
  }

  struct Grown {
    weald::grow::PackedForest trees;
    std::vector<double> sums, squares;  // out of bag, where these are asked for
    std::vector<std::int32_t> counts;
  };
  Grown grow(weald::grow::ForestTrainer& trainer, std::int64_t n_trees) const {
    Grown grown;
    weald::grow::OutOfBag out_of_bag;
    if (setting_.out_of_bag) {
      grown.sums.resize(static_cast<std::size_t>(n_rows * target_.n_channels));
      grown.squares.resize(static_cast<std::size_t>(n_rows));
      grown.counts.resize(static_cast<std::size_t>(n_rows));
      out_of_bag = {grown.sums.data(), grown.counts.data(), grown.squares.data()};
    }
    grown.trees = trainer.grow(target_, 0, n_trees, out_of_bag);
    return grown;
  }

  // The members one after another by a single grower, while all other threads help.
  std::vector<weald::tree::Tree> grow_in_turn(std::int64_t n_trees, int n_threads) const {
    std::vector<std::unique_ptr<weald::grow::ForestGrower>> growers;
    for (int i = 0; i < n_threads; ++i)
      growers.push_back(
          std::make_unique<weald::grow::ForestGrower>(table_, setting_.criterion, tree(1)));
    std::vector<weald::tree::Tree> trees;
    std::vector<std::int64_t> copies(static_cast<std::size_t>(n_rows));
    std::vector<std::int32_t> leaf_of_row(copies.size());
    weald::grow::Branches branches;
    auto growing = std::make_unique<weald::grow::Branches::Growing>(branches);
    weald::parallel_for(n_threads, n_threads, [&](std::int64_t i, int) {
      if (i > 0) return growers[i]->help(branches);
      growers[0]->share(&branches);
      weald::target::Target target = target_;
      for (; target.member < static_cast<std::uint64_t>(n_trees); ++target.member) {
        bootstrap_->draw(target.member, copies.data());
        target.copies = copies.data();
        trees.push_back(growers[0]->grow(target, leaf_of_row.data()));
      }
      growing.reset();
    });
    return trees;
  }

 private:
  weald::tree::TreeParams tree(int n_threads) const {
    weald::tree::TreeParams params;
    params.columns.seed = 7;
    params.columns.max_features = 2;
    params.random_cuts = setting_.draws_cuts;
    params.split.min_gain = -std::numeric_limits<double>::infinity();
    params.n_threads = n_threads;
    return params;
  }

  const Setting& setting_;
  std::vector<float> values_;
  std::vector<double> numbers_;
  std::vector<std::int32_t> classes_;
  std::shared_ptr<const weald::data::RankedTable> table_;
  std::shared_ptr<const weald::data::Bootstrap> bootstrap_;
  weald::target::Target target_;
};

// Of a tree, or of all trees.
template <class Nodes>
bool are_same_nodes(const Nodes& a, const Nodes& b) {
  return a.feature == b.feature && a.right == b.right && a.category_set == b.category_set &&
         a.threshold == b.threshold && a.weight == b.weight && a.gain == b.gain &&
         a.value == b.value && a.missing_left == b.missing_left && a.words == b.words &&
         a.first_word == b.first_word && a.n_outputs == b.n_outputs;
}
bool are_same(const Subject::Grown& a, const Subject::Grown& b) {
  return are_same_nodes(a.trees, b.trees) && a.trees.first_node == b.trees.first_node &&
         a.trees.first_leaf == b.trees.first_leaf && a.sums == b.sums && a.squares == b.squares &&
         a.counts == b.counts;
}

void grow_forests(const Setting& setting) {
  const Subject subject(setting);
  for (std::int64_t n_trees = 1; n_trees <= setting.most_trees; ++n_trees) {
    weald::grow::ForestTrainer alone = subject.trainer(1);
    const Subject::Grown expected = subject.grow(alone, n_trees);
    check(expected.trees.feature.size() > 1000, std::string(setting.name) + ": large trees");
    check(expected.trees.words.empty() != setting.has_levels,
          std::string(setting.name) + ": sets of levels");
    for (const int n_threads : {2, 5}) {
      weald::grow::ForestTrainer together = subject.trainer(n_threads);
      check(are_same(subject.grow(together, n_trees), expected),
            std::string(setting.name) + ": " + std::to_string(n_trees) + " trees by " +
                std::to_string(n_threads));
    }
  }
}

// Helpers must not take the rows of one member for those of the next.
void grow_in_turn(const Setting& setting) {
  const Subject subject(setting);
  const std::vector<weald::tree::Tree> expected = subject.grow_in_turn(4, 1);
  for (const int n_threads : {2, 5}) {
    const std::vector<weald::tree::Tree> trees = subject.grow_in_turn(4, n_threads);
    for (std::size_t i = 0; i < expected.size(); ++i)
      check(are_same_nodes(trees[i], expected[i]), std::string(setting.name) + ": member " +
                                                       std::to_string(i) + " by " +
                                                       std::to_string(n_threads));
  }
}

// ---- forests that fail ----

int asks_left = 0;
bool is_enough() { return --asks_left == 0; }

// Tree after tree, each by all threads, until the check was asked so often: every 50 ms.
bool is_interrupted(const Subject& subject, weald::grow::ForestTrainer& trainer, int n_asks) {
  asks_left = n_asks;
  const weald::InterruptScope scope(is_enough);
  try {
    for (int i = 0; i < 1000; ++i) subject.grow(trainer, 1);
  } catch (const weald::Interrupted&) {
    return true;
  }
  return false;
}

void interrupt_forests(const Setting& setting) {
  const Subject subject(setting);
  weald::grow::ForestTrainer alone = subject.trainer(1);
  const Subject::Grown expected = subject.grow(alone, 1);
  for (const int n_threads : {2, 5}) {
    const std::string name =
        std::string(setting.name) + ", interrupted, by " + std::to_string(n_threads);
    weald::grow::ForestTrainer trainer = subject.trainer(n_threads);
    for (int round = 0; round < 12; ++round) {
      check(is_interrupted(subject, trainer, 1 + round % 4), name + ": says so");
      if (round % 4 < 3) continue;  // and is interrupted again
      check(are_same(subject.grow(trainer, 1), expected), name + ": usable afterwards");
    }
  }
}

}  // namespace

int main() {
  alarm(300);  // a deadlock is a failure, not a wait
  const Setting settings[] = {
      {.name = "two classes", .criterion = "gini", .n_classes = 2},
      {.name = "classes and levels", .criterion = "entropy", .n_classes = 3, .has_levels = true},
      {.name = "numbers", .criterion = "squared_error", .out_of_bag = true},
      {.name = "drawn, classes", .criterion = "gini", .n_classes = 3, .draws_cuts = true},
      {.name = "drawn, numbers", .criterion = "squared_error", .draws_cuts = true},
      {.name = "medians", .criterion = "absolute_error", .most_trees = 1},
      {.name = "drawn, levels",
       .criterion = "squared_error",
       .draws_cuts = true,
       .has_levels = true,
       .most_trees = 1},
  };
  for (const Setting& setting : settings) grow_forests(setting);
  grow_in_turn(settings[0]);
  // Those of levels: threads look after every few rows whether to stop.
  interrupt_forests(settings[1]);
  interrupt_forests(settings[6]);
  std::printf("%s\n", failed == 0 ? "branches: all passed" : "branches: FAILED");
  return failed == 0 ? 0 : 1;
}
