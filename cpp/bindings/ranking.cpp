// Losses and measures of rankings.
#include <optional>
#include <string>

#include "bindings/border.hpp"
#include "ranking/measures.hpp"
#include "ranking/ranking_losses.hpp"

namespace weald::bindings {
namespace {

ranking::Queries checked_queries(const Vector<std::int64_t>& first, std::int64_t n_rows) {
  const auto n = static_cast<std::int64_t>(first.shape(0)) - 1;
  require(n >= 1 && first.data()[0] == 0 && first.data()[n] == n_rows,
          "first must begin with 0 and end with the number of rows");
  for (std::int64_t q = 0; q < n; ++q) {
    require(first.data()[q] < first.data()[q + 1], "first must increase");
    require(first.data()[q + 1] - first.data()[q] < std::numeric_limits<std::int32_t>::max(),
            "a query has too many rows");
  }
  return {first.data(), n};
}

void check_loss(const std::string& loss) {
  require(ranking::is_loss(loss), "unknown ranking loss");
}

ranking::ScoredQueries scored(const Vector<std::int64_t>& first, const Vector<double>& gains,
                              const Vector<double>& unit,
                              const std::optional<Vector<double>>& pair_unit,
                              const Vector<double>& scores,
                              const std::optional<Vector<double>>& weight,
                              const std::optional<Vector<std::int64_t>>& copies,
                              std::int64_t truncation) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(0));
  const ranking::Queries queries = checked_queries(first, n_rows);
  require(static_cast<std::int64_t>(gains.shape(0)) == n_rows, "gains must have one entry per row");
  require(static_cast<std::int64_t>(unit.shape(0)) == queries.n,
          "unit must have one entry per query");
  require(truncation >= 1, "truncation must be at least 1");
  return {queries,
          gains.data(),
          unit.data(),
          data_or_null(pair_unit, queries.n, "pair_unit must have one entry per query"),
          scores.data(),
          data_or_null(weight, n_rows, "weight must have one entry per row"),
          data_or_null(copies, n_rows, "copies must have one entry per row"),
          truncation};
}

void query_units(const std::string& loss, Vector<std::int64_t> first, Vector<double> gains,
                 std::int64_t truncation, OutVector<double> unit, int n_threads) {
  check_loss(loss);
  const auto queries = checked_queries(first, static_cast<std::int64_t>(gains.shape(0)));
  require(static_cast<std::int64_t>(unit.shape(0)) == queries.n && truncation >= 1,
          "unit must have one entry per query, and truncation must be at least 1");
  run(gains.size(), [&] {
    ranking::units(loss, queries, gains.data(), truncation, unit.data(),
                   checked_threads(n_threads));
  });
}

void query_gradients(const std::string& loss, Vector<std::int64_t> first, Vector<double> gains,
                     Vector<double> unit, std::optional<Vector<double>> pair_unit,
                     Vector<double> scores, std::optional<Vector<double>> weight,
                     std::optional<Vector<std::int64_t>> copies, std::int64_t truncation,
                     OutVector<double> gradient, OutVector<double> hessian, int n_threads) {
  check_loss(loss);
  const auto rows = scored(first, gains, unit, pair_unit, scores, weight, copies, truncation);
  require(gradient.shape(0) == scores.shape(0) && hessian.shape(0) == scores.shape(0),
          "gradient and hessian must have one entry per row");
  run(scores.size(), [&] {
    ranking::gradients(loss, rows, gradient.data(), hessian.data(), checked_threads(n_threads));
  });
}

void query_losses(const std::string& loss, Vector<std::int64_t> first, Vector<double> gains,
                  Vector<double> unit, Vector<double> scores, OutVector<double> of_query,
                  int n_threads) {
  require(loss == "pairwise" || loss == "xendcg", "this ranking loss has no value");
  const auto rows = scored(first, gains, unit, std::nullopt, scores, std::nullopt, std::nullopt, 1);
  require(of_query.shape(0) == unit.shape(0), "of_query must have one entry per query");
  run(scores.size(),
      [&] { ranking::losses(loss, rows, of_query.data(), checked_threads(n_threads)); });
}

void query_measures(const std::string& name, Vector<std::int64_t> first, Vector<double> gains,
                    Vector<double> scores, std::int64_t k, OutVector<double> of_query,
                    int n_threads) {
  require(ranking::is_measure(name), "unknown ranking measure");
  require(gains.shape(0) == scores.shape(0) && k >= 1, "gains and scores must have one length");
  const auto queries = checked_queries(first, static_cast<std::int64_t>(scores.shape(0)));
  require(static_cast<std::int64_t>(of_query.shape(0)) == queries.n,
          "of_query must have one entry per query");
  run(scores.size(), [&] {
    ranking::measures(name, queries, gains.data(), scores.data(), k, of_query.data(),
                      checked_threads(n_threads));
  });
}

}  // namespace

void bind_ranking(nb::module_& m) {
  m.def("query_units", &query_units, "loss"_a, "first"_a, "gains"_a, "truncation"_a,
        "unit"_a.noconvert(), "n_threads"_a);
  m.def("query_gradients", &query_gradients, "loss"_a, "first"_a, "gains"_a, "unit"_a,
        "pair_unit"_a.none(), "scores"_a, "weight"_a.none(), "copies"_a.none(), "truncation"_a,
        "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
  m.def("query_losses", &query_losses, "loss"_a, "first"_a, "gains"_a, "unit"_a, "scores"_a,
        "of_query"_a.noconvert(), "n_threads"_a);
  m.def("query_measures", &query_measures, "name"_a, "first"_a, "gains"_a, "scores"_a, "k"_a,
        "of_query"_a.noconvert(), "n_threads"_a);
}

}  // namespace weald::bindings
