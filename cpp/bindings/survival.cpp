// Losses of survival times, and survival trees.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>

#include "bindings/border.hpp"
#include "data/bootstrap.hpp"
#include "survival/concordance.hpp"
#include "survival/leaf_curves.hpp"
#include "survival/survival_tree.hpp"
#include "target/aft.hpp"
#include "target/cox.hpp"

namespace weald::bindings {
namespace {

const std::int64_t* copies_or_null(const std::optional<Vector<std::int64_t>>& copies,
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

const double* weights_or_null(const std::optional<Vector<double>>& weight, std::int64_t n_rows) {
  const double* const data = data_or_null(weight, n_rows, "weight must have one entry per row");
  for (std::int64_t row = 0; data && row < n_rows; ++row)
    require(std::isfinite(data[row]) && data[row] >= 0.0, "weights must be finite");
  return data;
}

// Validate places of times.
target::SurvivalRows checked_places(const std::string& ties, const Vector<double>& y,
                                    const Vector<double>& scores,
                                    const std::optional<Vector<double>>& weight,
                                    const std::optional<Vector<std::int64_t>>& copies) {
  require(ties == "breslow" || ties == "efron", "unknown treatment of ties");
  const auto n_rows = static_cast<std::int64_t>(y.shape(0));
  require(static_cast<std::int64_t>(scores.shape(0)) == n_rows,
          "scores must have one entry per row");
  double last = 0.0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double place = std::abs(y.data()[row]);
    require(place >= 1.0 && place < 0x1p31 && place == std::trunc(place),
            "y must hold the places of times: 1, 2, ..., negative if censored");
    require(!std::isnan(scores.data()[row]), "scores must be numbers");
    last = std::max(last, place);
  }
  return {y.data(),
          scores.data(),
          weights_or_null(weight, n_rows),
          copies_or_null(copies, n_rows),
          n_rows,
          static_cast<std::int32_t>(last),
          ties == "efron" ? target::Ties::efron : target::Ties::breslow};
}

void cox_gradients(const std::string& ties, Vector<double> y, Vector<double> scores,
                   std::optional<Vector<double>> weight, std::optional<Vector<std::int64_t>> copies,
                   OutVector<double> gradient, OutVector<double> hessian, int n_threads) {
  const target::SurvivalRows rows = checked_places(ties, y, scores, weight, copies);
  for (const auto* out : {&gradient, &hessian})
    require(out->shape(0) == y.shape(0), "gradient and hessian must have one entry per row");
  run([&] {
    target::cox_gradients(rows, gradient.data(), hessian.data(), checked_threads(n_threads));
  });
}

double cox_mean_loss(const std::string& ties, Vector<double> y, Vector<double> scores,
                     std::optional<Vector<double>> weight,
                     std::optional<Vector<std::int64_t>> copies, int n_threads) {
  const target::SurvivalRows rows = checked_places(ties, y, scores, weight, copies);
  double mean = 0.0;
  run([&] { mean = target::cox_mean_loss(rows, checked_threads(n_threads)); });
  return mean;
}

auto baseline_hazard(const std::string& ties, Vector<double> y, Vector<double> scores,
                     std::optional<Vector<double>> weight,
                     std::optional<Vector<std::int64_t>> copies, int n_threads) {
  const target::SurvivalRows rows = checked_places(ties, y, scores, weight, copies);
  std::vector<double> hazard(static_cast<std::size_t>(rows.n_times));
  run([&] { target::baseline_hazard(rows, hazard.data(), checked_threads(n_threads)); });
  return give(std::move(hazard));
}

// Validate times.
target::AftRows checked_times(const std::string& distribution, double scale,
                              const Vector<double>& y, const Vector<double>& scores,
                              const std::optional<Vector<double>>& weight,
                              const std::optional<Vector<std::int64_t>>& copies) {
  const auto n_rows = static_cast<std::int64_t>(y.shape(0));
  require(target::is_distribution(distribution), "unknown distribution");
  require(scale > 0.0 && std::isfinite(scale), "scale must be positive");
  require(static_cast<std::int64_t>(scores.shape(0)) == n_rows,
          "scores must have one entry per row");
  for (std::int64_t row = 0; row < n_rows; ++row)
    require(std::isfinite(y.data()[row]) && y.data()[row] != 0.0,
            "y must hold positive times, negative if censored");
  return {y.data(), scores.data(), weights_or_null(weight, n_rows), copies_or_null(copies, n_rows),
          n_rows,   scale};
}

void aft_gradients(const std::string& distribution, double scale, Vector<double> y,
                   Vector<double> scores, std::optional<Vector<double>> weight,
                   OutVector<double> gradient, OutVector<double> hessian, int n_threads) {
  const target::AftRows rows = checked_times(distribution, scale, y, scores, weight, std::nullopt);
  for (const auto* out : {&gradient, &hessian})
    require(out->shape(0) == y.shape(0), "gradient and hessian must have one entry per row");
  run([&] {
    target::aft_gradients(distribution, rows, gradient.data(), hessian.data(),
                          checked_threads(n_threads));
  });
}

double aft_mean_loss(const std::string& distribution, double scale, Vector<double> y,
                     Vector<double> scores, std::optional<Vector<double>> weight,
                     std::optional<Vector<std::int64_t>> copies, int n_threads) {
  const target::AftRows rows = checked_times(distribution, scale, y, scores, weight, copies);
  double mean = 0.0;
  run([&] { mean = target::aft_mean_loss(distribution, rows, checked_threads(n_threads)); });
  return mean;
}

auto aft_log_survival(const std::string& distribution, Vector<double> z, int n_threads) {
  require(target::is_distribution(distribution), "unknown distribution");
  std::vector<double> out(z.shape(0));
  run([&] {
    target::aft_log_survival(distribution, z.data(), static_cast<std::int64_t>(z.shape(0)),
                             out.data(), checked_threads(n_threads));
  });
  return give(std::move(out));
}

auto concordance(Vector<std::int32_t> time, Vector<std::uint8_t> is_event,
                 Vector<std::int32_t> risk, Vector<double> weight_of_event,
                 Vector<double> weight_of_other) {
  const auto n_rows = static_cast<std::int64_t>(time.shape(0));
  for (const std::size_t n :
       {is_event.shape(0), risk.shape(0), weight_of_event.shape(0), weight_of_other.shape(0)})
    require(static_cast<std::int64_t>(n) == n_rows, "arrays must have one entry per row");
  std::int32_t n_ranks = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    require(risk.data()[row] >= 0 && risk.data()[row] < n_rows, "risk must hold ranks");
    n_ranks = std::max(n_ranks, risk.data()[row] + 1);
  }
  survival::PairWeights pairs;
  run([&] {
    pairs =
        survival::count_pairs({time.data(), is_event.data(), risk.data(), weight_of_event.data(),
                               weight_of_other.data(), n_rows, n_ranks});
  });
  return std::tuple(pairs.concordant, pairs.tied, pairs.comparable);
}

// A survival table whose arrays are alive as long as the arguments.
struct CheckedTable {
  survival::SurvivalTable table;
  std::vector<std::int32_t> n_event_times;
};

CheckedTable checked_table(const Matrix<std::uint16_t>& codes, const Vector<std::int32_t>& n_codes,
                           const Vector<std::uint8_t>& is_category, const Vector<double>& cuts,
                           const Vector<std::int64_t>& first_cut, const Vector<std::int32_t>& time,
                           const Vector<std::uint8_t>& is_event,
                           const std::optional<Vector<double>>& weight) {
  const auto n_columns = static_cast<std::int64_t>(codes.shape(0));
  const auto n_rows = static_cast<std::int64_t>(codes.shape(1));
  require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max() && n_columns >= 1 &&
              n_columns <= std::numeric_limits<int>::max(),
          "a table must have rows and columns");
  require(static_cast<std::int64_t>(n_codes.shape(0)) == n_columns &&
              static_cast<std::int64_t>(is_category.shape(0)) == n_columns,
          "n_codes and is_category must have one entry per column");
  check_cuts(cuts, first_cut, n_columns, 65536);
  for (std::int64_t c = 0; c < n_columns; ++c) {
    const std::int32_t most = n_codes.data()[c];
    require(most >= 1 && most <= 65536, "a column must have at most 65536 codes");
    require(is_category.data()[c] || first_cut.data()[c + 1] - first_cut.data()[c] == most - 2 ||
                most == 1,
            "a column must have a cut between its bins");
    const std::uint16_t* const own = codes.data() + c * n_rows;
    for (std::int64_t row = 0; row < n_rows; ++row)
      require(own[row] < most, "codes must be less than n_codes");
  }
  require(static_cast<std::int64_t>(time.shape(0)) == n_rows &&
              static_cast<std::int64_t>(is_event.shape(0)) == n_rows,
          "time and is_event must have one entry per row");
  std::int32_t n_times = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    require(time.data()[row] >= 0 && time.data()[row] < n_rows, "time must hold places of times");
    n_times = std::max(n_times, time.data()[row] + 1);
  }
  std::vector<std::int32_t> n_event_times(static_cast<std::size_t>(n_times) + 1);
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (is_event.data()[row]) n_event_times[time.data()[row] + 1] = 1;
  for (std::int32_t t = 0; t < n_times; ++t) n_event_times[t + 1] += n_event_times[t];
  CheckedTable checked{
      {codes.data(), n_codes.data(), is_category.data(), cuts.data(), first_cut.data(), time.data(),
       is_event.data(), weights_or_null(weight, n_rows), n_rows, static_cast<int>(n_columns),
       nullptr, n_times},
      std::move(n_event_times)};
  checked.table.n_event_times = checked.n_event_times.data();
  return checked;
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& own) {
  all.insert(all.end(), own.begin(), own.end());
}

