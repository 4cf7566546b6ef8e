// Losses over all rows.
#include "losses/losses.hpp"

#include <nanobind/stl/tuple.h>

#include <atomic>
#include <optional>
#include <tuple>
#include <type_traits>

#include "base/parallel.hpp"
#include "bindings/border.hpp"
#include "target/gradients.hpp"
#include "target/leaf_constants.hpp"
#include "target/leaf_refit.hpp"
#include "target/packing.hpp"

namespace weald::bindings {
namespace {

// Call visit with the loss of that name; raises if there is none.
template <class F>
void with_loss(const std::string& name, F&& visit) {
  require(losses::AllLosses::with_name(name, visit), "unknown loss");
}

void check_scores(const std::string& name, std::int64_t n_scores) {
  require(n_scores >= 1, "n_scores must be at least 1");
  with_loss(name, [&](auto loss) {
    require(n_scores == 1 || loss.has_many_scores, "this loss does not support several scores");
  });
}

// y has one entry per row, or is [score][row] for probability targets with several scores.
template <class T>
void check_length(const std::string& name, const Vector<T>& y, std::int64_t n_rows, int n_scores) {
  with_loss(name, [&](auto loss) {
    const bool per_score = loss.targets == losses::Targets::shares;
    require(static_cast<std::int64_t>(y.shape(0)) == (per_score ? n_rows * n_scores : n_rows),
            "y must have one entry per row");
  });
}

template <class T>
void check_targets(const std::string& name, const Vector<T>& y, std::int64_t n_rows, int n_scores) {
  check_length(name, y, n_rows, n_scores);
  with_loss(name, [&](auto loss) {
    if (loss.targets != losses::Targets::classes) return;
    const int n_classes = n_scores == 1 ? 2 : n_scores;
    bool sound = true;
    for (std::int64_t row = 0; row < n_rows; ++row)
      sound &= (y.data()[row] >= 0) & (y.data()[row] < n_classes);
    require(sound, "y must contain class indices");
  });
}

const std::int64_t* checked_copies(const std::optional<Vector<std::int64_t>>& copies,
                                   std::int64_t n_rows) {
  constexpr std::int64_t most = std::int64_t{1} << 36;  // weald.data.rows.MOST_COPIES
  const std::int64_t* const data =
      data_or_null(copies, n_rows, "copies must have one entry per row");
  std::int64_t total = 0;
  for (std::int64_t row = 0; data && row < n_rows; ++row) {
    require(data[row] >= 0 && data[row] <= most - total, "copies out of range");
    total += data[row];
  }
  return data;
}

// y is still to be validated.
losses::Scored scored(const std::string& loss, double parameter, const Vector<double>& y,
                      const Matrix<double>& scores, const std::optional<Vector<double>>& weight,
                      const std::optional<Vector<std::int64_t>>& copies) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(1));
  const int n_scores = static_cast<int>(scores.shape(0));
  check_scores(loss, n_scores);
  check_parameter(loss, parameter);
  check_length(loss, y, n_rows, n_scores);
  return {y.data(),
          scores.data(),
          data_or_null(weight, n_rows, "weight must have one entry per row"),
          checked_copies(copies, n_rows),
          n_rows,
          n_scores,
          parameter};
}

target::Leaves checked_leaves(const Vector<std::int32_t>& leaf_of_row, std::int64_t n_rows,
                              std::int64_t n_leaves, int n_threads) {
  require(static_cast<std::int64_t>(leaf_of_row.shape(0)) == n_rows,
          "leaf_of_row must have one entry per row");
  require(n_leaves >= 1 && n_leaves <= std::numeric_limits<std::int32_t>::max(),
          "n_leaves must be in [1, 2^31)");
  constexpr std::int64_t block = 65'536;
  std::atomic<bool> sound = true;
  run(leaf_of_row.size(), [&] {
    parallel_for((n_rows + block - 1) / block, checked_threads(n_threads),
                 [&](std::int64_t task, int) {
                   bool in_range = true;
                   const std::int64_t end = std::min(n_rows, (task + 1) * block);
                   for (std::int64_t row = task * block; row < end; ++row)
                     in_range &= leaf_of_row.data()[row] >= 0 && leaf_of_row.data()[row] < n_leaves;
                   if (!in_range) sound = false;
                 });
  });
  require(sound, "leaf_of_row contains an invalid leaf index");
  return {leaf_of_row.data(), n_rows, n_leaves};
}

