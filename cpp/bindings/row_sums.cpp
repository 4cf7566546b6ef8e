// Means and leaf values of rows in several parts, in steps: what a part tells is merged over all
// parts, arrays of doubles by maxima and of int64 by sums.
#include "bindings/border.hpp"
#include "bindings/limbs.hpp"
#include "losses/losses.hpp"
#include "target/exact_mean.hpp"
#include "target/gradients.hpp"
#include "target/leaf_sums.hpp"

namespace weald::bindings {
namespace {

using Copies = std::optional<Vector<std::int64_t>>;

const std::int64_t* checked_copies(const Copies& copies, std::int64_t n_rows) {
  const auto* const data = data_or_null(copies, n_rows, "copies must have one entry per row");
  for (std::int64_t row = 0; data && row < n_rows; ++row)
    require(data[row] >= 0 && data[row] <= std::int64_t{1} << 36, "copies out of range");
  return data;
}

target::Terms<double> terms_of(const Vector<double>& values,
                               const std::optional<Vector<double>>& weight, const Copies& copies) {
  const auto n_rows = static_cast<std::int64_t>(values.shape(0));
  return {values.data(), data_or_null(weight, n_rows, "weight must have one entry per row"),
          checked_copies(copies, n_rows), n_rows};
}

// As [largest term, largest weight, -least value, largest value].
target::MeanExtremes extremes_of(const Vector<double>& most) {
  require(most.shape(0) == 4, "the extremes of a mean are four numbers");
  return {most.data()[0], most.data()[1], -most.data()[2], most.data()[3]};
}

auto mean_extremes(Vector<double> values, std::optional<Vector<double>> weight, Copies copies) {
  const auto rows = terms_of(values, weight, copies);
  target::MeanExtremes all;
  run([&] { all = target::mean_extremes(rows); });
  return give(std::vector<double>{all.term, all.weight, -all.least, all.most});
}

auto mean_sums(Vector<double> values, std::optional<Vector<double>> weight, Copies copies,
               Vector<double> most) {
  const auto rows = terms_of(values, weight, copies);
  const target::MeanExtremes all = extremes_of(most);
  Integers limbs;
  run([&] {
    const target::MeanSums sums = all.decide() ? target::MeanSums{} : target::mean_sums(rows, all);
    add_limbs(limbs, sums.terms);
    add_limbs(limbs, sums.weights);
  });
  return give(std::move(limbs));
}

double mean_of_sums(Vector<double> most, Vector<std::int64_t> limbs) {
  require(limbs.shape(0) == 2 * n_limbs, "the sums of a mean are two of four integers");
  return target::mean_of(extremes_of(most),
                         {of_limbs(limbs.data()), of_limbs(limbs.data() + n_limbs)});
}

auto base_scores_of_means(const std::string& loss, Vector<double> means) {
  const auto n_scores = static_cast<int>(means.shape(0));
  predictions_per_row(loss, n_scores);  // or raise
  std::vector<double> base(means.shape(0));
  run([&] { target::base_scores_of_means(loss, means.data(), n_scores, base.data()); });
  return give(std::move(base));
}

// Gradients and hessians of one score.
struct OneScore {
  const double *gradient, *hessian;
  const std::int64_t* copies;
  std::int64_t n_rows;