// Arrays of weald.trees.Forest and the steps of the leaves, by name.
nb::dict joined(std::vector<survival::SurvivalTree> trees) {
  survival::SurvivalTree all;
  std::vector<std::int64_t> first_node{0}, first_leaf{0};
  for (survival::SurvivalTree& tree : trees) {
    const auto n_sets = static_cast<std::int32_t>(all.first_word.size()) - 1;
    for (std::int32_t& set : tree.category_set)
      if (set >= 0) set += n_sets;
    const std::int64_t n_words = all.first_word.back(), n_steps = all.first_step.back();
    for (std::size_t i = 1; i < tree.first_word.size(); ++i)
      all.first_word.push_back(n_words + tree.first_word[i]);
    for (std::size_t i = 1; i < tree.first_step.size(); ++i)
      all.first_step.push_back(n_steps + tree.first_step[i]);
    append(all.feature, tree.feature);
    append(all.right, tree.right);
    append(all.category_set, tree.category_set);
    append(all.step_time, tree.step_time);
    append(all.threshold, tree.threshold);
    append(all.weight, tree.weight);
    append(all.gain, tree.gain);
    append(all.value, tree.value);
    append(all.step_hazard, tree.step_hazard);
    append(all.step_survival, tree.step_survival);
    append(all.missing_left, tree.missing_left);
    append(all.words, tree.words);
    first_node.push_back(static_cast<std::int64_t>(all.feature.size()));
    first_leaf.push_back(static_cast<std::int64_t>(all.value.size()));
    tree = {};
  }
  nb::dict out;
  const std::size_t n_leaves = all.value.size();
  out["feature"] = give(std::move(all.feature));
  out["threshold"] = give(std::move(all.threshold));
  out["right"] = give(std::move(all.right));
  out["missing_left"] = give(std::move(all.missing_left));
  out["weight"] = give(std::move(all.weight));
  out["gain"] = give(std::move(all.gain));
  out["value"] = give(std::move(all.value), {n_leaves, 1});
  out["first_node"] = give(std::move(first_node));
  out["first_leaf"] = give(std::move(first_leaf));
  out["category_set"] = give(std::move(all.category_set));
  out["first_word"] = give(std::move(all.first_word));
  out["words"] = give(std::move(all.words));
  out["first_step"] = give(std::move(all.first_step));
  out["step_time"] = give(std::move(all.step_time));
  out["step_hazard"] = give(std::move(all.step_hazard));
  out["step_survival"] = give(std::move(all.step_survival));
  return out;
}