bool gradients(const std::string& loss, double parameter, Vector<double> y, Matrix<double> scores,
               std::optional<Vector<double>> weight, OutMatrix<double> gradient,
               OutMatrix<double> hessian, int n_threads, double base, double base_slope) {
  auto rows = scored(loss, parameter, y, scores, weight, std::nullopt);
  rows.base = base;
  rows.base_slope = base_slope;
  for (const auto* out : {&gradient, &hessian})
    require(out->shape(0) == scores.shape(0) && out->shape(1) == scores.shape(1),
            "gradient and hessian must have the shape of scores");
  bool wrote = false;
  run(scores.size(), [&] {
    wrote =
        target::gradients(loss, rows, gradient.data(), hessian.data(), checked_threads(n_threads));
  });
  return wrote;
}

double mean_loss(const std::string& loss, double parameter, Vector<double> y, Matrix<double> scores,
                 std::optional<Vector<double>> weight, std::optional<Vector<std::int64_t>> copies,
                 int n_threads) {
  const auto rows = scored(loss, parameter, y, scores, weight, copies);
  check_targets(loss, y, rows.n_rows, rows.n_scores);
  double mean = 0.0;
  run([&] { mean = target::mean_loss(loss, rows, checked_threads(n_threads)); });
  return mean;
}

auto losses_of_rows(const std::string& loss, double parameter, Vector<double> y,
                    Matrix<double> scores, int n_threads) {
  const auto rows = scored(loss, parameter, y, scores, std::nullopt, std::nullopt);
  check_targets(loss, y, rows.n_rows, rows.n_scores);
  std::vector<double> losses(scores.shape(1));
  run([&] { target::losses_of_rows(loss, rows, losses.data(), checked_threads(n_threads)); });
  return give(std::move(losses));
}

auto base_scores(const std::string& loss, double parameter, Vector<double> y, int n_scores,
                 std::optional<Vector<double>> weight, std::optional<Vector<std::int64_t>> copies) {
  check_scores(loss, n_scores);
  check_parameter(loss, parameter);
  auto n_rows = static_cast<std::int64_t>(y.shape(0));
  with_loss(loss, [&](auto one) {
    if (one.targets == losses::Targets::shares) n_rows /= n_scores;
  });
  check_targets(loss, y, n_rows, n_scores);
  const losses::Scored rows{y.data(),
                            nullptr,
                            data_or_null(weight, n_rows, "weight must have one entry per row"),
                            checked_copies(copies, n_rows),
                            n_rows,
                            n_scores,
                            parameter};
  std::vector<double> base(static_cast<std::size_t>(n_scores));
  run([&] { target::base_scores(loss, rows, base.data()); });
  return give(std::move(base));
}

// For two classes with labels as bytes.
auto base_scores_of_bytes(const std::string& loss, double parameter, Vector<std::uint8_t> y,
                          int n_scores, std::optional<Vector<double>> weight,
                          std::optional<Vector<std::int64_t>> copies) {
  require(n_scores == 1, "labels as bytes require one score");
  check_parameter(loss, parameter);
  const auto n_rows = static_cast<std::int64_t>(y.shape(0));
  check_targets(loss, y, n_rows, n_scores);
  const double* const weights = data_or_null(weight, n_rows, "weight must have one entry per row");
  const std::int64_t* const its_copies = checked_copies(copies, n_rows);
  std::vector<double> base(1);
  run([&] { base[0] = target::base_score(loss, y.data(), weights, its_copies, n_rows); });
  return give(std::move(base));
}

auto predictions(const std::string& loss, Matrix<double> scores, int n_threads) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(0));
  const int n_scores = static_cast<int>(scores.shape(1));
  const int n_outputs = predictions_per_row(loss, n_scores);
  std::vector<double> out(static_cast<std::size_t>(n_rows * n_outputs));
  run([&] {
    target::predictions(loss, scores.data(), n_rows, n_scores, n_outputs, out.data(),
                        checked_threads(n_threads));
  });
  return give(std::move(out), {scores.shape(0), static_cast<std::size_t>(n_outputs)});
}

