// Losses of rankings, whose gradients need all rows of a query together.
#pragma once

#include <cstdint>
#include <string_view>

#include "ranking/queries.hpp"

namespace weald::ranking {

// Rows of queries at their current scores. `unit` is the weight of a query's terms, see units();
// 0: the query says nothing.
struct ScoredQueries {
  Queries queries;
  const double* gains;      // of rows: how relevant they are
  const double* unit;       // of queries
  const double* pair_unit;  // of queries, for "ndcg" and "map": the weight of each of its pairs in
                            // the pairwise loss that is added; null: none is
  const double* scores;
  const double* weight;        // of rows, a factor of their derivatives; null: 1 each
  const std::int64_t* copies;  // of rows; a query whose first row has none is not used; null: all
  std::int64_t truncation;     // for "ndcg" and "map": pairs of which one is among the first rows
};

// Whether there is a loss of that name: "ndcg", "map", "pairwise", "xendcg".
bool is_loss(std::string_view name);

// What the terms of each query are multiplied by: 1 / its ideal DCG ("ndcg"), 1 / its number of
// relevant rows ("map"), 1 / its number of pairs of different gains ("pairwise"), 1 / the sum of
// its gains ("xendcg"). 0 if all its rows have the same gain.
void units(std::string_view loss, const Queries& queries, const double* gains,
           std::int64_t truncation, double* of_query, int n_threads);

// Gradients and hessians of all rows; 0 for queries that are not used.
//
// "ndcg", "map": LambdaMART. The logistic loss of each pair, times what its exchange changes in
// NDCG or average precision, over 0.01 + the difference of its scores; the sum S of the sizes of a
// query's slopes is then brought to log2(1 + S), as LightGBM does; to this comes the logistic loss
// of all pairs of different gains, times `pair_unit`. "pairwise": the mean logistic loss of a
// query's pairs. "xendcg": the cross-entropy between a query's gains, as shares of their sum, and
// the softmax of its scores; the hessian is its diagonal.
void gradients(std::string_view loss, const ScoredQueries& rows, double* gradient, double* hessian,
               int n_threads);

// The loss of each query, for "pairwise" and "xendcg"; NaN for queries of unit 0.
void losses(std::string_view loss, const ScoredQueries& rows, double* of_query, int n_threads);

}  // namespace weald::ranking
