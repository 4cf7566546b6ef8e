// Sums of gradients and hessians over the rows of each leaf of a tree, and Newton steps from them.
#pragma once

#include <cstdint>

#include "base/exact_sum.hpp"

namespace weald::target {

// The leaf of each row; every entry is in [0, n_leaves).
struct Leaves {
  const std::int32_t* of_row;
  std::int64_t n_rows, n_leaves;
};

// Exact sums of gradients and hessians (null: 1 each) over the rows of each leaf.
void leaf_sums(const double* gradient, const double* hessian, const std::int64_t* copies,
               const Leaves& leaves, double* gradients, double* hessians, int n_threads);

// The same in steps, for rows in several parts, whose extremes (maxima) and sums are merged.
struct LeafExtremes {
  double gradient = 0.0, hessian = 0.0;  // largest sizes; NaN if any is
};
struct LeafSum {
  Int128 gradient = 0, hessian = 0;
};
LeafExtremes leaf_extremes(const double* gradient, const double* hessian,
                           const std::int64_t* copies, std::int64_t n_rows, int n_threads);
void add_leaf_sums(const double* gradient, const double* hessian, const std::int64_t* copies,
                   const Leaves& leaves, const LeafExtremes& all, LeafSum* sums, int n_threads);
void write_leaf_sums(const LeafSum* sums, std::int64_t n_leaves, const LeafExtremes& all,
                     double* gradients, double* hessians);

// Newton step of each leaf for each of n_scores scores, not capped: steps[leaf][score]. `hessians`:
// the sum of the hessians of a leaf over its rows and all scores. The size of a sum of gradients is
// reduced by l1.
void newton_steps(const double* gradient, const double* hessian, const std::int64_t* copies,
                  const Leaves& leaves, int n_scores, double l1, double l2, double* steps,
                  double* hessians, int n_threads);

// One such step, from the sums of its leaf.
double newton_step(double gradient, double hessian, double l1, double l2);

}  // namespace weald::target
