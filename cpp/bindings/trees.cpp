// Growing of trees.
#include <cstring>
#include <variant>

#include "bindings/border.hpp"
#include "bindings/criterion_checks.hpp"
#include "bindings/grown_trees.hpp"
#include "bindings/tree_params.hpp"
#include "criteria/criteria.hpp"
#include "grow/round_grower.hpp"

namespace weald::bindings {

std::vector<std::uint8_t> check_codes(const weald::Codes& codes, int n_threads) {
  std::vector<weald::Code> most(static_cast<std::size_t>(codes.n_groups()) * weald::lanes, 0);
  std::vector<weald::Code> least(most.size(), weald::max_value_bins);
  run([&] {
    weald::parallel_for(codes.n_groups(), n_threads, [&](std::int64_t task, int) {
      const int g = static_cast<int>(task);
      weald::Code* const top = most.data() + g * weald::lanes;
      weald::Code* const low = least.data() + g * weald::lanes;
      const weald::Code* const group = codes.group(g);
      const std::int64_t stride = codes.stride(g);
      const int n_lanes = codes.lanes_of(g);
      typedef weald::Code Eight __attribute__((vector_size(weald::lanes)));
      Eight most_of_lane = {}, least_of_lane = ~most_of_lane;
      for (std::int64_t row = 0; row < codes.n_rows; ++row) {
        Eight here;
        std::memcpy(&here, group + row * stride, sizeof here);
        most_of_lane = here > most_of_lane ? here : most_of_lane;
        least_of_lane = here < least_of_lane ? here : least_of_lane;
      }
      for (int lane = 0; lane < n_lanes; ++lane) {
        top[lane] = most_of_lane[lane];
        low[lane] = least_of_lane[lane];
      }
    });
  });
  for (int column = 0; column < codes.n_columns; ++column) {
    require(codes.n_bins[column] >= 1 && codes.n_bins[column] <= weald::max_value_bins,
            "a column must have between 1 and 255 bins");
    require(most[column] <= codes.n_bins[column], "codes must not exceed the bins of their column");
  }
  std::vector<std::uint8_t> saw_missing(static_cast<std::size_t>(codes.n_columns));
  for (int column = 0; column < codes.n_columns; ++column) saw_missing[column] = least[column] == 0;
  return saw_missing;
}

data::Categories checked_categories(const weald::Codes& codes,
                                    const std::optional<Vector<std::uint8_t>>& is_category,
                                    const std::vector<std::int32_t>& wide_columns,
                                    const std::vector<Vector<std::uint16_t>>& wide_codes) {
  data::Categories categories;
  require(wide_columns.size() == wide_codes.size(),
          "wide_columns and wide_codes must have the same length");
  if (is_category) {
    require(static_cast<std::int64_t>(is_category->shape(0)) == codes.n_columns,
            "is_category must have one entry per column");
    categories.is_category.assign(is_category->data(), is_category->data() + codes.n_columns);
  }
  int last = -1;
  for (std::size_t w = 0; w < wide_codes.size(); ++w) {
    const std::int32_t column = wide_columns[w];
    require(column > last && column < codes.n_columns,
            "wide_columns must be columns in increasing order");
    require(codes.n_bins[column] == 1,
            "a column of wide codes must have one bin of its byte codes");
    require(static_cast<std::int64_t>(wide_codes[w].shape(0)) == codes.n_rows,
            "wide codes must have one entry per row");
    const std::uint16_t* const begin = wide_codes[w].data();
    const std::int32_t most = *std::max_element(begin, begin + codes.n_rows);
    categories.wide.push_back({column, begin, std::max(most, 1), !categories.holds(column)});
    last = column;
  }
  return categories;
}

namespace {

data::ListedCodes checked_lists(const weald::Codes& table, const Vector<weald::Row>& rows,
                                const Vector<weald::Code>& codes,
                                const Vector<std::int64_t>& begins,
                                const Vector<weald::Code>& usual) {
  const auto n_entries = static_cast<std::int64_t>(rows.shape(0));
  const std::int64_t* const begin = begins.data();
  require(static_cast<std::int64_t>(begins.shape(0)) == table.n_columns + 1 && begin[0] == 0 &&
              begin[table.n_columns] == n_entries,
          "begins must contain the start of every column's list and their total size");
  require(static_cast<std::int64_t>(codes.shape(0)) == n_entries &&
              n_entries < std::numeric_limits<std::uint32_t>::max(),
          "rows and codes must have the same length, below 2^32 - 1");
  require(static_cast<std::int64_t>(usual.shape(0)) == table.n_columns,
          "usual must have one code per column");
  for (int column = 0; column < table.n_columns; ++column) {
    const std::int32_t n_bins = table.n_bins[column];
    require(n_bins >= 1 && n_bins <= weald::max_value_bins,
            "a column must have between 1 and 255 bins");
    require(usual.data()[column] <= n_bins, "codes must not exceed the bins of their column");
    require(begin[column] <= begin[column + 1], "begins must not decrease");
    require(begin[column + 1] <= n_entries, "begins must not exceed the number of entries");
    for (std::int64_t i = begin[column]; i < begin[column + 1]; ++i) {
      require(codes.data()[i] <= n_bins, "codes must not exceed the bins of their column");
      require(rows.data()[i] < table.n_rows, "rows must be within the table");
      require(i == begin[column] || rows.data()[i - 1] < rows.data()[i],
              "the rows of a column must increase");
    }
  }
  return {begin, rows.data(), codes.data(), usual.data()};
}

// Keeps the table and the scratch memory of the grower from tree to tree.
class Grower {
  static constexpr std::int64_t most_copies = std::int64_t{1} << 36;  // weald.data.rows.MOST_COPIES