// `values` of shape (leaves, scores).
void add_leaf_values(OutMatrix<double> scores, Vector<std::int32_t> leaf_of_row,
                     Matrix<double> values, int n_threads) {
  require(scores.shape(1) == leaf_of_row.shape(0), "leaf_of_row must have one entry per row");
  require(scores.shape(0) == values.shape(1), "values must have one column per score");
  bool sound = true;
  run(scores.size(), [&] {
    sound = target::add_leaf_values(scores.data(), leaf_of_row.data(),
                                    static_cast<std::int64_t>(scores.shape(1)), values.data(),
                                    static_cast<std::int64_t>(values.shape(0)),
                                    static_cast<int>(scores.shape(0)), checked_threads(n_threads));
  });
  require(sound, "leaf_of_row contains an invalid leaf index");
}

auto leaf_constants(const std::string& loss, double parameter, Vector<double> y,
                    Matrix<double> scores, std::optional<Vector<double>> weight,
                    std::optional<Vector<std::int64_t>> copies, Vector<std::int32_t> leaf_of_row,
                    std::int64_t n_leaves, int n_threads) {
  const auto rows = scored(loss, parameter, y, scores, weight, copies);
  const auto leaves = checked_leaves(leaf_of_row, rows.n_rows, n_leaves, n_threads);
  std::vector<double> values(static_cast<std::size_t>(n_leaves));
  run([&] {
    target::leaf_constants(loss, rows, leaves, values.data(), checked_threads(n_threads));
  });
  return give(std::move(values));
}

auto leaf_steps(const std::string& loss, double parameter, double rate, Vector<double> gradient,
                Vector<double> hessian, std::optional<Vector<std::int64_t>> copies,
                Vector<std::int32_t> leaf_of_row, std::int64_t n_leaves, int n_threads, double l2) {
  check_parameter(loss, parameter);
  const auto n_rows = static_cast<std::int64_t>(gradient.shape(0));
  require(rate > 0.0, "rate must be positive");
  require(l2 >= 0.0, "l2 must not be negative");
  require(hessian.shape(0) == gradient.shape(0), "hessian must have the shape of gradient");
  const auto leaves = checked_leaves(leaf_of_row, n_rows, n_leaves, n_threads);
  const std::int64_t* const times = checked_copies(copies, n_rows);
  std::vector<double> values(static_cast<std::size_t>(n_leaves));
  run([&] {
    target::leaf_steps(loss, parameter, rate, l2, gradient.data(), hessian.data(), times, leaves,
                       values.data(), checked_threads(n_threads));
  });
  return give(std::move(values));
}

auto newton_steps(Matrix<double> gradient, std::optional<Matrix<double>> hessian,
                  std::optional<Vector<std::int64_t>> copies, Vector<std::int32_t> leaf_of_row,
                  std::int64_t n_leaves, double l1, double l2, int n_threads) {
  const std::size_t n_scores = gradient.shape(0);
  const auto n_rows = static_cast<std::int64_t>(gradient.shape(1));
  require(l1 >= 0.0 && l2 >= 0.0, "l1 and l2 must not be negative");
  require(!hessian || (hessian->shape(0) == n_scores && hessian->shape(1) == gradient.shape(1)),
          "hessian must have the shape of gradient");
  const auto leaves = checked_leaves(leaf_of_row, n_rows, n_leaves, n_threads);
  const std::int64_t* const times = checked_copies(copies, n_rows);
  std::vector<double> steps(static_cast<std::size_t>(n_leaves) * n_scores);
  std::vector<double> hessians(static_cast<std::size_t>(n_leaves));
  run(gradient.size(), [&] {
    target::newton_steps(gradient.data(), hessian ? hessian->data() : nullptr, times, leaves,
                         static_cast<int>(n_scores), l1, l2, steps.data(), hessians.data(),
                         checked_threads(n_threads));
  });
  return nb::make_tuple(give(std::move(steps), {static_cast<std::size_t>(n_leaves), n_scores}),
                        give(std::move(hessians)));
}

