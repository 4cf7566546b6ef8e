// One tree laid out for the kernel of Shapley values.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/quadrature.hpp"
#include "kernels/tree_shap.hpp"
#include "tree/forest.hpp"

namespace weald::explain {

// The columns that a forest splits on, and the players (input columns) that are credited for them.
// Columns of one player enter and leave a coalition together.
struct ShapColumns {
  // player_of_column[n_columns], each in [0, n_players).
  ShapColumns(const tree::Forest& forest, const std::int32_t* player_of_column,
              std::int64_t n_columns, std::int64_t n_players);

  std::vector<std::int32_t> columns;         // those that are used
  std::vector<std::int32_t> slot_of_column;  // index among them; -1
  std::vector<std::int32_t> players;         // those that are used
  std::vector<std::int32_t> player_of_slot;  // index among them
};

// Share of the left child in the weight of two children; both are equal if they have none.
inline double share_of_left(double left, double right) {
  const double both = left + right;
  return both > 0.0 ? left / both : 0.5;
}

// A split of the current path.
struct ShapAncestor {
  std::int64_t node;
  std::int32_t player, above;
  int n_players;                   // different players of the path, this split included
  double left_share, right_share;  // weight shares of all conditions on its player, by child
  double share;                    // that of the child that is visited
};

class ShapLayout {
 public:
  ShapLayout(const tree::Forest& forest, const double* weight, const ShapColumns& columns)
      : forest_(forest), weight_(weight), columns_(columns) {}

  // The splits of a tree; false if it has none.
  bool lay_out(std::int64_t tree);
  // After lay_out: the values of leaves for one output.
  void set_values(int output);
  // After lay_out: the constants of its steps.
  void set_constants(bool has_pairs, const Quadrature& rule);

  // Number of points at which the quadrature is exact: the integrands have a degree below the
  // number of different players of a path.
  int n_players() const { return n_players_; }
  int n_points() const { return (n_players_ + 1) / 2; }
  std::int64_t depth() const { return depth_; }  // of the steps
  // Sum over the leaves of n 2^n, with n the number of different players of their paths.
  double n_patterns() const { return n_patterns_; }
  kernels::ShapTree tree() const;

  // Bits of the rows x[slot][8] that go left at each split by category.
  void set_sides(const double* x, std::vector<std::uint8_t>& sides) const;

 private:
  void pop(std::vector<ShapAncestor>& path);

  const tree::Forest& forest_;
  const double* weight_;
  const ShapColumns& columns_;

  std::int64_t tree_ = 0, depth_ = 0;
  int n_players_ = 0;
  double n_patterns_ = 0.0;
  const Quadrature* rule_ = nullptr;
  std::vector<double> unmet_;
  std::vector<kernels::ShapStep> steps_;
  std::vector<std::int64_t> node_of_step_;
  std::vector<double> share_above_;  // of all conditions on the step's player above it
  std::vector<double> constants_;
  std::vector<std::int32_t> nodes_with_sets_;
  std::vector<std::int32_t> last_;  // of each player: depth of its last split on the path; -1
  std::vector<ShapAncestor> path_;
};

}  // namespace weald::explain
