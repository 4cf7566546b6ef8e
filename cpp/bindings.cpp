// The door to Python: check arrays, release the GIL, call the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binning.hpp"
#include "boosting.hpp"
#include "content.hpp"
#include "criteria/criteria.hpp"
#include "elementary.hpp"
#include "forest.hpp"
#include "grower.hpp"
#include "kernels/kernels.hpp"
#include "losses/losses.hpp"
#include "parallel.hpp"
#include "predictor.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using AnyTable = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// Python's answer to Ctrl-C.
bool python_was_interrupted() {
  nb::gil_scoped_acquire hold;
  return PyErr_CheckSignals() != 0;
}

// Signals are heard by Python's main thread only; another thread must not even ask, because asking
// takes the GIL, which may never come back to a daemon thread when the interpreter ends.
weald::InterruptCheck check_of_this_thread() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")().attr("ident");
  const bool is_main = nb::cast<unsigned long>(main) == PyThread_get_thread_ident();
  return is_main ? python_was_interrupted : nullptr;
}

// Runs the work without the GIL. On Ctrl-C the KeyboardInterrupt set by Python is raised.
template <class Work>
void run(Work&& work) {
  const weald::InterruptCheck check = check_of_this_thread();
  try {
    nb::gil_scoped_release release;
    weald::InterruptScope scope(check);
    work();
  } catch (const weald::Interrupted&) {
    throw nb::python_error();
  }
}

template <class T>
weald::Table<T> table_of(const AnyTable<T>& array) {
  require(array.shape(0) < std::numeric_limits<weald::Row>::max(), "a table has too many rows");
  return {array.data(), static_cast<std::int64_t>(array.shape(0)),
          static_cast<std::int64_t>(array.shape(1)), array.stride(0), array.stride(1)};
}

// A new NumPy array that owns a moved vector.
template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owned->data();
  nb::capsule owner(owned.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}
template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T> values) {
  const std::size_t n = values.size();
  return give(std::move(values), {n});
}

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array, std::int64_t n, const char* what) {
  if (!array) return nullptr;
  require(static_cast<std::int64_t>(array->shape(0)) == n, what);
  return array->data();
}

template <class T>
auto find_cuts(AnyTable<T> table, std::optional<Vector<std::int64_t>> mass, int max_bins,
               int n_threads) {
  require(max_bins >= 2 && max_bins <= weald::max_value_bins, "max_bins must be in [2, 255]");
  const auto view = table_of(table);
  const auto* masses = data_or_null(mass, view.n_rows, "mass must have one entry per row");
  weald::Cuts cuts;
  run([&] { cuts = weald::find_cuts(view, masses, max_bins, n_threads); });
  return nb::make_tuple(give(std::move(cuts.values)), give(std::move(cuts.first)));
}

void check_cuts(const Vector<double>& cuts, const Vector<std::int64_t>& first,
                std::int64_t n_columns) {
  require(static_cast<std::int64_t>(first.shape(0)) == n_columns + 1 && first.data()[0] == 0 &&
              first.data()[n_columns] == static_cast<std::int64_t>(cuts.shape(0)),
          "first must hold the begin of every column's cuts and their end");
  for (std::int64_t c = 0; c < n_columns; ++c) {
    const std::int64_t n = first.data()[c + 1] - first.data()[c];
    require(n >= 0 && n < weald::max_value_bins, "a column has between 0 and 254 cuts");
  }
}

template <class T>
auto apply_cuts(AnyTable<T> table, Vector<double> cuts, Vector<std::int64_t> first,
                int n_threads) {
  const auto view = table_of(table);
  check_cuts(cuts, first, view.n_columns);
  std::vector<weald::Code> codes(
      static_cast<std::size_t>(weald::Codes::bytes(view.n_rows, view.n_columns)));
  run([&] { weald::apply_cuts(view, cuts.data(), first.data(), codes.data(), n_threads); });
  return give(std::move(codes));
}

template <class T>
auto hash_rows(AnyTable<T> table, Vector<double> target, int n_threads) {
  const auto view = table_of(table);
  require(static_cast<std::int64_t>(target.shape(0)) == view.n_rows,
          "target must have one entry per row");
  std::vector<std::uint64_t> words(static_cast<std::size_t>(view.n_rows) * 2);
  static_assert(sizeof(weald::Hash128) == 2 * sizeof(std::uint64_t));
  run([&] {
    weald::hash_rows(view, target.data(), reinterpret_cast<weald::Hash128*>(words.data()),
                     n_threads);
  });
  return give(std::move(words), {static_cast<std::size_t>(view.n_rows), std::size_t{2}});
}

