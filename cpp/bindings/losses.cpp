// Losses over all rows.
#include "losses/losses.hpp"

#include "bindings/border.hpp"
#include "boosting.hpp"

namespace weald::border {
namespace {

void check_scores(const std::string& loss, std::int64_t n_scores) {
  require(n_scores >= 1, "there must be a score");
  require(n_scores == 1 || loss == weald::LogLoss::name, "only log_loss has several scores");
}

weald::Scored scored(const std::string& loss, const Vector<double>& y, const Matrix<double>& scores,
                     const std::optional<Vector<double>>& weight,
                     const std::optional<Vector<std::int64_t>>& copies) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(1));
  require(static_cast<std::int64_t>(y.shape(0)) == n_rows, "y must have one entry per row");
  const int n_scores = static_cast<int>(scores.shape(0));
  check_scores(loss, n_scores);
  if (n_scores > 1) {
    for (std::int64_t row = 0; row < n_rows; ++row)
      require(y.data()[row] >= 0 && y.data()[row] < n_scores, "y must hold class numbers");
  }
  return {y.data(),
          scores.data(),
          data_or_null(weight, n_rows, "weight must have one entry per row"),
          data_or_null(copies, n_rows, "copies must have one entry per row"),
          n_rows,
          n_scores};
}

bool gradients(const std::string& loss, Vector<double> y, Matrix<double> scores,
               std::optional<Vector<double>> weight, OutMatrix<double> gradient,
               OutMatrix<double> hessian, int n_threads) {
  const auto rows = scored(loss, y, scores, weight, std::nullopt);
  for (const auto* out : {&gradient, &hessian})
    require(out->shape(0) == scores.shape(0) && out->shape(1) == scores.shape(1),
            "gradient and hessian must have the shape of scores");
  bool wrote = false;
  run([&] {
    wrote =
        weald::gradients(loss, rows, gradient.data(), hessian.data(), checked_threads(n_threads));
  });
  return wrote;
}

double mean_loss(const std::string& loss, Vector<double> y, Matrix<double> scores,
                 std::optional<Vector<double>> weight, std::optional<Vector<std::int64_t>> copies,
                 int n_threads) {
  const auto rows = scored(loss, y, scores, weight, copies);
  double mean = 0.0;
  run([&] { mean = weald::mean_loss(loss, rows, checked_threads(n_threads)); });
  return mean;
}

auto base_scores(const std::string& loss, Vector<double> y, int n_scores,
                 std::optional<Vector<double>> weight, std::optional<Vector<std::int64_t>> copies) {
  check_scores(loss, n_scores);
  const auto n_rows = static_cast<std::int64_t>(y.shape(0));
  const weald::Scored rows{y.data(),
                           nullptr,
                           data_or_null(weight, n_rows, "weight must have one entry per row"),
                           data_or_null(copies, n_rows, "copies must have one entry per row"),
                           n_rows,
                           n_scores};
  std::vector<double> base(static_cast<std::size_t>(n_scores));
  run([&] { weald::base_scores(loss, rows, base.data()); });
  return give(std::move(base));
}

auto predictions(const std::string& loss, Matrix<double> scores, int n_threads) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(0));
  const int n_scores = static_cast<int>(scores.shape(1));
  const int n_outputs = predictions_per_row(loss, n_scores);
  std::vector<double> out(static_cast<std::size_t>(n_rows * n_outputs));
  run([&] {
    weald::predictions(loss, scores.data(), n_rows, n_scores, n_outputs, out.data(),
                       checked_threads(n_threads));
  });
  return give(std::move(out), {scores.shape(0), static_cast<std::size_t>(n_outputs)});
}

void add_leaf_values(OutVector<double> scores, Vector<std::int32_t> leaf_of_row,
                     Vector<double> values, int n_threads) {
  require(scores.shape(0) == leaf_of_row.shape(0), "leaf_of_row must have one entry per row");
  bool sound = true;
  run([&] {
    sound = weald::add_leaf_values(
        scores.data(), leaf_of_row.data(), static_cast<std::int64_t>(scores.shape(0)),
        values.data(), static_cast<std::int64_t>(values.shape(0)), checked_threads(n_threads));
  });
  require(sound, "leaf_of_row names a leaf that does not exist");
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  weald::AllLosses::for_each([&](auto loss) { names.emplace_back(loss.name); });
  return names;
}

}  // namespace

int predictions_per_row(const std::string& loss, int n_scores) {
  check_scores(loss, n_scores);
  return loss == weald::LogLoss::name && n_scores == 1 ? 2 : n_scores;
}

void bind_losses(nb::module_& m) {
  m.def("losses", &loss_names);
  m.def("gradients", &gradients, "loss"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
  m.def("mean_loss", &mean_loss, "loss"_a, "y"_a, "scores"_a, "weight"_a.none(), "copies"_a.none(),
        "n_threads"_a);
  m.def("base_scores", &base_scores, "loss"_a, "y"_a, "n_scores"_a, "weight"_a.none(),
        "copies"_a.none());
  m.def("predictions", &predictions, "loss"_a, "scores"_a, "n_threads"_a);
  m.def("add_leaf_values", &add_leaf_values, "scores"_a.noconvert(), "leaf_of_row"_a, "values"_a,
        "n_threads"_a);
}

}  // namespace weald::border