 public:
  Grower(Vector<weald::Code> codes, std::int64_t n_rows, Vector<std::int32_t> n_bins,
         const TreeArguments& params, std::optional<Vector<std::uint8_t>> is_category,
         std::vector<std::int32_t> wide_columns, std::vector<Vector<std::uint16_t>> wide_codes,
         Vector<double> cuts, Vector<std::int64_t> first)
      : params_(params), n_rows_(n_rows), has_codes_(true) {
    const auto n_columns = static_cast<std::int64_t>(n_bins.shape(0));
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_columns >= 1 &&
                static_cast<std::int64_t>(codes.shape(0)) == weald::Codes::bytes(n_rows, n_columns),
            "codes must have one byte per row and column plus seven bytes of padding");
    const weald::Codes view{codes.data(), n_rows, static_cast<int>(n_columns), n_bins.data()};
    saw_missing_ = check_codes(view, params_.params.n_threads);
    data::Categories categories = checked_categories(view, is_category, wide_columns, wide_codes);
    check_bins(view, cuts, first, categories);
    require(params_.params.growth != tree::Growth::symmetric || !categories.has_wide_numbers(),
            "symmetric trees support at most 255 bins per column");
    const auto& direction = params_.params.split.direction;
    for (std::size_t c = 0; c < direction.size() && c < categories.is_category.size(); ++c)
      require(direction[c] == 0.0 || categories.is_category[c] == 0,
              "categorical columns cannot have a direction");
    held_.codes = std::move(codes);
    held_.n_bins = std::move(n_bins);
    held_.wide_codes = std::move(wide_codes);
    held_.cuts = std::move(cuts);
    held_.first = std::move(first);
    run([&] {
      const bool may_pack = params_.criterion == criteria::Newton::name;
      const auto table = std::make_shared<const split::HistogramTable>(
          view, std::move(categories), params_.params.n_threads,
          may_pack ? params_.params.cells : target::Cells::wide);
      make_growers(table);
    });
  }

