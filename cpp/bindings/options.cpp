// Option trees: alternative splits, their subtrees, and prediction with all of them.
#include <algorithm>

#include "bindings/border.hpp"
#include "bindings/criterion_checks.hpp"
#include "bindings/grown_trees.hpp"
#include "criteria/criteria.hpp"
#include "grow/grower.hpp"
#include "grow/option_search.hpp"
#include "predict/option_predictor.hpp"

namespace weald::bindings {
namespace {

constexpr std::int64_t most_copies = std::int64_t{1} << 36;  // weald.data.rows.MOST_COPIES

// Option trees also need the codes.
nb::dict arrays_with_codes(tree::Tree tree) {
  auto code = give(std::move(tree.code));
  nb::dict result = arrays_of(std::move(tree));
  result["code"] = std::move(code);
  return result;
}

// One table and one target; the rows of a node are passed to each call, as copies.
class OptionGrower {
 public:
  OptionGrower(Vector<weald::Code> codes, std::int64_t n_rows, Vector<std::int32_t> n_bins,
               std::optional<Vector<std::uint8_t>> is_category,
               std::vector<std::int32_t> wide_columns,
               std::vector<Vector<std::uint16_t>> wide_codes, std::string criterion,
               std::int64_t max_leaf_nodes, std::int64_t max_depth, std::int64_t min_samples_split,
               std::int64_t min_samples_leaf, int n_threads, std::optional<Vector<double>> weight,
               std::optional<Matrix<double>> sums, std::optional<Vector<std::int32_t>> classes,
               int n_classes)
      : criterion_(std::move(criterion)), n_rows_(n_rows) {
    require(is_of_targets(criterion_), "this criterion is not supported by option trees");
    require(max_leaf_nodes >= 0 && max_depth >= 0,
            "max_leaf_nodes and max_depth must not be negative");
    const auto n_columns = static_cast<std::int64_t>(n_bins.shape(0));
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_columns >= 1 &&
                static_cast<std::int64_t>(codes.shape(0)) == weald::Codes::bytes(n_rows, n_columns),
            "codes must have one byte per row and column plus seven bytes of padding");
    params_.n_threads = checked_threads(n_threads);
    params_.max_leaf_nodes = max_leaf_nodes;
    params_.max_depth = max_depth;
    params_.min_samples_split = min_samples_split;
    params_.sends_unseen_rows = false;
    params_.split.min_samples_leaf = min_samples_leaf;
    params_.split.min_gain = -std::numeric_limits<double>::infinity();
    take_target(std::move(weight), std::move(sums), std::move(classes), n_classes);
    const weald::Codes view{codes.data(), n_rows, static_cast<int>(n_columns), n_bins.data()};
    saw_missing_ = check_codes(view, params_.n_threads);
    data::Categories categories = checked_categories(view, is_category, wide_columns, wide_codes);
    require(!categories.has_wide_numbers(), "option trees support at most 255 bins per column");
    held_.codes = std::move(codes);
    held_.n_bins = std::move(n_bins);
    held_.wide_codes = std::move(wide_codes);
    run([&] {
      search_ = std::make_unique<grow::OptionSearch>(view, categories, criterion_, params_.split,
                                                     params_.n_threads);
      table_ = std::make_shared<const split::HistogramTable>(view, std::move(categories),
                                                             params_.n_threads);
      grower_ = std::make_unique<grow::Grower>(table_, criterion_, params_);
    });
    leaf_of_row_.resize(static_cast<std::size_t>(n_rows));
  }

  auto saw_missing() const { return give(std::vector<std::uint8_t>(saw_missing_)); }

  // The best split and those nearly as good, each with the side of every row.
  nb::list stumps(Vector<std::int64_t> copies, int most, double ratio) {
    require(most >= 1 && ratio >= 0.0, "most must be positive and ratio must not be negative");
    const target::Target target = target_of(copies);
    std::vector<grow::OptionStump> found;
    run([&] { found = search_->look(target, {most, ratio, params_.min_samples_split}); });
    nb::list result;
    for (grow::OptionStump& stump : found) result.append(pair_of(std::move(stump)));
    return result;
  }

  // The stump of a given split: weights, gain and values of its children.
  nb::tuple part(Vector<std::int64_t> copies, Vector<std::uint8_t> goes_left) {
    const target::Target target = target_of(copies);
    require(static_cast<std::int64_t>(goes_left.shape(0)) == n_rows_,
            "goes_left must have one entry per row");
    std::int64_t n_left = 0, n_right = 0;
    for (std::int64_t row = 0; row < n_rows_; ++row)
      if (copies.data()[row] > 0) ++(goes_left.data()[row] != 0 ? n_left : n_right);
    require(n_left > 0 && n_right > 0, "goes_left must send rows to both sides");
    grow::OptionStump stump;
    run([&] { stump = search_->part(target, goes_left.data()); });
    return pair_of(std::move(stump));
  }

