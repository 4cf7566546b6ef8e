// How well scores rank the rows of each query: NDCG, average precision, reciprocal rank.
#pragma once

#include <cstdint>
#include <string_view>

#include "ranking/queries.hpp"

namespace weald::ranking {

// Whether there is a measure ("ndcg", "map", "mrr") of that name.
bool is_measure(std::string_view name);

// The measure of the first k places of each query; NaN for queries without a row of positive gain.
// Rows of equal scores are in all their orders at once: NDCG and the reciprocal rank are means over
// these orders; for the average precision, a row has the precision at the end of its ties. So the
// order of the rows does not matter, and all is as in scikit-learn.
void measures(std::string_view name, const Queries& queries, const double* gains,
              const double* scores, std::int64_t k, double* of_query, int n_threads);

// The largest DCG of the first k places of rows with these gains; sorts them.
double ideal_dcg(double* gains, std::int64_t n, std::int64_t k, const double* discount);

}  // namespace weald::ranking