  // Sparse columns in lists: see data/listed_codes.hpp.
  Grower(Vector<weald::Row> rows, Vector<weald::Code> codes, Vector<std::int64_t> begins,
         Vector<weald::Code> usual, std::int64_t n_rows, Vector<std::int32_t> n_bins,
         const TreeArguments& params, Vector<double> cuts, Vector<std::int64_t> first)
      : params_(params), n_rows_(n_rows), has_codes_(true) {
    const auto n_columns = static_cast<std::int64_t>(n_bins.shape(0));
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_columns >= 1 && n_columns <= std::numeric_limits<int>::max(),
            "a table must have columns");
    require(params_.params.growth != tree::Growth::symmetric,
            "symmetric trees do not support columns in lists");
    const weald::Codes view{nullptr, n_rows, static_cast<int>(n_columns), n_bins.data()};
    const data::ListedCodes listed = checked_lists(view, rows, codes, begins, usual);
    data::Categories none;
    check_bins(view, cuts, first, none);
    held_.rows = std::move(rows);
    held_.codes = std::move(codes);
    held_.begins = std::move(begins);
    held_.usual = std::move(usual);
    held_.n_bins = std::move(n_bins);
    held_.cuts = std::move(cuts);
    held_.first = std::move(first);
    run([&] {
      const auto table =
          std::make_shared<const split::HistogramTable>(view, listed, params_.params.n_threads);
      saw_missing_ = table->has_missing;
      make_growers(table);
    });
  }

  // Without `cuts`: thresholds between all values. `n_levels`: of categorical columns, 0 for
  // numerical ones.
  template <class T>
  Grower(AnyTable<T> table, std::optional<Vector<double>> cuts,
         std::optional<Vector<std::int64_t>> first, const TreeArguments& params,
         std::optional<Vector<std::int32_t>> n_levels)
      : params_(params) {
    const auto view = table_of(table);
    n_rows_ = view.n_rows;
    require(view.n_rows >= 1 && view.n_columns >= 1, "a table must have rows and columns");
    require(view.n_columns <= std::numeric_limits<int>::max(), "a table has too many columns");
    require(cuts.has_value() == first.has_value(), "cuts and first must be passed together");
    engine::CutsView where;
    if (cuts) {
      check_cuts(*cuts, *first, view.n_columns, weald::most_value_bins);
      where = {cuts->data(), first->data()};
    }
    if (n_levels) {
      check_levels(view, *n_levels);
      const auto& direction = params_.params.split.direction;
      for (std::size_t c = 0; c < direction.size() && c < n_levels->shape(0); ++c)
        require(direction[c] == 0.0 || n_levels->data()[c] == 0,
                "categorical columns cannot have a direction");
      where.n_levels = n_levels->data();
      held_.n_levels = std::move(*n_levels);
    }
    held_.cuts = std::move(cuts);
    held_.first = std::move(first);
    held_.table = std::move(table);
    run([&] {
      const auto make = [&] {
        return std::make_unique<grow::Grower>(view, where, params_.criterion, params_.params);
      };
      // One grower only: each would sort the table again and keep its own order.
      round_grower_ = std::make_unique<grow::RoundGrower>(make, view.n_rows,
                                                          static_cast<int>(view.n_columns), 1);
    });
  }

  auto saw_missing() const { return give(std::vector<std::uint8_t>(saw_missing_)); }

  nb::dict grow(std::optional<Vector<double>> weight, std::optional<Matrix<double>> sums,
                bool sums_per_weight, std::optional<Vector<std::int32_t>> classes, int n_classes,
                std::optional<Vector<std::int64_t>> copies, OutVector<std::int32_t> leaf_of_row,
                std::uint64_t member, std::optional<Matrix<std::int32_t>> labels,
                const std::vector<int>& first_class, std::optional<std::int64_t> n_used) {
    target::Target target = rows_in_use(copies, n_used);
    target.member = member;
    target.weight = data_or_null(weight, n_rows_, "weight must have one entry per row");
    target.sums_per_weight = sums_per_weight;
    require(sums.has_value() + classes.has_value() + labels.has_value() == 1,
            "pass exactly one of sums, classes and labels");
    if (labels) {
      target.classes = checked_labels(*labels, n_rows_, first_class);
      target.n_labels = static_cast<int>(labels->shape(1));
      target.n_channels = first_class.back();
    } else if (sums) {
      require(static_cast<std::int64_t>(sums->shape(1)) == n_rows_ && sums->shape(0) >= 1,
              "sums must have the shape (channels, rows)");
      target.sums = sums->data();
      target.n_channels = static_cast<int>(sums->shape(0));
    } else {
      target.classes = data_or_null(classes, n_rows_, "classes must have one entry per row");
      target.n_channels = n_classes;
      for (std::int64_t row = 0; row < n_rows_; ++row)
        require(target.classes[row] >= 0 && target.classes[row] < n_classes,
                "classes must be in [0, n_classes)");
    }
    check_criterion(params_.criterion, sums);
    require(params_.params.split.direction.empty() || target.n_channels == (classes ? 2 : 1),
            "directions require one score or two classes");
    require(static_cast<std::int64_t>(leaf_of_row.shape(0)) == n_rows_,
            "leaf_of_row must have one entry per row");
    return arrays_of(std::move(grown({target}, {leaf_of_row.data()})[0]));
  }