  // A tree without options on the rows of positive copies.
  nb::dict grow(Vector<std::int64_t> copies) {
    const target::Target target = target_of(copies);
    tree::Tree tree;
    run([&] { tree = grower_->grow(target, leaf_of_row_.data()); });
    return arrays_with_codes(std::move(tree));
  }

 private:
  static nb::tuple pair_of(grow::OptionStump stump) {
    auto side = give(std::move(stump.side));
    return nb::make_tuple(arrays_with_codes(std::move(stump.tree)), side);
  }

  void take_target(std::optional<Vector<double>> weight, std::optional<Matrix<double>> sums,
                   std::optional<Vector<std::int32_t>> classes, int n_classes) {
    target_.sums_per_weight = true;
    target_.weight = data_or_null(weight, n_rows_, "weight must have one entry per row");
    require(sums.has_value() != classes.has_value(), "give either sums or classes");
    check_criterion(criterion_, sums);
    if (sums) {
      require(static_cast<std::int64_t>(sums->shape(1)) == n_rows_ && sums->shape(0) >= 1,
              "sums must have the shape (channels, rows)");
      target_.sums = sums->data();
      target_.n_channels = static_cast<int>(sums->shape(0));
    } else {
      target_.classes = data_or_null(classes, n_rows_, "classes must have one entry per row");
      target_.n_channels = n_classes;
      for (std::int64_t row = 0; row < n_rows_; ++row)
        require(target_.classes[row] >= 0 && target_.classes[row] < n_classes,
                "classes must be in [0, n_classes)");
    }
    held_.weight = std::move(weight);
    held_.sums = std::move(sums);
    held_.classes = std::move(classes);
  }

  target::Target target_of(const Vector<std::int64_t>& copies) const {
    require(static_cast<std::int64_t>(copies.shape(0)) == n_rows_,
            "copies must have one entry per row");
    std::int64_t n_copies = 0;
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      const std::int64_t here = copies.data()[row];
      require(here >= 0 && here <= most_copies, "copies out of range");
      n_copies += here;
      require(n_copies <= most_copies, "the sum of copies is too large");
    }
    require(n_copies > 0, "at least one row must have positive copies");
    target::Target target = target_;
    target.copies = copies.data();
    return target;
  }

  std::string criterion_;
  std::int64_t n_rows_;
  tree::TreeParams params_;
  target::Target target_;
  std::vector<std::uint8_t> saw_missing_;
  std::vector<std::int32_t> leaf_of_row_;
  struct {
    Vector<weald::Code> codes;
    Vector<std::int32_t> n_bins;
    std::vector<Vector<std::uint16_t>> wide_codes;
    std::optional<Vector<double>> weight;
    std::optional<Matrix<double>> sums;
    std::optional<Vector<std::int32_t>> classes;
  } held_;  // arrays that the search and the grower read
  std::unique_ptr<grow::OptionSearch> search_;
  std::shared_ptr<const split::HistogramTable> table_;
  std::unique_ptr<grow::Grower> grower_;
};

// The arrays of an option tree, kept alive and validated once.
class OptionPredictor {
 public:
  OptionPredictor(Vector<std::int32_t> feature, Vector<double> threshold,
                  Vector<std::int32_t> right, Vector<std::uint8_t> missing_left,
                  Vector<std::int32_t> next_option, Matrix<double> value,
                  Vector<std::int32_t> category_set, Vector<std::int64_t> first_word,
                  Vector<std::uint64_t> words, std::int64_t n_columns)
      : feature_(std::move(feature)),
        threshold_(std::move(threshold)),
        right_(std::move(right)),
        missing_left_(std::move(missing_left)),
        next_option_(std::move(next_option)),
        value_(std::move(value)),
        category_set_(std::move(category_set)),
        first_word_(std::move(first_word)),
        words_(std::move(words)),
        n_columns_(n_columns) {
    const std::size_t n_nodes = feature_.shape(0);
    require(threshold_.shape(0) == n_nodes && right_.shape(0) == n_nodes &&
                missing_left_.shape(0) == n_nodes && category_set_.shape(0) == n_nodes &&
                next_option_.shape(0) == n_nodes,
            "node arrays must have the same length");
    require(first_word_.shape(0) >= 1 && value_.shape(1) >= 1,
            "a tree must have at least one output");
    tree::Forest forest{};
    forest.feature = feature_.data();
    forest.threshold = threshold_.data();
    forest.right = right_.data();
    forest.missing_left = missing_left_.data();
    forest.value = value_.data();
    forest.n_nodes = static_cast<std::int64_t>(n_nodes);
    forest.n_leaves = static_cast<std::int64_t>(value_.shape(0));
    forest.n_values = static_cast<int>(value_.shape(1));
    forest.category_set = category_set_.data();
    forest.first_word = first_word_.data();
    forest.words = words_.data();
    forest.n_sets = static_cast<std::int64_t>(first_word_.shape(0)) - 1;
    forest.n_words = static_cast<std::int64_t>(words_.shape(0));
    require(predict::is_sound_option_tree(forest, next_option_.data(), n_columns),
            "the arrays of the option tree are damaged");
    predictor_ = std::make_unique<predict::OptionPredictor>(forest, next_option_.data());
  }