  OneScore(const Vector<double>& g, const std::optional<Vector<double>>& h, const Copies& times)
      : gradient(g.data()),
        hessian(nullptr),
        copies(nullptr),
        n_rows(static_cast<std::int64_t>(g.shape(0))) {
    hessian = data_or_null(h, n_rows, "hessian must have the shape of gradient");
    copies = checked_copies(times, n_rows);
  }
};

target::LeafExtremes leaf_extremes_of(const Vector<double>& most) {
  require(most.shape(0) == 2, "the extremes of leaves are two numbers");
  return {most.data()[0], most.data()[1]};
}

auto leaf_extremes(Vector<double> gradient, std::optional<Vector<double>> hessian, Copies copies,
                   int n_threads) {
  const OneScore rows(gradient, hessian, copies);
  target::LeafExtremes all;
  run([&] {
    all = target::leaf_extremes(rows.gradient, rows.hessian, rows.copies, rows.n_rows,
                                checked_threads(n_threads));
  });
  return give(std::vector<double>{all.gradient, all.hessian});
}

auto sums_of_leaves(Vector<double> gradient, std::optional<Vector<double>> hessian, Copies copies,
                    Vector<std::int32_t> leaf_of_row, std::int64_t n_leaves, Vector<double> most,
                    int n_threads) {
  const OneScore rows(gradient, hessian, copies);
  require(static_cast<std::int64_t>(leaf_of_row.shape(0)) == rows.n_rows,
          "leaf_of_row must have one entry per row");
  require(n_leaves >= 1 && n_leaves <= std::numeric_limits<std::int32_t>::max(),
          "n_leaves must be in [1, 2^31)");
  bool sound = true;
  for (std::int64_t row = 0; row < rows.n_rows; ++row)
    sound &= leaf_of_row.data()[row] >= 0 && leaf_of_row.data()[row] < n_leaves;
  require(sound, "leaf_of_row contains an invalid leaf index");
  const target::LeafExtremes all = leaf_extremes_of(most);
  Integers limbs;
  run([&] {
    std::vector<target::LeafSum> sums(static_cast<std::size_t>(n_leaves));
    target::add_leaf_sums(rows.gradient, rows.hessian, rows.copies,
                          {leaf_of_row.data(), rows.n_rows, n_leaves}, all, sums.data(),
                          checked_threads(n_threads));
    for (const target::LeafSum& one : sums) {
      add_limbs(limbs, one.gradient);
      add_limbs(limbs, one.hessian);
    }
  });
  return give(std::move(limbs));
}

// Newton steps and sums of hessians of the leaves.
auto steps_of_sums(Vector<double> most, Vector<std::int64_t> limbs, double l1, double l2) {
  require(l1 >= 0.0 && l2 >= 0.0, "l1 and l2 must not be negative");
  const std::size_t n = limbs.shape(0) / (2 * n_limbs);
  require(n >= 1 && limbs.shape(0) == n * 2 * n_limbs, "a leaf has two sums of four integers");
  std::vector<target::LeafSum> sums(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t* const own = limbs.data() + 2 * n_limbs * i;
    sums[i] = {of_limbs(own), of_limbs(own + n_limbs)};
  }
  std::vector<double> steps(n), hessians(n);
  run([&] {
    target::write_leaf_sums(sums.data(), static_cast<std::int64_t>(n), leaf_extremes_of(most),
                            steps.data(), hessians.data());
  });
  for (std::size_t i = 0; i < n; ++i) steps[i] = target::newton_step(steps[i], hessians[i], l1, l2);
  return nb::make_tuple(give(std::move(steps)), give(std::move(hessians)));
}

}  // namespace

void bind_row_sums(nb::module_& m) {
  m.def("mean_extremes", &mean_extremes, "values"_a, "weight"_a.none(), "copies"_a.none());
  m.def("mean_sums", &mean_sums, "values"_a, "weight"_a.none(), "copies"_a.none(), "most"_a);
  m.def("mean_of_sums", &mean_of_sums, "most"_a, "limbs"_a);
  m.def("base_scores_of_means", &base_scores_of_means, "loss"_a, "means"_a);
  m.def("leaf_extremes", &leaf_extremes, "gradient"_a, "hessian"_a.none(), "copies"_a.none(),
        "n_threads"_a);
  m.def("sums_of_leaves", &sums_of_leaves, "gradient"_a, "hessian"_a.none(), "copies"_a.none(),
        "leaf_of_row"_a, "n_leaves"_a, "most"_a, "n_threads"_a);
  m.def("steps_of_sums", &steps_of_sums, "most"_a, "limbs"_a, "l1"_a, "l2"_a);
}

}  // namespace weald::bindings