auto draw(Matrix<std::uint64_t> hashes, std::uint64_t seed, std::uint64_t member,
          std::uint64_t purpose) {
  require(hashes.shape(1) == 2, "hashes must have two words per row");
  const weald::DrawKey key{seed, member, purpose};
  std::vector<std::uint64_t> words(hashes.shape(0));
  for (std::size_t row = 0; row < words.size(); ++row)
    words[row] = key({hashes.data()[2 * row], hashes.data()[2 * row + 1]});
  return give(std::move(words));
}

template <auto function>
auto map(Vector<double> x) {
  std::vector<double> y(x.shape(0));
  const double* const in = x.data();
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = function(in[i]);
  return give(std::move(y));
}

// ---- losses ----

weald::Scored scored(const Vector<double>& y, const Matrix<double>& scores,
                     const std::optional<Vector<double>>& weight,
                     const std::optional<Vector<std::int64_t>>& copies) {
  const auto n_rows = static_cast<std::int64_t>(scores.shape(1));
  require(static_cast<std::int64_t>(y.shape(0)) == n_rows, "y must have one entry per row");
  const int n_scores = static_cast<int>(scores.shape(0));
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
  const auto rows = scored(y, scores, weight, std::nullopt);
  for (const auto* out : {&gradient, &hessian})
    require(out->shape(0) == scores.shape(0) && out->shape(1) == scores.shape(1),
            "gradient and hessian must have the shape of scores");
  bool wrote = false;
  run([&] { wrote = weald::gradients(loss, rows, gradient.data(), hessian.data(), n_threads); });
  return wrote;
}

double mean_loss(const std::string& loss, Vector<double> y, Matrix<double> scores,
                 std::optional<Vector<double>> weight, std::optional<Vector<std::int64_t>> copies,
                 int n_threads) {
  const auto rows = scored(y, scores, weight, copies);
  double mean = 0.0;
  run([&] { mean = weald::mean_loss(loss, rows, n_threads); });
  return mean;
}

auto base_scores(const std::string& loss, Vector<double> y, int n_scores,
                 std::optional<Vector<double>> weight,
                 std::optional<Vector<std::int64_t>> copies) {
  require(n_scores >= 1, "n_scores must be positive");
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
  require(n_scores >= 1, "scores must have a column");
  const int n_outputs = loss == weald::LogLoss::name && n_scores == 1 ? 2 : n_scores;
  std::vector<double> out(static_cast<std::size_t>(n_rows * n_outputs));
  run([&] {
    weald::predictions(loss, scores.data(), n_rows, n_scores, n_outputs, out.data(), n_threads);
  });
  return give(std::move(out), {scores.shape(0), static_cast<std::size_t>(n_outputs)});
}

void add_leaf_values(OutVector<double> scores, Vector<std::int32_t> leaf_of_row,
                     Vector<double> values, int n_threads) {
  require(scores.shape(0) == leaf_of_row.shape(0), "leaf_of_row must have one entry per row");
  bool sound = true;
  run([&] {
    sound = weald::add_leaf_values(scores.data(), leaf_of_row.data(),
                                   static_cast<std::int64_t>(scores.shape(0)), values.data(),
                                   static_cast<std::int64_t>(values.shape(0)), n_threads);
  });
  require(sound, "leaf_of_row names a leaf that does not exist");
}

// ---- growing ----

