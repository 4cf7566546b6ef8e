// Training of forests.
#include "base/parallel.hpp"
#include "bindings/border.hpp"
#include "bindings/criterion_checks.hpp"
#include "bindings/grown_trees.hpp"
#include "bindings/packed_forest.hpp"
#include "bindings/ranked_table.hpp"
#include "bindings/rotation_columns.hpp"
#include "criteria/criteria.hpp"
#include "grow/forest_trainer.hpp"
#include "rotation/rotation_trainer.hpp"

namespace weald::bindings {
namespace {

constexpr std::int64_t most_copies = std::int64_t{1} << 36;  // weald.data.rows.MOST_COPIES

// Row sampling of a forest; the bag of any base estimator can be drawn again.
class Bootstrap {
 public:
  using Groups =
      std::optional<Vector<std::int64_t>>;  // the group of each row; none: rows are drawn

  Bootstrap(std::optional<Vector<std::int64_t>> mass, std::int64_t n_units, std::int64_t n_draws,
            std::uint64_t seed, const Groups& group_of) {
    require(n_units >= 1 && n_units < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_draws >= 1 && n_draws <= most_copies, "n_draws must be in [1, 2^36]");
    const auto* const masses = data_or_null(mass, n_units, "mass must have one entry per unit");
    if (masses) checked_mass(masses, n_units, std::int64_t{1} << 61);
    make(group_of, n_units,
         [&] { return std::make_shared<data::Bootstrap>(masses, n_units, n_draws, seed); });
  }

  Bootstrap(Matrix<std::uint64_t> keys, std::int64_t n_draws, std::uint64_t seed,
            const Groups& group_of) {
    const auto n_units = static_cast<std::int64_t>(keys.shape(0));
    require(n_units >= 1 && n_units < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(keys.shape(1) == 2, "keys must have the shape (units, 2)");
    require(n_draws >= 1 && n_draws <= n_units, "n_draws must be in [1, number of units]");
    make(group_of, n_units, [&] {
      const auto* const words = reinterpret_cast<const Hash128*>(keys.data());
      return std::make_shared<data::Bootstrap>(words, n_units, n_draws, seed);
    });
  }

  auto draw(std::uint64_t member) const {
    std::vector<std::int64_t> copies(static_cast<std::size_t>(n_rows()));
    run([&] { drawer->draw(member, copies.data()); });
    return give(std::move(copies));
  }

  std::int64_t n_rows() const { return drawer->n_rows(); }
  std::shared_ptr<const data::Bootstrap> drawer;

 private:
  template <class Make>
  void make(const Groups& group_of, std::int64_t n_units, Make&& make_drawer) {
    std::int64_t n_rows = 0;
    if (group_of) {
      n_rows = static_cast<std::int64_t>(group_of->shape(0));
      require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
              "a table must have between 1 and 2^32 - 2 rows");
      for (std::int64_t row = 0; row < n_rows; ++row)
        require(group_of->data()[row] >= 0 && group_of->data()[row] < n_units,
                "group_of must be in [0, number of units)");
    }
    run([&] {
      const auto made = make_drawer();
      if (group_of) made->draw_groups(group_of->data(), n_rows);
      drawer = made;
    });
  }
};

class ForestParams {
 public:
  ForestParams(std::string of_criterion, std::uint64_t seed, int max_features, bool columns_of_tree,
               bool random_cuts, double min_decrease, double min_weight_share,
               std::int64_t max_leaf_nodes, std::int64_t max_depth, std::int64_t min_samples_split,
               std::int64_t min_samples_leaf, bool balances_bags, bool hard_votes, int n_threads)
      : criterion(std::move(of_criterion)) {
    require(is_of_targets(criterion) || criterion == forest::MedianScan::name,
            "this criterion is not supported by forests");
    require(max_leaf_nodes >= 0 && max_depth >= 0,
            "max_leaf_nodes and max_depth must not be negative");
    tree.columns = {
        max_features, columns_of_tree ? data::Sampling::tree : data::Sampling::node, seed, {}};
    tree.random_cuts = random_cuts;
    tree.min_decrease = min_decrease;
    tree.min_weight_share = min_weight_share;
    tree.max_leaf_nodes = max_leaf_nodes;
    tree.max_depth = max_depth;
    tree.min_samples_split = min_samples_split;
    tree.split.min_samples_leaf = min_samples_leaf;
    tree.split.min_gain = -std::numeric_limits<double>::infinity();
    tree.n_threads = checked_threads(n_threads);
    members = {balances_bags, hard_votes};
  }

