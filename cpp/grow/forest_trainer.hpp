// Trains the trees of a forest: bootstrap, growth, out-of-bag predictions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/memory.hpp"
#include "data/bootstrap.hpp"
#include "forest/forest_engine.hpp"
#include "grow/forest_grower.hpp"
#include "grow/forest_writer.hpp"
#include "grow/grower.hpp"
#include "target/channels.hpp"
#include "tree/tree.hpp"

namespace weald::grow {

struct ForestTrainerParams {
  bool balances_bags = false;  // balanced class weights per bootstrap sample
  bool hard_votes = false;     // a leaf predicts 1 for its largest class
  // First class of each output, and the end of the last; empty: one output.
  std::vector<int> first_class = {};
};

// Accumulators of out-of-bag predictions: sums[row][output], counts[row], and squares[row] of the
// errors of single trees over all outputs.
struct OutOfBag {
  double* sums = nullptr;  // null: not computed
  std::int32_t* counts = nullptr;
  double* squares = nullptr;  // null: not computed
};

// Balanced class weights of a bootstrap sample: copies / (n_classes * copies of the class); for
// several outputs the factors are multiplied. Stores the weights in `weight`.
void balance_classes(target::Target& target, std::int64_t n_rows, LargeVector<double>& weight);

class ForestTrainer {
 public:
  // `bootstrap` null: all trees see the copies of the target.
  ForestTrainer(std::shared_ptr<const data::RankedTable> table,
                std::shared_ptr<const data::Bootstrap> bootstrap, const ForestTrainerParams& params,
                std::string criterion, const tree::TreeParams& tree);

  // Grows trees first .. first + n_trees - 1, one per thread; the last ones together.
  PackedForest grow(const target::Target& target, std::uint64_t first, std::int64_t n_trees,
                    const OutOfBag& out_of_bag);

 private:
  // State of a thread.
  struct Worker {
    std::unique_ptr<ForestGrower> quick;  // null with max_leaf_nodes
    std::unique_ptr<Grower> grower;
    LargeVector<std::int64_t> copies;
    LargeVector<double> weight;
    LargeVector<std::int32_t> leaf_of_row;
    tree::Tree old;  // memory for the next tree
  };

  template <class GrowTree>
  void in_turn(std::int64_t n_trees, GrowTree&& grow_tree) const;
  tree::Tree grow_one(Worker& worker, target::Target target, std::uint64_t member,
                      Branches* branches) const;
  void add_out_of_bag(const std::vector<tree::Tree>& trees, const target::Target& target,
                      const OutOfBag& out_of_bag) const;

  std::shared_ptr<const data::RankedTable> table_;
  std::shared_ptr<const data::Bootstrap> bootstrap_;
  ForestTrainerParams params_;
  std::string criterion_;
  tree::TreeParams tree_;
  int n_threads_;
  std::vector<Worker> workers_;
};

}  // namespace weald::grow