// Holds the binned table and the scratch space of the grower from tree to tree.
class Grower {
 public:
  Grower(Vector<weald::Code> codes, std::int64_t n_rows, Vector<std::int32_t> n_bins,
         std::string criterion, std::string growth, std::string cells,
         std::int64_t max_leaf_nodes, std::int64_t max_depth, std::int64_t min_samples_split,
         std::int64_t min_samples_leaf, double min_child_weight, double min_gain, double l2,
         int n_threads)
      : codes_(std::move(codes)), n_bins_(std::move(n_bins)), criterion_(std::move(criterion)) {
    const auto n_columns = static_cast<std::int64_t>(n_bins_.shape(0));
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_columns >= 1 && static_cast<std::int64_t>(codes_.shape(0)) ==
                                  weald::Codes::bytes(n_rows, n_columns),
            "codes must have one byte for every row and column, and seven more");
    require(weald::AllCriteria::with_name(criterion_, [](auto) {}), "unknown criterion");
    require(growth == "best_first" || growth == "depth_wise", "unknown growth");
    require(cells == "automatic" || cells == "packed" || cells == "wide", "unknown cells");
    require(max_leaf_nodes >= 0 && max_depth >= 0, "limits must not be negative");
    view_ = {codes_.data(), n_rows, static_cast<int>(n_columns), n_bins_.data()};
    check_codes(n_threads);
    weald::TreeParams params;
    params.growth =
        growth == "best_first" ? weald::Growth::best_first : weald::Growth::depth_wise;
    params.cells = cells == "automatic" ? weald::Cells::automatic
                   : cells == "packed"  ? weald::Cells::packed
                                        : weald::Cells::wide;
    params.max_leaf_nodes = max_leaf_nodes;
    params.max_depth = max_depth;
    params.min_samples_split = min_samples_split;
    params.split.min_samples_leaf = min_samples_leaf;
    params.split.min_child_weight = min_child_weight;
    params.split.min_gain = min_gain;
    params.split.penalty.l2 = l2;
    params.n_threads = n_threads;
    grower_ = std::make_unique<weald::Grower>(view_, criterion_, params);
  }

  nb::dict grow(std::optional<Vector<double>> weight, std::optional<Matrix<double>> sums,
                bool sums_per_weight, std::optional<Vector<std::int32_t>> classes, int n_classes,
                std::optional<Vector<std::int64_t>> copies, OutVector<std::int32_t> leaf_of_row) {
    weald::Target target;
    target.weight = data_or_null(weight, view_.n_rows, "weight must have one entry per row");
    target.copies = data_or_null(copies, view_.n_rows, "copies must have one entry per row");
    target.sums_per_weight = sums_per_weight;
    require(sums.has_value() != classes.has_value(), "give either sums or classes");
    if (sums) {
      require(static_cast<std::int64_t>(sums->shape(1)) == view_.n_rows && sums->shape(0) >= 1,
              "sums must have the shape (channels, rows)");
      target.sums = sums->data();
      target.n_channels = static_cast<int>(sums->shape(0));
    } else {
      target.classes = data_or_null(classes, view_.n_rows, "classes must have one entry per row");
      target.n_channels = n_classes;
      for (std::int64_t row = 0; row < view_.n_rows; ++row)
        require(target.classes[row] >= 0 && target.classes[row] < n_classes,
                "classes must be in [0, n_classes)");
    }
    require(!target.sums || target.n_channels == 1 || criterion_ != weald::Newton::name,
            "the newton criterion has one channel");
    require(static_cast<std::int64_t>(leaf_of_row.shape(0)) == view_.n_rows,
            "leaf_of_row must have one entry per row");
    weald::Tree tree;
    run([&] { tree = grower_->grow(target, leaf_of_row.data()); });
    const std::size_t n_outputs = static_cast<std::size_t>(tree.n_outputs);
    const std::size_t n_leaves = tree.value.size() / n_outputs;
    nb::dict result;
    result["feature"] = give(std::move(tree.feature));
    result["code"] = give(std::move(tree.code));
    result["right"] = give(std::move(tree.right));
    result["missing_left"] = give(std::move(tree.missing_left));
    result["weight"] = give(std::move(tree.weight));
    result["gain"] = give(std::move(tree.gain));
    result["value"] = give(std::move(tree.value), {n_leaves, n_outputs});
    return result;
  }

 private:
  // A code past a column's bins would count outside its histogram.
  void check_codes(int n_threads) {
    std::vector<weald::Code> most(static_cast<std::size_t>(view_.n_groups()) * weald::lanes, 0);
    run([&] {
      weald::parallel_for(view_.n_groups(), n_threads, [&](std::int64_t task, int) {
        const int g = static_cast<int>(task);
        weald::Code* const top = most.data() + g * weald::lanes;
        const weald::Code* const group = view_.group(g);
        const std::int64_t stride = view_.stride(g);
        const int n_lanes = view_.lanes_of(g);
        for (std::int64_t row = 0; row < view_.n_rows; ++row)
          for (int lane = 0; lane < n_lanes; ++lane)
            top[lane] = std::max(top[lane], group[row * stride + lane]);
      });
    });
    for (int column = 0; column < view_.n_columns; ++column) {
      require(view_.n_bins[column] >= 1 && view_.n_bins[column] <= weald::max_value_bins,
              "a column has between 1 and 255 bins");
      require(most[column] <= view_.n_bins[column], "a code lies outside its column's bins");
    }
  }

  Vector<weald::Code> codes_;
  Vector<std::int32_t> n_bins_;
  std::string criterion_;
  weald::Codes view_{};
  std::unique_ptr<weald::Grower> grower_;
};