  template <class T>
  auto predict(AnyTable<T> table, int n_threads) const {
    auto scores = space(table);
    run([&] {
      predictor_->predict(checked(table), scores.data(), nullptr, checked_threads(n_threads));
    });
    return give(std::move(scores), {table.shape(0), value_.shape(1)});
  }

  // Scores, and the disagreement of the leaves that a row reaches.
  template <class T>
  nb::tuple predict_spread(AnyTable<T> table, int n_threads) const {
    auto scores = space(table), spread = scores;
    run([&] {
      predictor_->predict(checked(table), scores.data(), spread.data(), checked_threads(n_threads));
    });
    return nb::make_tuple(give(std::move(scores), {table.shape(0), value_.shape(1)}),
                          give(std::move(spread), {table.shape(0), value_.shape(1)}));
  }

  template <class T>
  auto apply(AnyTable<T> table, int n_threads) const {
    const auto most = static_cast<std::size_t>(predictor_->max_leaves());
    std::vector<std::int32_t> leaves(table.shape(0) * most);
    run([&] { predictor_->apply(checked(table), leaves.data(), checked_threads(n_threads)); });
    return give(std::move(leaves), {table.shape(0), most});
  }

  auto leaf_shares() const { return give(std::vector<double>(predictor_->leaf_shares())); }

 private:
  template <class T>
  data::Table<T> checked(const AnyTable<T>& table) const {
    const auto view = table_of(table);
    require(view.n_columns == n_columns_, "the table must have as many columns as the model");
    return view;
  }
  template <class T>
  std::vector<double> space(const AnyTable<T>& table) const {
    return std::vector<double>(table.shape(0) * value_.shape(1));
  }

  Vector<std::int32_t> feature_;
  Vector<double> threshold_;
  Vector<std::int32_t> right_;
  Vector<std::uint8_t> missing_left_;
  Vector<std::int32_t> next_option_;
  Matrix<double> value_;
  Vector<std::int32_t> category_set_;
  Vector<std::int64_t> first_word_;
  Vector<std::uint64_t> words_;
  std::int64_t n_columns_;
  std::unique_ptr<predict::OptionPredictor> predictor_;
};

}  // namespace

void bind_options(nb::module_& m) {
  nb::class_<OptionGrower>(m, "OptionGrower")
      .def(nb::init<Vector<weald::Code>, std::int64_t, Vector<std::int32_t>,
                    std::optional<Vector<std::uint8_t>>, std::vector<std::int32_t>,
                    std::vector<Vector<std::uint16_t>>, std::string, std::int64_t, std::int64_t,
                    std::int64_t, std::int64_t, int, std::optional<Vector<double>>,
                    std::optional<Matrix<double>>, std::optional<Vector<std::int32_t>>, int>(),
           nb::kw_only(), "codes"_a, "n_rows"_a, "n_bins"_a, "is_category"_a.none(),
           "wide_columns"_a, "wide_codes"_a, "criterion"_a, "max_leaf_nodes"_a, "max_depth"_a,
           "min_samples_split"_a, "min_samples_leaf"_a, "n_threads"_a, "weight"_a.none(),
           "sums"_a.none(), "classes"_a.none(), "n_classes"_a)
      .def("saw_missing", &OptionGrower::saw_missing)
      .def("stumps", &OptionGrower::stumps, "copies"_a, "most"_a, "ratio"_a)
      .def("part", &OptionGrower::part, "copies"_a, "goes_left"_a)
      .def("grow", &OptionGrower::grow, "copies"_a);
  nb::class_<OptionPredictor>(m, "OptionPredictor")
      .def(
          nb::init<Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>, Vector<std::uint8_t>,
                   Vector<std::int32_t>, Matrix<double>, Vector<std::int32_t>, Vector<std::int64_t>,
                   Vector<std::uint64_t>, std::int64_t>(),
          nb::kw_only(), "feature"_a, "threshold"_a, "right"_a, "missing_left"_a, "next_option"_a,
          "value"_a, "category_set"_a, "first_word"_a, "words"_a, "n_columns"_a)
      .def("predict", &OptionPredictor::predict<float>, "table"_a.noconvert(), "n_threads"_a)
      .def("predict", &OptionPredictor::predict<double>, "table"_a.noconvert(), "n_threads"_a)
      .def("predict_spread", &OptionPredictor::predict_spread<float>, "table"_a.noconvert(),
           "n_threads"_a)
      .def("predict_spread", &OptionPredictor::predict_spread<double>, "table"_a.noconvert(),
           "n_threads"_a)
      .def("apply", &OptionPredictor::apply<float>, "table"_a.noconvert(), "n_threads"_a)
      .def("apply", &OptionPredictor::apply<double>, "table"_a.noconvert(), "n_threads"_a)
      .def("leaf_shares", &OptionPredictor::leaf_shares);
}

}  // namespace weald::bindings