// `mass` and `n_draws`: bootstrap samples of rows in the order of their content; n_draws of 0: all
// trees see all rows.
nb::dict grow_survival_forest(Matrix<std::uint16_t> codes, Vector<std::int32_t> n_codes,
                              Vector<std::uint8_t> is_category, Vector<double> cuts,
                              Vector<std::int64_t> first_cut, Vector<std::int32_t> time,
                              Vector<std::uint8_t> is_event, std::optional<Vector<double>> weight,
                              std::int64_t n_draws, std::int64_t n_trees, int max_features,
                              int max_depth, std::int64_t min_samples_split,
                              std::int64_t min_samples_leaf, std::uint64_t seed, int n_threads) {
  const CheckedTable checked =
      checked_table(codes, n_codes, is_category, cuts, first_cut, time, is_event, weight);
  const survival::SurvivalTable& table = checked.table;
  require(n_trees >= 1 && n_trees <= std::numeric_limits<std::int32_t>::max(),
          "n_trees must be positive");
  require(max_features >= 1 && max_features <= table.n_columns,
          "max_features must be in [1, columns]");
  require(max_depth >= 0 && min_samples_split >= 2 && min_samples_leaf >= 1,
          "limits must not be negative");
  require(n_draws >= 0 && n_draws <= std::int64_t{1} << 36, "n_draws out of range");
  const survival::SurvivalParams params{max_features, max_depth, min_samples_split,
                                        min_samples_leaf, seed};
  const int threads = checked_threads(n_threads);
  std::vector<survival::SurvivalTree> trees(static_cast<std::size_t>(n_trees));
  run([&] {
    const data::Bootstrap bootstrap(static_cast<const std::int64_t*>(nullptr), table.n_rows,
                                    std::max<std::int64_t>(n_draws, 1), seed);
    parallel_for(n_trees, threads, [&](std::int64_t tree, int) {
      std::vector<std::int64_t> copies(static_cast<std::size_t>(table.n_rows), 1);
      if (n_draws > 0) bootstrap.draw(static_cast<std::uint64_t>(tree), copies.data());
      trees[tree] = survival::grow_survival_tree(table, copies.data(), params,
                                                 static_cast<std::uint64_t>(tree));
    });
  });
  return joined(std::move(trees));
}