  // Grow one tree for each row of `sums`, with the weights of the same row. `member` selects the
  // random stream of the first one.
  GrownTrees grow_each(std::optional<Matrix<double>> weight, Matrix<double> sums,
                       std::optional<Vector<std::int64_t>> copies,
                       OutMatrix<std::int32_t> leaf_of_row, std::uint64_t member,
                       std::optional<std::int64_t> n_used) {
    const std::size_t n_trees = sums.shape(0);
    const auto fits = [&](const auto& matrix) {
      return matrix.shape(0) == n_trees && static_cast<std::int64_t>(matrix.shape(1)) == n_rows_;
    };
    require(fits(sums) && (!weight || fits(*weight)) && fits(leaf_of_row),
            "sums, weight and leaf_of_row must have the shape (trees, rows)");
    check_criterion(params_.criterion, std::optional(sums));
    std::vector<target::Target> targets(n_trees, rows_in_use(copies, n_used));
    std::vector<std::int32_t*> leaves(n_trees);
    for (std::size_t k = 0; k < n_trees; ++k) {
      const std::int64_t first = static_cast<std::int64_t>(k) * n_rows_;
      targets[k].sums = sums.data() + first;
      targets[k].weight = weight ? weight->data() + first : nullptr;
      targets[k].member = member + k;
      leaves[k] = leaf_of_row.data() + first;
    }
    return GrownTrees(grown(targets, leaves));
  }

  // Grow a tree on the derivatives of a loss of one score, computed on demand.
  template <class T>
  nb::dict grow_on_loss(const std::string& loss, double parameter, Vector<T> y,
                        Vector<double> scores, std::optional<Vector<double>> weight,
                        std::optional<Vector<std::int64_t>> copies,
                        OutVector<std::int32_t> leaf_of_row, std::uint64_t member, double base,
                        double base_slope, std::optional<std::int64_t> n_used) {
    require(static_cast<std::int64_t>(scores.shape(0)) == n_rows_ &&
                static_cast<std::int64_t>(leaf_of_row.shape(0)) == n_rows_,
            "scores and leaf_of_row must have one entry per row");
    require(params_.criterion == criteria::Newton::name,
            "grow_on_loss requires the newton criterion");
    target::Target target = rows_in_use(copies, n_used);
    target.of_loss.emplace(checked_loss(loss, parameter, y, scores, weight, base, base_slope));
    target.member = member;
    return arrays_of(std::move(grown({target}, {leaf_of_row.data()})[0]));
  }

 private:
  void make_growers(const std::shared_ptr<const split::HistogramTable>& table) {
    const auto make = [this, table] {
      return std::make_unique<grow::Grower>(table, params_.criterion, params_.params);
    };
    round_grower_ = std::make_unique<grow::RoundGrower>(make, n_rows_, table->codes.n_columns,
                                                        params_.params.n_threads);
  }

  // The target of the first n_used rows, so far without numbers; the others only get a leaf.
  target::Target rows_in_use(const std::optional<Vector<std::int64_t>>& copies,
                             std::optional<std::int64_t> n_used) const {
    target::Target target;
    target.n_used = n_used.value_or(n_rows_);
    require(target.n_used >= 1 && target.n_used <= n_rows_, "n_used must be in [1, rows]");
    target.copies = data_or_null(copies, n_rows_, "copies must have one entry per row");
    std::int64_t n_copies = 0;
    for (std::int64_t row = 0; copies && row < target.n_used; ++row) {
      require(target.copies[row] >= 0 && target.copies[row] <= most_copies, "copies out of range");
      n_copies += target.copies[row];
    }
    require(n_copies <= most_copies, "the sum of copies is too large");
    return target;
  }