  // Monotonic constraints: columns along which predictions increase (1) or decrease (-1).
  void keep_monotone(std::vector<double> direction) {
    for (const double one : direction)
      require(one == -1.0 || one == 0.0 || one == 1.0, "direction must be -1, 0 or 1");
    tree.split.direction = std::move(direction);
  }

  std::string criterion;
  tree::TreeParams tree;
  grow::ForestTrainerParams members;
};

// The target of a forest, without the copies of rows.
target::Target checked_target(const ForestParams& params, std::int64_t n_rows,
                              const std::optional<Vector<double>>& weight,
                              const std::optional<Vector<double>>& values,
                              const std::optional<Vector<std::int32_t>>& classes, int n_classes) {
  target::Target target;
  target.weight = data_or_null(weight, n_rows, "weight must have one entry per row");
  target.sums = data_or_null(values, n_rows, "values must have one entry per row");
  target.sums_per_weight = true;
  require(values.has_value() != classes.has_value(), "pass either values or classes");
  check_criterion(params.criterion, values);
  require(!params.members.balances_bags || classes, "balanced bags require classes");
  require(params.criterion != forest::MedianScan::name || values,
          "criterion='absolute_error' requires values");
  if (classes) {
    target.classes = data_or_null(classes, n_rows, "classes must have one entry per row");
    target.n_channels = n_classes;
    for (std::int64_t row = 0; row < n_rows; ++row)
      require(target.classes[row] >= 0 && target.classes[row] < n_classes,
              "classes must be in [0, n_classes)");
  }
  return target;
}

// Several outputs: numbers of shape (outputs, rows), or class labels (rows, outputs); those of
// output j are in [first_class[j], first_class[j + 1]).
struct SeveralOutputs {
  std::vector<int> first_class;
  std::optional<Matrix<double>> values;
  std::optional<Matrix<std::int32_t>> labels;

