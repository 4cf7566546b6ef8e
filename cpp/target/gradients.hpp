// A loss over all rows: gradients at the current scores, the mean loss, the best constants.
#pragma once

#include <cstdint>
#include <string_view>

#include "losses/scored.hpp"

namespace weald::target {

// Writes gradient[score][row] and, unless the loss has unit hessians and there are no weights,
// hessian[score][row]; returns whether it wrote the hessians. Both include the weight, not copies.
// Class numbers, where the loss takes these, are looked at on the way.
bool gradients(std::string_view loss, const losses::Scored& rows, double* gradient, double* hessian,
               int n_threads);

// The mean loss over copies and weights, as an exact sum.
double mean_loss(std::string_view loss, const losses::Scored& rows, int n_threads);

// The constants scores start from: base[score].
void base_scores(std::string_view loss, const losses::Scored& rows, double* base);

// The same of one score and two classes, whose numbers are bytes.
double base_score(std::string_view loss, const std::uint8_t* labels, const double* weight,
                  const std::int64_t* copies, std::int64_t n_rows);

// scores [row][score] to predictions [row][n_outputs].
void predictions(std::string_view loss, const double* scores, std::int64_t n_rows, int n_scores,
                 int n_outputs, double* out, int n_threads);

// scores[row] += values[leaf_of_row[row]]; false if a leaf does not exist: then some rows have
// been added to and others not.
bool add_leaf_values(double* scores, const std::int32_t* leaf_of_row, std::int64_t n_rows,
                     const double* values, std::int64_t n_leaves, int n_threads);

// Which leaf each row is in; every entry is in [0, n_leaves).
struct Leaves {
  const std::int32_t* of_row;
  std::int64_t n_rows, n_leaves;
};

// For a loss whose leaves are refined: the best constant of the residuals of each leaf.
void leaf_constants(std::string_view loss, const losses::Scored& rows, const Leaves& leaves,
                    double* values, int n_threads);

// The sums of gradients and of hessians (none: 1 each) over the rows of each leaf, as exact sums.
void leaf_sums(const double* gradient, const double* hessian, const std::int64_t* copies,
               const Leaves& leaves, double* gradients, double* hessians, int n_threads);

// Newton's step of each leaf, from exact sums, capped where the loss asks for it: -sum of gradients
// over sum of hessians and `l2`; 0 where the latter is. `rate` is what steps will be multiplied by.
void leaf_steps(std::string_view loss, double parameter, double rate, double l2,
                const double* gradient, const double* hessian, const std::int64_t* copies,
                const Leaves& leaves, double* values, int n_threads);

// Steps that are too long for the loss, shortened.
void cap_steps(std::string_view loss, double parameter, double rate, double* steps, std::int64_t n);

// The sum of values times copies, as an exact sum; infinity if one of them is not finite.
double exact_total(const double* values, const std::int64_t* copies, std::int64_t n_rows);

}  // namespace weald::target
