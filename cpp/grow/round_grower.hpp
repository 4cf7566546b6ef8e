// Several trees on one table at once: those of the classes of one round.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "grow/grower.hpp"

namespace weald::grow {

class RoundGrower {
 public:
  // `make` gives a grower of its own to each thread that grows a tree. The trees of one call share
  // the pass over the codes of `table` that counts their roots; null: each counts its own.
  RoundGrower(std::function<std::unique_ptr<Grower>()> make,
              std::shared_ptr<const split::HistogramTable> table, std::int64_t n_rows,
              int n_columns, int n_threads);

  // leaf_of_row[tree] points at one number per row of the table. All trees see the same copies.
  std::vector<tree::Tree> grow(const std::vector<target::Target>& targets,
                               const std::vector<std::int32_t*>& leaf_of_row);

 private:
  bool one_a_thread(std::int64_t n_trees) const;
  void prepare(const target::Target* targets, std::size_t n_trees);

  std::function<std::unique_ptr<Grower>()> make_;
  std::shared_ptr<const split::HistogramTable> table_;
  std::int64_t n_rows_;
  std::int64_t size_;  // rows times columns
  int n_threads_;
  std::vector<std::unique_ptr<Grower>> growers_;  // one a thread; the first is made at once
  std::vector<engine::RootState> root_states_;    // kept from call to call, like the growers
};

}  // namespace weald::grow
