// Prediction with rotation forests.
#include "rotation/rotation.hpp"

#include "bindings/border.hpp"
#include "bindings/forest_arrays.hpp"
#include "bindings/rotation_columns.hpp"
#include "rotation/jacobi.hpp"
#include "rotation/rotation_predictor.hpp"

namespace weald::bindings {

std::vector<std::int64_t> checked_blocks(const Vector<std::int64_t>& first_of_block,
                                         std::int64_t n_rotated) {
  const std::int64_t* const first = first_of_block.data();
  const std::size_t n = first_of_block.shape(0);
  require(n >= 1 && first[0] == 0 && first[n - 1] == n_rotated,
          "blocks must begin at 0 and end with the rotated columns");
  for (std::size_t b = 1; b < n; ++b) require(first[b - 1] < first[b], "no block may be empty");
  return {first, first + n};
}

rotation::RotationColumns checked_columns(std::int64_t n_inputs, const ColumnsOfRotations& given) {
  const auto& [rotated, centre, scale, kept, flagged] = given;
  const auto inputs = [&](const Vector<std::int32_t>& columns) {
    const std::int32_t* const begin = columns.data();
    for (std::size_t i = 0; i < columns.shape(0); ++i)
      require(begin[i] >= 0 && begin[i] < n_inputs, "column index out of range");
    return std::vector<std::int32_t>(begin, begin + columns.shape(0));
  };
  const auto numbers = [](const Vector<double>& values) {
    return std::vector<double>(values.data(), values.data() + values.shape(0));
  };
  const std::size_t n = rotated.shape(0);
  require(centre.shape(0) == n && scale.shape(0) == n,
          "arrays of rotated columns must have the same length");
  return {inputs(rotated), inputs(kept), inputs(flagged), numbers(centre), numbers(scale)};
}

namespace {

class RotationPredictor {
 public:
  RotationPredictor(Vector<std::int32_t> feature, Vector<double> threshold,
                    Vector<std::int32_t> right, Vector<std::uint8_t> missing_left,
                    Matrix<double> value, Vector<std::int64_t> first_node,
                    Vector<std::int64_t> first_leaf, Vector<std::int32_t> output,
                    Vector<double> tree_weight, Vector<double> base_score,
                    Vector<std::int32_t> category_set, Vector<std::int64_t> first_word,
                    Vector<std::uint64_t> words, std::int64_t n_columns, std::int64_t n_inputs,
                    Vector<std::int32_t> rotated, Vector<double> centre, Vector<double> scale,
                    Vector<std::int32_t> kept, Vector<std::int32_t> flagged,
                    Vector<std::int64_t> first_of_block, Matrix<std::int32_t> order,
                    Matrix<double> loading)
      : held_(std::move(feature), std::move(threshold), std::move(right), std::move(missing_left),
              std::move(value), std::move(first_node), std::move(first_leaf), std::move(output),
              std::move(tree_weight), std::move(base_score), std::move(category_set),
              std::move(first_word), std::move(words), n_columns),
        n_inputs_(n_inputs) {
    const tree::Forest& forest = held_.forest();
    for (std::int64_t t = 0; t < forest.n_trees; ++t)
      require(forest.output[t] == -1, "a rotated tree must have all outputs");
    const rotation::RotationColumns columns =
        checked_columns(n_inputs, {rotated, centre, scale, kept, flagged});
    const std::size_t n = columns.rotated.size();
    require(columns.n_columns() == n_columns,
            "the trees must have as many columns as the rotations");
    const std::vector<std::int64_t> first =
        checked_blocks(first_of_block, static_cast<std::int64_t>(n));
    const auto n_trees = static_cast<std::size_t>(forest.n_trees);
    require(
        order.shape(0) == n_trees && order.shape(1) == n && loading.shape(0) == n_trees &&
            static_cast<std::int64_t>(loading.shape(1)) == rotation::first_loadings(first).back(),
        "there must be one rotation per tree");
    for (std::size_t i = 0; i < n_trees * n; ++i)
      require(order.data()[i] >= 0 && order.data()[i] < static_cast<std::int64_t>(n),
              "a rotation contains a column index out of range");
    predictor_ = std::make_unique<rotation::RotationPredictor>(
        forest, columns, rotation::RotationsView{first, order.data(), loading.data()});
  }

  // Predict one row (1-D) or a batch (2-D): sums of the trees' values.
  auto answer(const nb::ndarray<nb::ro, nb::device::cpu>& rows, int n_threads) const {
    if (rows.dtype() == nb::dtype<float>()) return answer_as<float>(rows, n_threads);
    if (rows.dtype() == nb::dtype<double>()) return answer_as<double>(rows, n_threads);
    throw nb::type_error("expected float32 or float64");
  }

