// Shapley values of a leaf for every pattern of an explained row, against background rows.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/quadrature.hpp"
#include "explain/row_patterns.hpp"

namespace weald::explain {

// The tables of one tree: for a leaf of value 1 with n players, values[pattern][player], at
// first[leaf]. They are the mean over the background rows.
class PatternTables {
 public:
  // `rules` has the quadratures of 1, 2, ... points; `rows` are the background.
  PatternTables(std::int64_t tree, std::int64_t n_leaves, const RowColumns& rows, PatternWalk& walk,
                const std::vector<Quadrature>& rules);

  const double* of(std::int64_t leaf) const { return values_.data() + first_[leaf]; }

 private:
  void add_leaf(int n, std::vector<double>& counts, const Quadrature& rule);

  std::vector<std::int64_t> first_;
  std::vector<double> values_;
  std::vector<double> sums_, by_player_;  // scratch
};

}  // namespace weald::explain