  target::Target checked(const ForestParams& params, std::int64_t n_rows,
                         const std::optional<Vector<double>>& weight) const {
    target::Target target;
    target.weight = data_or_null(weight, n_rows, "weight must have one entry per row");
    target.sums_per_weight = true;
    require(values.has_value() != labels.has_value(), "pass either values or labels");
    require(params.criterion != forest::MedianScan::name && !needs_positive_sums(params.criterion),
            "the absolute_error and poisson criteria support one output only");
    check_criterion(params.criterion, values);
    if (values) {
      require(static_cast<std::int64_t>(values->shape(1)) == n_rows && values->shape(0) >= 1,
              "values must have the shape (outputs, rows)");
      require(!params.members.balances_bags && !params.members.hard_votes,
              "balanced bags and hard votes require labels");
      target.sums = values->data();
      target.n_channels = static_cast<int>(values->shape(0));
      return target;
    }
    target.classes = checked_labels(*labels, n_rows, first_class);
    target.n_labels = static_cast<int>(labels->shape(1));
    target.n_channels = first_class.back();
    return target;
  }
};

using OutSums = std::optional<OutMatrix<double>>;
using OutCounts = std::optional<OutVector<std::int32_t>>;

grow::OutOfBag checked_out_of_bag(const OutSums& sums, const OutCounts& counts,
                                  const Bootstrap* bootstrap, std::int64_t n_rows, int n_outputs) {
  require(!bootstrap || bootstrap->n_rows() == n_rows,
          "bootstrap must have as many rows as the table");
  require(sums.has_value() == counts.has_value() && (!sums || bootstrap),
          "oob_sums and oob_counts must be passed together, with bootstrap");
  if (!sums) return {};
  require(static_cast<std::int64_t>(sums->shape(0)) == n_rows &&
              static_cast<int>(sums->shape(1)) == n_outputs &&
              static_cast<std::int64_t>(counts->shape(0)) == n_rows,
          "oob_sums must have the shape (rows, outputs), oob_counts (rows,)");
  return {sums->data(), counts->data()};
}

// Train base estimators first .. first + n_trees - 1 of a forest. With `bootstrap`, `copies` is
// ignored. `oob_sums` (rows, outputs), `oob_counts` and `oob_squares` (rows) are accumulated.
nb::dict grow_forest(const BoundRankedTable& table, const ForestParams& params,
                     const Bootstrap* bootstrap, std::optional<Vector<double>> weight,
                     std::optional<Vector<double>> values,
                     std::optional<Vector<std::int32_t>> classes, int n_classes,
                     std::optional<Vector<std::int64_t>> copies, std::uint64_t first,
                     std::int64_t n_trees, std::optional<OutMatrix<double>> oob_sums,
                     std::optional<OutVector<std::int32_t>> oob_counts,
                     const SeveralOutputs* several, std::optional<OutVector<double>> oob_squares) {
  const std::int64_t n_rows = table.ranked->n_rows();
  require(!several || (!values && !classes), "pass either one output or several");
  target::Target target = several
                              ? several->checked(params, n_rows, weight)
                              : checked_target(params, n_rows, weight, values, classes, n_classes);
  grow::ForestTrainerParams members = params.members;
  if (several) members.first_class = several->first_class;
  const std::vector<double>& direction = params.tree.split.direction;
  require(direction.empty() ||
              (!several && static_cast<int>(direction.size()) == table.ranked->n_columns() &&
               target.n_channels == (classes ? 2 : 1)),
          "direction must have one entry per column and requires one value or two classes");
  target.copies = data_or_null(copies, n_rows, "copies must have one entry per row");
  if (target.copies) checked_mass(target.copies, n_rows, most_copies);
  require(n_trees >= 1 && n_trees <= 1'000'000, "n_trees must be in [1, 1000000]");
  grow::OutOfBag out_of_bag =
      checked_out_of_bag(oob_sums, oob_counts, bootstrap, n_rows, target.n_channels);
  if (oob_squares) {
    require(out_of_bag.sums && static_cast<std::int64_t>(oob_squares->shape(0)) == n_rows,
            "oob_squares must have one entry per row and requires oob_sums");
    out_of_bag.squares = oob_squares->data();
  }
  grow::PackedForest forest;
  run([&] {
    grow::ForestTrainer trainer(table.ranked, bootstrap ? bootstrap->drawer : nullptr, members,
                                params.criterion, params.tree);
    forest = trainer.grow(target, first, n_trees, out_of_bag);
  });
  return arrays_of_all(std::move(forest));
}

// ---- rotation forests ----

// A table prepared for rotations, once for all base estimators.
class RotationTable {
 public:
  template <class T>
  RotationTable(AnyTable<T> table, Vector<std::int64_t> index,
                std::optional<Vector<std::int64_t>> mass, Vector<std::int64_t> n_levels,
                const std::string& scale, std::optional<ColumnsOfRotations> known, int n_threads) {
    using rotation::RotationScale;
    const auto view = table_of(table);
    const auto n_rows = checked_index(index, view.n_rows, view.n_columns);
    require(static_cast<std::int64_t>(n_levels.shape(0)) == view.n_columns,
            "n_levels must have one entry per column");
    for (std::size_t c = 0; c < n_levels.shape(0); ++c)
      require(n_levels.data()[c] >= 0 && n_levels.data()[c] <= 65535,
              "a column must have at most 65535 levels");
    require(scale == "none" || scale == "range" || scale == "deviation",
            "scale must be 'none', 'range' or 'deviation'");
    const auto by = scale == "none"    ? rotation::RotationScale::none
                    : scale == "range" ? rotation::RotationScale::range
                                       : rotation::RotationScale::deviation;
    const auto* const counts = data_or_null(mass, n_rows, "mass must have one entry per row");
    if (counts) checked_mass(counts, n_rows, std::int64_t{1} << 61);
    std::optional<rotation::RotationColumns> columns;
    if (known) columns = checked_columns(view.n_columns, *known);
    require(!columns || columns->n_columns() > 0, "there must be at least one column");
    const int threads = checked_threads(n_threads);
    run([&] {
      ready = std::make_shared<const rotation::RotationTable>(
          view, index.data(), n_rows, counts, n_levels.data(), by, columns ? &*columns : nullptr,
          threads);
    });
  }