  template <class T>
  auto spread(AnyTable<T> table, Matrix<double> centre, int n_threads) const {
    const auto view = checked(table);
    const std::size_t n = table.shape(0), n_outputs = n_outputs_of();
    require(centre.shape(0) == n && centre.shape(1) == n_outputs,
            "centre must have the shape (rows, outputs)");
    std::vector<double> squares(n * n_outputs);
    run([&] {
      predictor_->spread(view, centre.data(), squares.data(), checked_threads(n_threads));
    });
    return give(std::move(squares), {n, n_outputs});
  }

  template <class T>
  auto apply(AnyTable<T> table, int n_threads) const {
    const auto view = checked(table);
    const auto n_trees = static_cast<std::size_t>(held_.forest().n_trees);
    std::vector<std::int32_t> leaves(table.shape(0) * n_trees);
    run([&] { predictor_->apply(view, leaves.data(), checked_threads(n_threads)); });
    return give(std::move(leaves), {table.shape(0), n_trees});
  }

 private:
  std::size_t n_outputs_of() const { return static_cast<std::size_t>(held_.forest().n_outputs); }

  template <class T>
  nb::ndarray<nb::numpy, double> answer_as(const nb::ndarray<nb::ro, nb::device::cpu>& rows,
                                           int n_threads) const {
    const bool one = rows.ndim() == 1;
    require(one || rows.ndim() == 2, "expected one row (1-D) or a batch of rows (2-D)");
    require(rows.shape(one ? 0 : 1) == static_cast<std::size_t>(n_inputs_),
            "rows must have as many columns as the model");
    const std::size_t n = one ? 1 : rows.shape(0), width = n_outputs_of();
    require(n < std::numeric_limits<weald::Row>::max(), "too many rows");
    const data::Table<T> table{static_cast<const T*>(rows.data()), static_cast<std::int64_t>(n),
                               n_inputs_, one ? 0 : rows.stride(0), rows.stride(one ? 0 : 1)};
    std::vector<double> sums(n * width);
    const int threads = checked_threads(n_threads);
    if (table.n_rows * held_.forest().n_trees < 4096)
      predictor_->predict(table, sums.data(), 1);
    else
      run([&] { predictor_->predict(table, sums.data(), threads); });
    return one ? give(std::move(sums), {width}) : give(std::move(sums), {n, width});
  }

  template <class T>
  data::Table<T> checked(const AnyTable<T>& table) const {
    const auto view = table_of(table);
    require(view.n_columns == n_inputs_, "the table must have as many columns as the model");
    return view;
  }

  ForestArrays held_;
  std::int64_t n_inputs_;
  std::unique_ptr<rotation::RotationPredictor> predictor_;
};

// Principal axes of a covariance matrix, for tests: columns by decreasing variance.
auto principal_axes(const Matrix<double>& covariance) {
  const std::size_t n = covariance.shape(0);
  require(n >= 1 && n == covariance.shape(1) && n <= 10'000, "covariance must be square");
  std::vector<double> matrix(covariance.data(), covariance.data() + n * n), axes(n * n);
  run([&] { rotation::principal_axes(matrix.data(), static_cast<int>(n), axes.data()); });
  return give(std::move(axes), {n, n});
}

}  // namespace

void bind_rotation(nb::module_& m) {
  m.def("principal_axes", &principal_axes, "covariance"_a);
  nb::class_<RotationPredictor>(m, "RotationPredictor")
      .def(
          nb::init<Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>, Vector<std::uint8_t>,
                   Matrix<double>, Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int32_t>,
                   Vector<double>, Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>,
                   Vector<std::uint64_t>, std::int64_t, std::int64_t, Vector<std::int32_t>,
                   Vector<double>, Vector<double>, Vector<std::int32_t>, Vector<std::int32_t>,
                   Vector<std::int64_t>, Matrix<std::int32_t>, Matrix<double>>(),
          nb::kw_only(), "feature"_a, "threshold"_a, "right"_a, "missing_left"_a, "value"_a,
          "first_node"_a, "first_leaf"_a, "output"_a, "tree_weight"_a, "base_score"_a,
          "category_set"_a, "first_word"_a, "words"_a, "n_columns"_a, "n_inputs"_a, "rotated"_a,
          "centre"_a, "scale"_a, "kept"_a, "flagged"_a, "first_of_block"_a, "order"_a, "loading"_a)
      .def("answer", &RotationPredictor::answer, "rows"_a.noconvert(), "n_threads"_a)
      .def("spread", &RotationPredictor::spread<float>, "table"_a.noconvert(), "centre"_a,
           "n_threads"_a)
      .def("spread", &RotationPredictor::spread<double>, "table"_a.noconvert(), "centre"_a,
           "n_threads"_a)
      .def("apply", &RotationPredictor::apply<float>, "table"_a.noconvert(), "n_threads"_a)
      .def("apply", &RotationPredictor::apply<double>, "table"_a.noconvert(), "n_threads"_a);
}

}  // namespace weald::bindings
