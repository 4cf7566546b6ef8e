// Grows the trees of one boosting round: one per class, on one table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "grow/grower.hpp"

namespace weald::grow {

class RoundGrower {
 public:
  // `make` creates a grower for each thread that grows a tree.
  RoundGrower(std::function<std::unique_ptr<Grower>()> make, std::int64_t n_rows, int n_columns,
              int n_threads);

  // leaf_of_row[tree] has one entry per row of the table.
  std::vector<tree::Tree> grow(const std::vector<target::Target>& targets,
                               const std::vector<std::int32_t*>& leaf_of_row);

 private:
  bool grows_in_parallel(std::int64_t n_trees) const;

  std::function<std::unique_ptr<Grower>()> make_;
  std::int64_t size_;  // rows * columns
  int n_threads_;
  std::vector<std::unique_ptr<Grower>> growers_;  // one per thread; the first is created at once
};

}  // namespace weald::grow
