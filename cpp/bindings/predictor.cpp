// Prediction with the trees of a model.
#include "predict/predictor.hpp"

#include "bindings/border.hpp"
#include "bindings/forest_arrays.hpp"
#include "target/gradients.hpp"
#include "tree/forest.hpp"

namespace weald::bindings {
namespace {

class Predictor {
 public:
  Predictor(Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> right,
            Vector<std::uint8_t> missing_left, Matrix<double> value,
            Vector<std::int64_t> first_node, Vector<std::int64_t> first_leaf,
            Vector<std::int32_t> output, Vector<double> tree_weight, Vector<double> base_score,
            Vector<std::int32_t> category_set, Vector<std::int64_t> first_word,
            Vector<std::uint64_t> words, std::int64_t n_columns)
      : held_(std::move(feature), std::move(threshold), std::move(right), std::move(missing_left),
              std::move(value), std::move(first_node), std::move(first_leaf), std::move(output),
              std::move(tree_weight), std::move(base_score), std::move(category_set),
              std::move(first_word), std::move(words), n_columns),
        forest_(held_.forest()),
        n_columns_(n_columns),
        predictor_(std::make_unique<predict::Predictor>(forest_, n_columns)) {}

  template <class T>
  auto predict(AnyTable<T> table, int n_threads, const std::string& engine) const {
    using Engine = predict::Predictor::Engine;
    require(engine == "automatic" || engine == "walk" || engine == "masks" || engine == "batch",
            "unknown engine");
    require(engine != "masks" || predictor_->has_masks(),
            "these trees are too large for engine='masks'");
    require(engine != "batch" || predictor_->has_batch(),
            "these trees do not support engine='batch'");
    const Engine chosen = engine == "automatic" ? Engine::automatic
                          : engine == "walk"    ? Engine::walk
                          : engine == "masks"   ? Engine::masks
                                                : Engine::batch;
    const auto view = checked(table);
    const auto n_outputs = static_cast<std::size_t>(forest_.n_outputs);
    std::vector<double> scores(static_cast<std::size_t>(view.n_rows) * n_outputs);
    if (is_short(view.n_rows))
      predictor_->predict(view, scores.data(), 1, chosen);
    else
      run([&] { predictor_->predict(view, scores.data(), checked_threads(n_threads), chosen); });
    return give(std::move(scores), {static_cast<std::size_t>(view.n_rows), n_outputs});
  }

  // For services: predict one row (1-D) or a batch (2-D) without copying; scores, or predictions of
  // `loss` if it is not empty. The result for one row has no row axis.
  auto answer(const nb::ndarray<nb::ro, nb::device::cpu>& rows, const std::string& loss,
              int n_threads) const {
    if (rows.dtype() == nb::dtype<float>()) return answer_as<float>(rows, loss, n_threads);
    if (rows.dtype() == nb::dtype<double>()) return answer_as<double>(rows, loss, n_threads);
    throw nb::type_error("expected float32 or float64");
  }

  template <class T>
  auto apply(AnyTable<T> table, int n_threads) const {
    const auto view = checked(table);
    const auto n_trees = static_cast<std::size_t>(forest_.n_trees);
    std::vector<std::int32_t> leaves(static_cast<std::size_t>(view.n_rows) * n_trees);
    run([&] { predictor_->apply(view, leaves.data(), checked_threads(n_threads)); });
    return give(std::move(leaves), {static_cast<std::size_t>(view.n_rows), n_trees});
  }

 private:
  template <class T>
  nb::ndarray<nb::numpy, double> answer_as(const nb::ndarray<nb::ro, nb::device::cpu>& rows,
                                           const std::string& loss, int n_threads) const {
    const bool one = rows.ndim() == 1;
    require(one || rows.ndim() == 2, "expected one row (1-D) or a batch of rows (2-D)");
    require(rows.shape(one ? 0 : 1) == static_cast<std::size_t>(n_columns_),
            "rows must have as many columns as the model");
    const std::size_t n = one ? 1 : rows.shape(0);
    require(n < std::numeric_limits<weald::Row>::max(), "too many rows");
    const data::Table<T> table{static_cast<const T*>(rows.data()), static_cast<std::int64_t>(n),
                               n_columns_, one ? 0 : rows.stride(0), rows.stride(one ? 0 : 1)};
    const int n_scores = forest_.n_outputs;
    const int n_predictions = loss.empty() ? n_scores : predictions_per_row(loss, n_scores);
    std::vector<double> scores(n * static_cast<std::size_t>(n_scores)), predictions;
    if (!loss.empty()) predictions.resize(n * static_cast<std::size_t>(n_predictions));
    const auto work = [&](int threads) {
      predictor_->predict(table, scores.data(), threads);
      if (!loss.empty())
        target::predictions(loss, scores.data(), table.n_rows, n_scores, n_predictions,
                            predictions.data(), threads);
    };
    const int threads = checked_threads(n_threads);
    is_short(table.n_rows) ? work(1) : run([&] { work(threads); });
    auto& result = loss.empty() ? scores : predictions;
    const auto width = static_cast<std::size_t>(n_predictions);
    return one ? give(std::move(result), {width}) : give(std::move(result), {n, width});
  }

  // Too little work to release the GIL, or to be interrupted.
  bool is_short(std::int64_t n_rows) const { return n_rows * forest_.n_trees < 4096; }

  template <class T>
  data::Table<T> checked(const AnyTable<T>& table) const {
    const auto view = table_of(table);
    require(view.n_columns == n_columns_, "the table must have as many columns as the model");
    return view;
  }

  ForestArrays held_;
  const tree::Forest& forest_;
  std::int64_t n_columns_;
  std::unique_ptr<predict::Predictor> predictor_;
};

}  // namespace

void bind_predictor(nb::module_& m) {
  nb::class_<Predictor>(m, "Predictor")
      .def(
          nb::init<Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>, Vector<std::uint8_t>,
                   Matrix<double>, Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int32_t>,
                   Vector<double>, Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>,
                   Vector<std::uint64_t>, std::int64_t>(),
          nb::kw_only(), "feature"_a, "threshold"_a, "right"_a, "missing_left"_a, "value"_a,
          "first_node"_a, "first_leaf"_a, "output"_a, "tree_weight"_a, "base_score"_a,
          "category_set"_a, "first_word"_a, "words"_a, "n_columns"_a)
      .def("predict", &Predictor::predict<float>, "table"_a.noconvert(), "n_threads"_a,
           "engine"_a = "automatic")
      .def("predict", &Predictor::predict<double>, "table"_a.noconvert(), "n_threads"_a,
           "engine"_a = "automatic")
      .def("answer", &Predictor::answer, "rows"_a.noconvert(), "loss"_a, "n_threads"_a)
      .def("apply", &Predictor::apply<float>, "table"_a.noconvert(), "n_threads"_a)
      .def("apply", &Predictor::apply<double>, "table"_a.noconvert(), "n_threads"_a);
}

}  // namespace weald::bindings
