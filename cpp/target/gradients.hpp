// A loss over all rows: gradients at the current scores, mean loss, best constants.
#pragma once

#include <cstdint>
#include <string_view>

#include "losses/scored.hpp"
#include "target/leaf_sums.hpp"

namespace weald::target {

// Writes gradient[score][row] and, unless the loss has unit hessians and there are no weights,
// hessian[score][row]; returns whether hessians were written. Both include weights, not copies.
// Validates class indices, if the loss takes these.
bool gradients(std::string_view loss, const losses::Scored& rows, double* gradient, double* hessian,
               int n_threads);

// Writes the loss of each row, without its weight.
void losses_of_rows(std::string_view loss, const losses::Scored& rows, double* losses,
                    int n_threads);

// The mean loss over copies and weights, as an exact sum.
double mean_loss(std::string_view loss, const losses::Scored& rows, int n_threads);

// The base score of each output: base[score].
void base_scores(std::string_view loss, const losses::Scored& rows, double* base);

// The same from the mean target, or, for several scores, from the share of each class.
void base_scores_of_means(std::string_view loss, const double* means, int n_scores, double* base);

// The same for one score and two classes, with labels as bytes.
double base_score(std::string_view loss, const std::uint8_t* labels, const double* weight,
                  const std::int64_t* copies, std::int64_t n_rows);

// Converts scores [row][score] to predictions [row][n_outputs].
void predictions(std::string_view loss, const double* scores, std::int64_t n_rows, int n_scores,
                 int n_outputs, double* out, int n_threads);

// scores[score][row] += values[leaf_of_row[row]][score]; false if a leaf index is out of range, in
// which case some rows may have been updated.
bool add_leaf_values(double* scores, const std::int32_t* leaf_of_row, std::int64_t n_rows,
                     const double* values, std::int64_t n_leaves, int n_scores, int n_threads);

// For losses with refitted leaves: the best constant for the residuals of each leaf.
void leaf_constants(std::string_view loss, const losses::Scored& rows, const Leaves& leaves,
                    double* values, int n_threads);

// Newton step of each leaf from exact sums, capped if the loss requires it: -sum of gradients /
// (sum of hessians + l2); 0 if the denominator is. `rate` is the learning rate that steps will be
// multiplied by.
void leaf_steps(std::string_view loss, double parameter, double rate, double l2,
                const double* gradient, const double* hessian, const std::int64_t* copies,
                const Leaves& leaves, double* values, int n_threads);

// Caps steps that are too long for the loss.
void cap_steps(std::string_view loss, double parameter, double rate, double* steps, std::int64_t n);

// Exact sum of values times copies; infinity if a value is not finite.
double exact_total(const double* values, const std::int64_t* copies, std::int64_t n_rows);

}  // namespace weald::target