  // Also sets the number of bins of wide codes, and whether they are missing in some row.
  void check_bins(const weald::Codes& codes, const Vector<double>& cuts,
                  const Vector<std::int64_t>& first, data::Categories& categories) {
    const std::int64_t* const begin = first.data();
    require(static_cast<std::int64_t>(first.shape(0)) == codes.n_columns + 1 && begin[0] == 0 &&
                begin[codes.n_columns] == static_cast<std::int64_t>(cuts.shape(0)),
            "first must contain the start of every column's cuts and their total number");
    std::vector<data::WideColumn*> numbers(static_cast<std::size_t>(codes.n_columns), nullptr);
    for (data::WideColumn& wide : categories.wide)
      if (wide.is_number) numbers[wide.column] = &wide;
    for (int column = 0; column < codes.n_columns; ++column) {
      const std::int64_t n_cuts = begin[column + 1] - begin[column];
      data::WideColumn* const wide = numbers[column];
      const std::int64_t least = wide ? wide->n_levels : codes.n_bins[column];
      const std::int64_t most = wide ? weald::most_value_bins : codes.n_bins[column];
      require(least <= n_cuts + 1 && n_cuts + 1 <= most,
              "a column must have one cut less than bins");
      if (!wide) continue;
      wide->n_levels = static_cast<std::int32_t>(n_cuts + 1);
      const std::uint16_t* const end = wide->codes + codes.n_rows;
      saw_missing_[column] = std::find(wide->codes, end, 0) != end;
    }
  }

  std::vector<tree::Tree> grown(const std::vector<target::Target>& targets,
                                const std::vector<std::int32_t*>& leaf_of_row) {
    std::vector<tree::Tree> trees;
    run([&] { trees = round_grower_->grow(targets, leaf_of_row); });
    if (has_codes_)
      for (tree::Tree& tree : trees) find_thresholds(tree, held_.cuts->data(), held_.first->data());
    return trees;
  }

  TreeArguments params_;
  std::int64_t n_rows_ = 0;
  bool has_codes_ = false;
  std::vector<std::uint8_t> saw_missing_;
  struct {
    Vector<weald::Code> codes, usual;
    Vector<weald::Row> rows;
    Vector<std::int64_t> begins;
    Vector<std::int32_t> n_bins, n_levels;
    std::variant<std::monostate, AnyTable<float>, AnyTable<double>> table;
    std::optional<Vector<double>> cuts;
    std::optional<Vector<std::int64_t>> first;
    std::vector<Vector<std::uint16_t>> wide_codes;
  } held_;  // arrays that the grower reads
  std::unique_ptr<grow::RoundGrower> round_grower_;
};

// ---- prediction ----

std::vector<std::string> criterion_names() {
  std::vector<std::string> names;
  criteria::AllCriteria::for_each([&](auto criterion) { names.emplace_back(criterion.name); });
  return names;
}