// `leaf_of_row` in as few bytes as it needs. Returns values, hessians and the largest size of a
// value; NaN if any is.
template <class Leaf>
auto refit_leaves(const std::string& loss, double parameter, double rate, Matrix<double> gradient,
                  std::optional<Matrix<double>> hessian, std::optional<Vector<std::int64_t>> copies,
                  std::optional<Vector<std::uint8_t>> drawn, Vector<Leaf> leaf_of_row,
                  std::int64_t n_leaves, double l1, double l2, OutMatrix<double> scores,
                  int n_threads) {
  const std::size_t n_scores = gradient.shape(0);
  const auto n_rows = static_cast<std::int64_t>(gradient.shape(1));
  check_parameter(loss, parameter);
  require(rate > 0.0, "rate must be positive");
  require(l1 >= 0.0 && l2 >= 0.0, "l1 and l2 must not be negative");
  const auto fits = [&](const auto& matrix) {
    return matrix.shape(0) == n_scores && matrix.shape(1) == gradient.shape(1);
  };
  require(fits(scores) && (!hessian || fits(*hessian)),
          "hessian and scores must have the shape of gradient");
  require(static_cast<std::int64_t>(leaf_of_row.shape(0)) == n_rows,
          "leaf_of_row must have one entry per row");
  require(n_leaves >= 1 && n_leaves <= std::numeric_limits<std::int32_t>::max(),
          "n_leaves must be in [1, 2^31)");
  const target::RefitRows rows{
      gradient.data(), hessian ? hessian->data() : nullptr, checked_copies(copies, n_rows),
      data_or_null(drawn, n_rows, "drawn must have one entry per row"), static_cast<int>(n_scores)};
  bool sound = true;
  target::RefittedLeaves leaves;
  run(gradient.size(), [&] {
    weald::LargeVector<std::int32_t> of_row(leaf_of_row.shape(0));
    for (std::int64_t row = 0; row < n_rows; ++row) {
      of_row[row] = static_cast<std::int32_t>(leaf_of_row.data()[row]);
      sound &= of_row[row] >= 0 && of_row[row] < n_leaves;
    }
    if (sound)
      leaves = target::refit_leaves(rows, {of_row.data(), n_rows, n_leaves},
                                    {loss, parameter, rate, l1, l2}, scores.data(),
                                    checked_threads(n_threads));
  });
  require(sound, "leaf_of_row contains an invalid leaf index");
  double largest = 0.0;
  for (const double value : leaves.values) largest = target::Extremes::larger(largest, value);
  return nb::make_tuple(
      give(std::move(leaves.values), {static_cast<std::size_t>(n_leaves), n_scores}),
      give(std::move(leaves.hessians)), largest);
}

auto leaf_sums(Vector<double> gradient, std::optional<Vector<double>> hessian,
               std::optional<Vector<std::int64_t>> copies, Vector<std::int32_t> leaf_of_row,
               std::int64_t n_leaves, int n_threads) {
  const auto n_rows = static_cast<std::int64_t>(gradient.shape(0));
  const double* const second =
      data_or_null(hessian, n_rows, "hessian must have the shape of gradient");
  const auto leaves = checked_leaves(leaf_of_row, n_rows, n_leaves, n_threads);
  const std::int64_t* const times = checked_copies(copies, n_rows);
  std::vector<double> gradients(static_cast<std::size_t>(n_leaves));
  std::vector<double> hessians(static_cast<std::size_t>(n_leaves));
  run([&] {
    target::leaf_sums(gradient.data(), second, times, leaves, gradients.data(), hessians.data(),
                      checked_threads(n_threads));
  });
  return nb::make_tuple(give(std::move(gradients)), give(std::move(hessians)));
}

void cap_steps(const std::string& loss, double parameter, double rate, OutVector<double> steps) {
  require(rate > 0.0, "rate must be positive");
  check_parameter(loss, parameter);
  target::cap_steps(loss, parameter, rate, steps.data(), static_cast<std::int64_t>(steps.shape(0)));
}

