// The members of a forest: each draws its rows, grows its tree, and answers the rows it left out.
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
  bool balances_bags = false;  // classes weigh the same in every member
  bool hard_votes = false;     // a leaf answers 1 for its largest class
  // Where the classes of each of several outputs begin, and the end of the last; empty: one output.
  std::vector<int> first_class = {};
};

// Where answers for rows that members left out are added up: sums[row][output], counts[row], and
// squares[row] of what single answers miss of the target, over all outputs.
struct OutOfBag {
  double* sums = nullptr;  // null: not wanted
  std::int32_t* counts = nullptr;
  double* squares = nullptr;  // null: not wanted
};

// Lets every class that was drawn weigh the same in all: copies / (classes * copies of the class);
// of several outputs a row's factors are multiplied. The target's weights then lie in `weight`.
void balance_classes(target::Target& target, std::int64_t n_rows, LargeVector<double>& weight);

class ForestTrainer {
 public:
  // `bootstrap` may be null: then all members see the copies of the target.
  ForestTrainer(std::shared_ptr<const data::RankedTable> table,
                std::shared_ptr<const data::Bootstrap> bootstrap, const ForestTrainerParams& params,
                std::string criterion, const tree::TreeParams& tree);

  // Grows the members first .. first + n_trees - 1, one a thread; the last ones together.
  PackedForest grow(const target::Target& target, std::uint64_t first, std::int64_t n_trees,
                    const OutOfBag& out_of_bag);

 private:
  // What a thread works with.
  struct Worker {
    std::unique_ptr<ForestGrower> quick;  // or, with a limit on leaves,
    std::unique_ptr<Grower> grower;
    LargeVector<std::int64_t> copies;
    LargeVector<double> weight;
    LargeVector<std::int32_t> leaf_of_row;
    tree::Tree old;  // its memory is for the next tree
  };

  template <class GrowTree>
  void in_turn(std::int64_t n_trees, GrowTree&& grow_tree) const;
  tree::Tree grow_one(Worker& worker, target::Target target, std::uint64_t member,
                      Branches* branches) const;
  void answer(const std::vector<tree::Tree>& trees, const target::Target& target,
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