auto mean_curves(Vector<std::int64_t> first_step, Vector<std::int32_t> step_time,
                 Vector<double> step_value, double start, Matrix<std::int64_t> leaves,
                 std::int64_t n_times, int n_threads) {
  const auto n_leaves = static_cast<std::int64_t>(first_step.shape(0)) - 1;
  const auto n_steps = static_cast<std::int64_t>(step_time.shape(0));
  require(n_leaves >= 0 && first_step.data()[0] == 0 && first_step.data()[n_leaves] == n_steps &&
              static_cast<std::int64_t>(step_value.shape(0)) == n_steps,
          "first_step must contain the start of every leaf's steps and their total number");
  for (std::int64_t leaf = 0; leaf < n_leaves; ++leaf)
    require(first_step.data()[leaf] <= first_step.data()[leaf + 1], "first_step must not decrease");
  for (std::int64_t i = 0; i < n_steps; ++i)
    require(step_time.data()[i] >= 0 && step_time.data()[i] < n_times,
            "step_time must be in [0, n_times)");
  const auto n_rows = static_cast<std::int64_t>(leaves.shape(0));
  const auto n_trees = static_cast<std::int64_t>(leaves.shape(1));
  require(n_trees >= 1 && n_times >= 0, "there must be trees");
  for (std::int64_t i = 0; i < n_rows * n_trees; ++i)
    require(leaves.data()[i] >= 0 && leaves.data()[i] < n_leaves, "a leaf index is out of range");
  std::vector<double> out(static_cast<std::size_t>(n_rows * n_times));
  run([&] {
    survival::mean_curves({first_step.data(), step_time.data(), step_value.data(), start},
                          leaves.data(), n_rows, n_trees, n_times, out.data(),
                          checked_threads(n_threads));
  });
  return give(std::move(out),
              {static_cast<std::size_t>(n_rows), static_cast<std::size_t>(n_times)});
}

}  // namespace

void bind_survival(nb::module_& m) {
  m.def("concordance", &concordance, "time"_a, "is_event"_a, "risk"_a, "weight_of_event"_a,
        "weight_of_other"_a);
  m.def("grow_survival_forest", &grow_survival_forest, "codes"_a, "n_codes"_a, "is_category"_a,
        "cuts"_a, "first_cut"_a, "time"_a, "is_event"_a, "weight"_a.none(), "n_draws"_a,
        "n_trees"_a, "max_features"_a, "max_depth"_a, "min_samples_split"_a, "min_samples_leaf"_a,
        "seed"_a, "n_threads"_a);
  m.def("mean_curves", &mean_curves, "first_step"_a, "step_time"_a, "step_value"_a, "start"_a,
        "leaves"_a, "n_times"_a, "n_threads"_a);
  m.def("cox_gradients", &cox_gradients, "ties"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "copies"_a.none(), "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
  m.def("cox_mean_loss", &cox_mean_loss, "ties"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "copies"_a.none(), "n_threads"_a);
  m.def("baseline_hazard", &baseline_hazard, "ties"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "copies"_a.none(), "n_threads"_a);
  m.def("aft_gradients", &aft_gradients, "distribution"_a, "scale"_a, "y"_a, "scores"_a,
        "weight"_a.none(), "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
  m.def("aft_mean_loss", &aft_mean_loss, "distribution"_a, "scale"_a, "y"_a, "scores"_a,
        "weight"_a.none(), "copies"_a.none(), "n_threads"_a);
  m.def("aft_log_survival", &aft_log_survival, "distribution"_a, "z"_a, "n_threads"_a);
}

}  // namespace weald::bindings
