// Shapley values of trees: how much each input column moved the score of a row away from the mean.
//
// Path-dependent (Lundberg et al. 2018): where a column is not in a coalition, a row goes to both
// children of its splits, in proportion to their weights.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/table.hpp"
#include "explain/shap_layout.hpp"
#include "tree/forest.hpp"

namespace weald::explain {

class ShapBlock;

class TreeShap {
 public:
  // The forest must be valid (forest.hpp: is_sound); weight[n_nodes] finite and not negative;
  // player_of_column[n_columns] in [0, n_players). All arrays must outlive this object.
  TreeShap(const tree::Forest& forest, const double* weight, const std::int32_t* player_of_column,
           std::int64_t n_columns, std::int64_t n_players);

  // Different players on a path, at most. Time and memory grow with it: `values` and
  // `interactions` need it to be at most `most_players_of_path`.
  int most_players() const { return most_players_; }
  static constexpr int most_players_of_path = 1024;

  // The mean score of each output: base score plus leaf values, weighted by the nodes' shares.
  void expected(double* scores) const;

  // phi[row][player][i]: values of outputs[i]; zeros before the call. Their sum over the players is
  // the score of the row minus the mean score.
  // With pairs: phi[row][player][player][i], half of the Shapley interaction of two players, and on
  // the diagonal what remains of the player's value.
  template <class T>
  void explain(const data::Table<T>& table, const std::vector<int>& outputs, bool has_pairs,
               double* phi, int n_threads) const;

 private:
  void explain_block(ShapBlock& block, ShapLayout& layout, int output, bool has_pairs) const;

  tree::Forest forest_;
  const double* weight_;
  std::int64_t n_players_;
  ShapColumns columns_;
  int most_players_ = 0;
  std::int64_t scratch_ = 0;  // doubles that the kernel needs
  std::map<int, Quadrature> rules_;
};

}  // namespace weald::explain