double quantile(Vector<double> values, double level, std::optional<Vector<double>> weight,
                std::optional<Vector<std::int64_t>> copies) {
  const auto n_rows = static_cast<std::int64_t>(values.shape(0));
  require(level >= 0.0 && level <= 1.0, "level must be in [0, 1]");
  const double* const weights = data_or_null(weight, n_rows, "weight must have one entry per row");
  const std::int64_t* const times = checked_copies(copies, n_rows);
  double found = std::numeric_limits<double>::quiet_NaN();
  run([&] {
    const auto mass = target::masses(weights, times, n_rows);
    std::vector<target::WeightedValue> weighted;
    for (std::int64_t row = 0; row < n_rows; ++row)
      if (mass[row] > 0) weighted.push_back({values.data()[row], mass[row]});
    if (!weighted.empty()) found = target::quantile(weighted, level);
  });
  return found;
}

double exact_total(Vector<double> values, std::optional<Vector<std::int64_t>> copies) {
  const auto n_rows = static_cast<std::int64_t>(values.shape(0));
  return target::exact_total(values.data(), checked_copies(copies, n_rows), n_rows);
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  losses::AllLosses::for_each([&](auto loss) { names.emplace_back(loss.name); });
  return names;
}

// The traits of a loss as a dict.
nb::dict loss_facts(const std::string& name) {
  using losses::Hessian, losses::BestConstant, losses::Targets;
  const auto hessian = [](losses::Hessian h) {
    return h == losses::Hessian::one ? "one" : (h == losses::Hessian::none ? "none" : "own");
  };
  const auto targets = [](losses::Targets t) {
    return t == losses::Targets::numbers        ? "numbers"
           : t == losses::Targets::not_negative ? "not_negative"
           : t == losses::Targets::positive     ? "positive"
           : t == losses::Targets::classes      ? "classes"
                                                : "shares";
  };
  nb::dict facts;
  with_loss(name, [&](auto loss) {
    facts["hessian"] = hessian(loss.hessian);
    facts["targets"] = targets(loss.targets);
    facts["refines_leaves"] = loss.best_constant != losses::BestConstant::of_mean;
    facts["caps_steps"] = loss.caps_steps;
    facts["has_many_scores"] = loss.has_many_scores;
    facts["has_parameter"] = loss.has_parameter;
    facts["is_reported_twice"] = loss.is_reported_twice;
  });
  return facts;
}

// The powers of the target's unit with which gradients, hessians and losses scale.
std::tuple<double, double, double> loss_degrees(const std::string& name, double parameter) {
  std::tuple<double, double, double> degrees;
  with_loss(name, [&](auto loss) {
    degrees = {loss.gradient_degree(parameter), loss.hessian_degree(parameter),
               loss.loss_degree(parameter)};
  });
  return degrees;
}

// The slopes of a kinked loss above and (negated) below the target; None for other losses.
std::optional<std::tuple<double, double>> loss_slopes(const std::string& name, double parameter) {
  std::optional<std::tuple<double, double>> slopes;
  with_loss(name, [&]<class L>(L) {
    if constexpr (requires { L::above(parameter); })
      slopes = {L::above(parameter), L::below(parameter)};
  });
  return slopes;
}

}  // namespace

void check_parameter(const std::string& name, double parameter) {
  with_loss(name, [&](auto loss) {
    require(!loss.has_parameter || loss.admits(parameter), "the loss's parameter is out of range");
  });
}

int predictions_per_row(const std::string& loss, int n_scores) {
  bool of_classes = false;
  with_loss(loss, [&](auto one) {
    require(n_scores == 1 || (n_scores > 1 && one.has_many_predictions),
            "this loss does not support several scores");
    of_classes = one.targets == losses::Targets::classes || one.targets == losses::Targets::shares;
  });
  return of_classes && n_scores == 1 ? 2 : n_scores;
}