// ---- predicting ----

// A forest's arrays, held and proven sound once; after that a walk needs no checks.
class Predictor {
 public:
  Predictor(Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> right,
            Vector<std::uint8_t> missing_left, Matrix<double> value,
            Vector<std::int64_t> first_node, Vector<std::int64_t> first_leaf,
            Vector<std::int32_t> output, Vector<double> tree_weight, Vector<double> base_score,
            std::int64_t n_columns)
      : feature_(std::move(feature)),
        threshold_(std::move(threshold)),
        right_(std::move(right)),
        missing_left_(std::move(missing_left)),
        value_(std::move(value)),
        first_node_(std::move(first_node)),
        first_leaf_(std::move(first_leaf)),
        output_(std::move(output)),
        tree_weight_(std::move(tree_weight)),
        base_score_(std::move(base_score)),
        n_columns_(n_columns) {
    const std::size_t n_nodes = feature_.shape(0), n_trees = output_.shape(0);
    require(threshold_.shape(0) == n_nodes && right_.shape(0) == n_nodes &&
                missing_left_.shape(0) == n_nodes,
            "the arrays of nodes differ in length");
    require(first_node_.shape(0) == n_trees + 1 && first_leaf_.shape(0) == n_trees + 1 &&
                tree_weight_.shape(0) == n_trees,
            "the arrays of trees differ in length");
    require(base_score_.shape(0) >= 1 && value_.shape(1) >= 1, "a forest needs an output");
    forest_ = {feature_.data(),
               threshold_.data(),
               right_.data(),
               missing_left_.data(),
               value_.data(),
               static_cast<std::int64_t>(n_nodes),
               static_cast<std::int64_t>(value_.shape(0)),
               static_cast<int>(value_.shape(1)),
               first_node_.data(),
               first_leaf_.data(),
               output_.data(),
               tree_weight_.data(),
               static_cast<std::int64_t>(n_trees),
               base_score_.data(),
               static_cast<int>(base_score_.shape(0))};
    require(weald::is_sound(forest_, n_columns), "the arrays of the forest are damaged");
    predictor_ = std::make_unique<weald::Predictor>(forest_, n_columns);
  }

  template <class T>
  auto predict(AnyTable<T> table, int n_threads, const std::string& engine) const {
    using Engine = weald::Predictor::Engine;
    require(engine == "automatic" || engine == "walk" || engine == "masks", "unknown engine");
    require(engine != "masks" || predictor_->has_masks(), "these trees are too large for masks");
    const Engine chosen = engine == "automatic" ? Engine::automatic
                          : engine == "walk"    ? Engine::walk
                                                : Engine::masks;
    const auto view = checked(table);
    const auto n_outputs = static_cast<std::size_t>(forest_.n_outputs);
    std::vector<double> scores(static_cast<std::size_t>(view.n_rows) * n_outputs);
    // Too little work to let another thread in, or to be interrupted.
    if (view.n_rows * forest_.n_trees < 4096)
      predictor_->predict(view, scores.data(), 1, chosen);
    else
      run([&] { predictor_->predict(view, scores.data(), n_threads, chosen); });
    return give(std::move(scores), {static_cast<std::size_t>(view.n_rows), n_outputs});
  }

  template <class T>
  auto apply(AnyTable<T> table, int n_threads) const {
    const auto view = checked(table);
    const auto n_trees = static_cast<std::size_t>(forest_.n_trees);
    std::vector<std::int32_t> leaves(static_cast<std::size_t>(view.n_rows) * n_trees);
    run([&] { predictor_->apply(view, leaves.data(), n_threads); });
    return give(std::move(leaves), {static_cast<std::size_t>(view.n_rows), n_trees});
  }

 private:
  template <class T>
  weald::Table<T> checked(const AnyTable<T>& table) const {
    const auto view = table_of(table);
    require(view.n_columns == n_columns_, "the table has another number of columns");
    return view;
  }

  Vector<std::int32_t> feature_;
  Vector<double> threshold_;
  Vector<std::int32_t> right_;
  Vector<std::uint8_t> missing_left_;
  Matrix<double> value_;
  Vector<std::int64_t> first_node_, first_leaf_;
  Vector<std::int32_t> output_;
  Vector<double> tree_weight_, base_score_;
  std::int64_t n_columns_;
  weald::Forest forest_{};
  std::unique_ptr<weald::Predictor> predictor_;
};

