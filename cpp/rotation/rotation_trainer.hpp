// Trains the trees of a rotation forest, each on its own rotation of the columns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grow/forest_trainer.hpp"
#include "rotation/rotation.hpp"

namespace weald::rotation {

struct RotatedTree {
  tree::Tree tree;  // on rotated, kept and flag columns
  Rotation rotation;
};

class RotationTrainer {
 public:
  // `mass` is the weight of each row (null: 1); bootstrap samples keep it.
  RotationTrainer(std::shared_ptr<const RotationTable> table,
                  std::shared_ptr<const data::Bootstrap> bootstrap, const RotationParams& rotation,
                  const grow::ForestTrainerParams& params, std::string criterion,
                  const tree::TreeParams& tree, const std::int64_t* mass);

  // Grows trees first .. first + n_trees - 1, one per thread. Rotations use the classes of the
  // target, if it has any.
  std::vector<RotatedTree> grow(const target::Target& target, std::uint64_t first,
                                std::int64_t n_trees, const grow::OutOfBag& out_of_bag);

 private:
  // State of a thread.
  struct Worker {
    LargeVector<std::int64_t> copies, mass;  // of rows: copies drawn, and their weight
    LargeVector<double> weight;
    LargeVector<std::int32_t> leaf_of_row;
    RotationScratch scratch;
  };

  RotatedTree grow_one(Worker& worker, target::Target target, std::uint64_t member) const;
  std::vector<double> ranks_of_levels(int kept, const target::Target& target,
                                      const std::int64_t* mass, std::uint64_t member) const;
  void make_column(const Rotation& rotation, const std::vector<std::vector<double>>& places,
                   int column, double* values) const;
  void add_out_of_bag(const std::vector<RotatedTree>& trees, std::int64_t first,
                      const grow::OutOfBag& out_of_bag) const;

  std::shared_ptr<const RotationTable> table_;
  std::shared_ptr<const data::Bootstrap> bootstrap_;
  RotationParams rotation_;
  grow::ForestTrainerParams params_;
  std::string criterion_;
  tree::TreeParams tree_;
  const std::int64_t* mass_;
  int n_threads_;
  std::vector<std::int64_t> first_loading_;
  std::vector<std::int32_t> block_of_;  // [rotated column]
  std::unique_ptr<const RowsByClass> rows_;
  std::vector<Worker> workers_;
};

}  // namespace weald::rotation