template <class T>
target::LossAt checked_loss(const std::string& loss, double parameter, const Vector<T>& y,
                            const Vector<double>& scores,
                            const std::optional<Vector<double>>& weight, double base,
                            double base_slope) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(0));
  check_scores(loss, 1);
  check_parameter(loss, parameter);
  check_targets(loss, y, n_rows, 1);
  const double* const weights = data_or_null(weight, n_rows, "weight must have one entry per row");
  losses::Scored rows{nullptr, scores.data(), weights, nullptr,   n_rows,
                      1,       parameter,     base,    base_slope};
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return {loss, rows, y.data()};
  } else {
    rows.y = y.data();
    return {loss, rows};
  }
}
template target::LossAt checked_loss(const std::string&, double, const Vector<double>&,
                                     const Vector<double>&, const std::optional<Vector<double>>&,
                                     double, double);
template target::LossAt checked_loss(const std::string&, double, const Vector<std::uint8_t>&,
                                     const Vector<double>&, const std::optional<Vector<double>>&,
                                     double, double);

void bind_losses(nb::module_& m) {
  m.def("losses", &loss_names);
  m.def("loss_facts", &loss_facts, "loss"_a);
  m.def("loss_degrees", &loss_degrees, "loss"_a, "parameter"_a);
  m.def("loss_slopes", &loss_slopes, "loss"_a, "parameter"_a);
  m.def("gradients", &gradients, "loss"_a, "parameter"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a, "base"_a = 0.0,
        "base_slope"_a = 0.0);
  m.def("mean_loss", &mean_loss, "loss"_a, "parameter"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "copies"_a.none(), "n_threads"_a);
  m.def("losses_of_rows", &losses_of_rows, "loss"_a, "parameter"_a, "y"_a, "scores"_a,
        "n_threads"_a);
  m.def("base_scores", &base_scores_of_bytes, "loss"_a, "parameter"_a, "y"_a.noconvert(),
        "n_scores"_a, "weight"_a.none(), "copies"_a.none());
  m.def("base_scores", &base_scores, "loss"_a, "parameter"_a, "y"_a, "n_scores"_a,
        "weight"_a.none(), "copies"_a.none());
  m.def("predictions", &predictions, "loss"_a, "scores"_a, "n_threads"_a);
  m.def("add_leaf_values", &add_leaf_values, "scores"_a.noconvert(), "leaf_of_row"_a, "values"_a,
        "n_threads"_a);
  m.def("leaf_constants", &leaf_constants, "loss"_a, "parameter"_a, "y"_a, "scores"_a,
        "weight"_a.none(), "copies"_a.none(), "leaf_of_row"_a, "n_leaves"_a, "n_threads"_a);
  m.def("leaf_steps", &leaf_steps, "loss"_a, "parameter"_a, "rate"_a, "gradient"_a, "hessian"_a,
        "copies"_a.none(), "leaf_of_row"_a, "n_leaves"_a, "n_threads"_a, "l2"_a = 0.0);
  m.def("newton_steps", &newton_steps, "gradient"_a, "hessian"_a.none(), "copies"_a.none(),
        "leaf_of_row"_a, "n_leaves"_a, "l1"_a, "l2"_a, "n_threads"_a);
  const auto bind_refit = [&]<class Leaf>(Leaf) {
    m.def("refit_leaves", &refit_leaves<Leaf>, "loss"_a, "parameter"_a, "rate"_a, "gradient"_a,
          "hessian"_a.none(), "copies"_a.none(), "drawn"_a.none(), "leaf_of_row"_a.noconvert(),
          "n_leaves"_a, "l1"_a, "l2"_a, "scores"_a.noconvert(), "n_threads"_a);
  };
  bind_refit(std::uint8_t{});
  bind_refit(std::uint16_t{});
  bind_refit(std::int32_t{});
  m.def("leaf_sums", &leaf_sums, "gradient"_a, "hessian"_a.none(), "copies"_a.none(),
        "leaf_of_row"_a, "n_leaves"_a, "n_threads"_a);
  m.def("cap_steps", &cap_steps, "loss"_a, "parameter"_a, "rate"_a, "steps"_a.noconvert());
  m.def("quantile", &quantile, "values"_a, "level"_a, "weight"_a.none(), "copies"_a.none());
  m.def("exact_total", &exact_total, "values"_a, "copies"_a.none());
}

}  // namespace weald::bindings