std::vector<std::string> criterion_names() {
  std::vector<std::string> names;
  weald::AllCriteria::for_each([&](auto criterion) { names.emplace_back(criterion.name); });
  return names;
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  weald::AllLosses::for_each([&](auto loss) { names.emplace_back(loss.name); });
  return names;
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The core: arrays in, arrays out.";
  m.def("usable_cores", &weald::usable_cores);
  m.def("instructions", [] { return std::string(weald::kernels().name); });
  m.def("runnable_instructions", [] {
    std::vector<std::string> names;
    for (const weald::Kernels* one : weald::runnable_kernels()) names.emplace_back(one->name);
    return names;
  });
  m.def("criteria", &criterion_names);
  m.def("losses", &loss_names);

  m.def("exp", &map<weald::elementary::exp>, "x"_a);
  m.def("log", &map<weald::elementary::log>, "x"_a);
  m.def("log2", &map<weald::elementary::log2>, "x"_a);
  m.def("log1p", &map<weald::elementary::log1p>, "x"_a);
  m.def("sigmoid", &map<weald::elementary::sigmoid>, "x"_a);

  m.def("find_cuts", &find_cuts<float>, "table"_a.noconvert(), "mass"_a.none(), "max_bins"_a,
        "n_threads"_a);
  m.def("find_cuts", &find_cuts<double>, "table"_a.noconvert(), "mass"_a.none(), "max_bins"_a,
        "n_threads"_a);
  m.def("apply_cuts", &apply_cuts<float>, "table"_a.noconvert(), "cuts"_a, "first"_a,
        "n_threads"_a);
  m.def("apply_cuts", &apply_cuts<double>, "table"_a.noconvert(), "cuts"_a, "first"_a,
        "n_threads"_a);
  m.def("hash_rows", &hash_rows<float>, "table"_a.noconvert(), "target"_a, "n_threads"_a);
  m.def("hash_rows", &hash_rows<double>, "table"_a.noconvert(), "target"_a, "n_threads"_a);
  m.def("draw", &draw, "hashes"_a, "seed"_a, "member"_a, "purpose"_a);

  m.def("gradients", &gradients, "loss"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
  m.def("mean_loss", &mean_loss, "loss"_a, "y"_a, "scores"_a, "weight"_a.none(),
        "copies"_a.none(), "n_threads"_a);
  m.def("base_scores", &base_scores, "loss"_a, "y"_a, "n_scores"_a, "weight"_a.none(),
        "copies"_a.none());
  m.def("predictions", &predictions, "loss"_a, "scores"_a, "n_threads"_a);
  m.def("add_leaf_values", &add_leaf_values, "scores"_a.noconvert(), "leaf_of_row"_a, "values"_a,
        "n_threads"_a);

  nb::class_<Grower>(m, "Grower")
      .def(nb::init<Vector<weald::Code>, std::int64_t, Vector<std::int32_t>, std::string,
                    std::string, std::string, std::int64_t, std::int64_t, std::int64_t,
                    std::int64_t, double, double, double, int>(),
           "codes"_a, "n_rows"_a, "n_bins"_a, nb::kw_only(), "criterion"_a, "growth"_a, "cells"_a,
           "max_leaf_nodes"_a,
           "max_depth"_a, "min_samples_split"_a, "min_samples_leaf"_a, "min_child_weight"_a,
           "min_gain"_a, "l2"_a, "n_threads"_a)
      .def("grow", &Grower::grow, nb::kw_only(), "weight"_a.none(), "sums"_a.none(),
           "sums_per_weight"_a, "classes"_a.none(), "n_classes"_a, "copies"_a.none(),
           "leaf_of_row"_a.noconvert());

  nb::class_<Predictor>(m, "Predictor")
      .def(nb::init<Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>,
                    Vector<std::uint8_t>, Matrix<double>, Vector<std::int64_t>,
                    Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, Vector<double>,
                    std::int64_t>(),
           nb::kw_only(), "feature"_a, "threshold"_a, "right"_a, "missing_left"_a, "value"_a,
           "first_node"_a, "first_leaf"_a, "output"_a, "tree_weight"_a, "base_score"_a,
           "n_columns"_a)
      .def("predict", &Predictor::predict<float>, "table"_a.noconvert(), "n_threads"_a,
           "engine"_a = "automatic")
      .def("predict", &Predictor::predict<double>, "table"_a.noconvert(), "n_threads"_a,
           "engine"_a = "automatic")
      .def("apply", &Predictor::apply<float>, "table"_a.noconvert(), "n_threads"_a)
      .def("apply", &Predictor::apply<double>, "table"_a.noconvert(), "n_threads"_a);
}