  nb::dict columns() const {
    const rotation::RotationColumns& all = ready->columns();
    nb::dict result;
    result["rotated"] = give(std::vector<std::int32_t>(all.rotated));
    result["kept"] = give(std::vector<std::int32_t>(all.kept));
    result["flagged"] = give(std::vector<std::int32_t>(all.flagged));
    result["centre"] = give(std::vector<double>(all.centre));
    result["scale"] = give(std::vector<double>(all.scale));
    return result;
  }

  std::shared_ptr<const rotation::RotationTable> ready;
};

// Train base estimators first .. first + n_trees - 1 of a rotation forest. `mass` is the weight of
// each row for the rotations, including rows drawn by `bootstrap`. Returns the trees, each with its
// `order` and `loading`.
std::vector<nb::dict> grow_rotation_forest(
    const RotationTable& table, const ForestParams& params, const Bootstrap* bootstrap,
    Vector<std::int64_t> first_of_block, double sample_fraction, bool replace,
    std::optional<Vector<double>> weight, std::optional<Vector<double>> values,
    std::optional<Vector<std::int32_t>> classes, int n_classes,
    std::optional<Vector<std::int64_t>> mass, std::uint64_t first, std::int64_t n_trees,
    OutSums oob_sums, OutCounts oob_counts) {
  const std::int64_t n_rows = table.ready->n_rows();
  const target::Target target = checked_target(params, n_rows, weight, values, classes, n_classes);
  const auto* const masses = data_or_null(mass, n_rows, "mass must have one entry per row");
  const std::int64_t most = std::int64_t{1} << 61;
  if (masses) checked_mass(masses, n_rows, most);
  for (std::int64_t row = 0; masses && bootstrap && row < n_rows; ++row)
    require(masses[row] <= most / bootstrap->drawer->n_draws(), "mass times draws out of range");
  require(n_trees >= 1 && n_trees <= 1'000'000, "n_trees must be in [1, 1000000]");
  require(sample_fraction > 0.0 && sample_fraction <= 1.0, "sample_fraction must be in (0, 1]");
  require(params.tree.split.direction.empty(),
          "rotation forests do not support monotonic constraints");
  rotation::RotationParams rotation{params.tree.columns.seed, sample_fraction, replace, {}};
  rotation.first_of_block = checked_blocks(first_of_block, table.ready->columns().n_rotated());
  const grow::OutOfBag out_of_bag =
      checked_out_of_bag(oob_sums, oob_counts, bootstrap, n_rows, target.n_channels);
  std::vector<rotation::RotatedTree> trees;
  run([&] {
    rotation::RotationTrainer trainer(table.ready, bootstrap ? bootstrap->drawer : nullptr,
                                      rotation, params.members, params.criterion, params.tree,
                                      masses);
    trees = trainer.grow(target, first, n_trees, out_of_bag);
  });
  std::vector<nb::dict> results;
  for (rotation::RotatedTree& tree : trees) {
    results.push_back(arrays_of(std::move(tree.tree)));
    results.back()["order"] = give(std::move(tree.rotation.order));
    results.back()["loading"] = give(std::move(tree.rotation.loading));
  }
  return results;
}

}  // namespace

void bind_forests(nb::module_& m) {
  using Mass = std::optional<Vector<std::int64_t>>;
  nb::class_<Bootstrap>(m, "Bootstrap")
      .def(nb::init<Mass, std::int64_t, std::int64_t, std::uint64_t, const Bootstrap::Groups&>(),
           "mass"_a.none(), "n_units"_a, "n_draws"_a, "seed"_a, "group_of"_a.none() = nb::none())
      .def(nb::init<Matrix<std::uint64_t>, std::int64_t, std::uint64_t, const Bootstrap::Groups&>(),
           "keys"_a, "n_draws"_a, "seed"_a, "group_of"_a.none() = nb::none())
      .def("draw", &Bootstrap::draw, "member"_a);
  nb::class_<ForestParams>(m, "ForestParams")
      .def(nb::init<std::string, std::uint64_t, int, bool, bool, double, double, std::int64_t,
                    std::int64_t, std::int64_t, std::int64_t, bool, bool, int>(),
           nb::kw_only(), "criterion"_a, "seed"_a, "max_features"_a, "columns_of_tree"_a,
           "random_cuts"_a, "min_decrease"_a, "min_weight_share"_a, "max_leaf_nodes"_a,
           "max_depth"_a, "min_samples_split"_a, "min_samples_leaf"_a, "balances_bags"_a,
           "hard_votes"_a, "n_threads"_a)
      .def("keep_monotone", &ForestParams::keep_monotone, "direction"_a);
  nb::class_<SeveralOutputs>(m, "SeveralOutputs")
      .def(nb::init<std::vector<int>, std::optional<Matrix<double>>,
                    std::optional<Matrix<std::int32_t>>>(),
           nb::kw_only(), "first_class"_a, "values"_a.none(), "labels"_a.none());
  m.def("grow_forest", &grow_forest, nb::kw_only(), "table"_a, "params"_a, "bootstrap"_a.none(),
        "weight"_a.none(), "values"_a.none(), "classes"_a.none(), "n_classes"_a, "copies"_a.none(),
        "first"_a, "n_trees"_a, "oob_sums"_a.noconvert().none(), "oob_counts"_a.noconvert().none(),
        "several"_a.none() = nb::none(), "oob_squares"_a.noconvert().none() = nb::none());
  nb::class_<RotationTable>(m, "RotationTable")
      .def(nb::init<AnyTable<float>, Vector<std::int64_t>, Mass, Vector<std::int64_t>,
                    const std::string&, std::optional<ColumnsOfRotations>, int>(),
           "table"_a.noconvert(), "index"_a, "mass"_a.none(), "n_levels"_a, "scale"_a,
           "known"_a.none(), "n_threads"_a)
      .def(nb::init<AnyTable<double>, Vector<std::int64_t>, Mass, Vector<std::int64_t>,
                    const std::string&, std::optional<ColumnsOfRotations>, int>(),
           "table"_a.noconvert(), "index"_a, "mass"_a.none(), "n_levels"_a, "scale"_a,
           "known"_a.none(), "n_threads"_a)
      .def("columns", &RotationTable::columns);
  m.def("grow_rotation_forest", &grow_rotation_forest, nb::kw_only(), "table"_a, "params"_a,
        "bootstrap"_a.none(), "first_of_block"_a, "sample_fraction"_a, "replace"_a,
        "weight"_a.none(), "values"_a.none(), "classes"_a.none(), "n_classes"_a, "mass"_a.none(),
        "first"_a, "n_trees"_a, "oob_sums"_a.noconvert().none(), "oob_counts"_a.noconvert().none());
}

}  // namespace weald::bindings
