// What the kernel of Shapley values reads: one tree, laid out for eight rows at a time. The
// formulas are derived in explain/README.md.
//
// Benchmark row `shap_boosted` (benchmarks/shap_values.py). With four points of the quadrature, a
// split takes 10.0 ns for eight rows instead of 13.2 if their number is known at run time only: the
// kernel is compiled for one to eight points.
#pragma once

#include <cstdint>

namespace weald::kernels {

constexpr int shap_rows = 8;  // rows explained together

// A split. Leaves are values in the splits above them: only splits are steps.
struct ShapStep {
  double threshold;                // x <= threshold goes left
  double left_share;               // weight of the left child over that of both children
  double left_value, right_value;  // of children that are leaves
  std::int64_t constants;          // offset of the step's constants
  std::int32_t slot;               // index of the column among those used
  std::int32_t player;             // index of the input column that is credited
  std::int32_t above;              // depth of the nearest split above of this player; -1: none
  std::int32_t side;               // index into the sides of splits by category; -1: by threshold
  bool missing_left;
  bool left_is_leaf, right_is_leaf;
  bool is_right;  // whether it is the right child of its parent
};

// A tree with at least one split, its steps in pre-order. Each step has n_points numbers of each
// kind: the left child's factor for rows that go right, for rows that go left and, if there is a
// split above of its player, a scale of its contribution. For interactions, the latter is always
// present, followed by the coefficients of rows that meet all conditions, of the left and of the
// right child.
struct ShapTree {
  const ShapStep* steps;
  std::int64_t n_steps;
  int n_points;
  const double* point_weights;  // [n_points] of the quadrature
  const double* unmet;          // [n_points] coefficients of rows that do not meet all conditions
  const double* constants;
};

// Number of doubles of scratch space for trees up to this depth, aligned to 64 bytes.
constexpr std::int64_t shap_scratch(std::int64_t depth, std::int64_t n_points) {
  return shap_rows * ((depth + 2) * (4 * n_points + 3) + 2 * n_points);
}

// The kernels' arguments: x[slot][8], a bit per row for each split by category, phi[player][8] to
// which contributions are added and pairs[player above][player][8], null if they are not wanted.
struct ShapRows {
  const double* x;
  const std::uint8_t* sides;
  double* scratch;
  double* phi;
  double* pairs;
  std::int64_t n_players;
};

}  // namespace weald::kernels