// The traits of a criterion as a dict; includes the absolute error, which is not computed from
// sums.
nb::dict criterion_facts(const std::string& name) {
  using weald::SumsOf;
  nb::dict facts;
  const auto fill = [&](const auto& one) {
    facts["sums_of"] = one.sums_of == SumsOf::classes   ? "classes"
                       : one.sums_of == SumsOf::numbers ? "numbers"
                                                        : "gradients";
    facts["is_quadratic"] = one.is_quadratic;
    facts["needs_positive_sums"] = one.needs_positive_sums;
    facts["grows_forests"] = one.sums_of != SumsOf::gradients;
  };
  if (name == forest::MedianScan::name)
    fill(forest::MedianScan());
  else
    require(criteria::AllCriteria::with_name(name, fill), "unknown criterion");
  return facts;
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("criteria", &criterion_names);
  m.def("criterion_facts", &criterion_facts, "criterion"_a);
  nb::class_<TreeArguments>(m, "TreeParams")
      .def(nb::init<std::string, const std::string&, const std::string&, std::int64_t, std::int64_t,
                    std::int64_t, std::int64_t, double, double, double, double, double, int>(),
           nb::kw_only(), "criterion"_a, "growth"_a, "cells"_a, "max_leaf_nodes"_a, "max_depth"_a,
           "min_samples_split"_a, "min_samples_leaf"_a, "min_child_weight"_a, "min_gain"_a,
           "prune_gain"_a, "l2"_a, "l1"_a, "n_threads"_a)
      .def("choose_columns", &TreeArguments::choose_columns, nb::kw_only(), "max_features"_a,
           "sampling"_a, "seed"_a, "groups"_a)
      .def("keep_monotone", &TreeArguments::keep_monotone, "direction"_a);
  nb::class_<Grower>(m, "Grower")
      .def(nb::init<Vector<weald::Code>, std::int64_t, Vector<std::int32_t>, const TreeArguments&,
                    std::optional<Vector<std::uint8_t>>, std::vector<std::int32_t>,
                    std::vector<Vector<std::uint16_t>>, Vector<double>, Vector<std::int64_t>>(),
           "codes"_a, "n_rows"_a, "n_bins"_a, "params"_a, "is_category"_a.none(), "wide_columns"_a,
           "wide_codes"_a, "cuts"_a, "first"_a)
      .def(nb::init<Vector<weald::Row>, Vector<weald::Code>, Vector<std::int64_t>,
                    Vector<weald::Code>, std::int64_t, Vector<std::int32_t>, const TreeArguments&,
                    Vector<double>, Vector<std::int64_t>>(),
           "rows"_a.noconvert(), "codes"_a, "begins"_a, "usual"_a, "n_rows"_a, "n_bins"_a,
           "params"_a, "cuts"_a, "first"_a)
      .def(nb::init<AnyTable<float>, std::optional<Vector<double>>,
                    std::optional<Vector<std::int64_t>>, const TreeArguments&,
                    std::optional<Vector<std::int32_t>>>(),
           "table"_a.noconvert(), "cuts"_a.none(), "first"_a.none(), "params"_a,
           "n_levels"_a.none() = nb::none())
      .def(nb::init<AnyTable<double>, std::optional<Vector<double>>,
                    std::optional<Vector<std::int64_t>>, const TreeArguments&,
                    std::optional<Vector<std::int32_t>>>(),
           "table"_a.noconvert(), "cuts"_a.none(), "first"_a.none(), "params"_a,
           "n_levels"_a.none() = nb::none())
      .def("saw_missing", &Grower::saw_missing)
      .def("grow", &Grower::grow, nb::kw_only(), "weight"_a.none(), "sums"_a.none(),
           "sums_per_weight"_a, "classes"_a.none(), "n_classes"_a, "copies"_a.none(),
           "leaf_of_row"_a.noconvert(), "member"_a = 0, "labels"_a.none() = nb::none(),
           "first_class"_a = std::vector<int>(), "n_used"_a.none() = nb::none())
      .def("grow_each", &Grower::grow_each, nb::kw_only(), "weight"_a.none(), "sums"_a,
           "copies"_a.none(), "leaf_of_row"_a.noconvert(), "member"_a = 0,
           "n_used"_a.none() = nb::none())
      .def("grow_on_loss", &Grower::grow_on_loss<std::uint8_t>, nb::kw_only(), "loss"_a,
           "parameter"_a, "y"_a.noconvert(), "scores"_a, "weight"_a.none(), "copies"_a.none(),
           "leaf_of_row"_a.noconvert(), "member"_a = 0, "base"_a = 0.0, "base_slope"_a = 0.0,
           "n_used"_a.none() = nb::none())
      .def("grow_on_loss", &Grower::grow_on_loss<double>, nb::kw_only(), "loss"_a, "parameter"_a,
           "y"_a, "scores"_a, "weight"_a.none(), "copies"_a.none(), "leaf_of_row"_a.noconvert(),
           "member"_a = 0, "base"_a = 0.0, "base_slope"_a = 0.0, "n_used"_a.none() = nb::none());
}

}  // namespace weald::bindings
