// Decision stumps for AdaBoost, and sums and medians of weighted numbers.
#include "stumps/stumps.hpp"

#include <cmath>

#include "bindings/border.hpp"
#include "stumps/weighting.hpp"

namespace weald::bindings {
namespace {

constexpr double most_mass = 0x1p53;

// Keeps the table and its sorted columns from round to round.
class Stumps {
 public:
  template <class T>
  static Stumps* of(AnyTable<T> table, Vector<std::int32_t> classes, int n_classes, int max_bins,
                    int n_threads, std::optional<Vector<std::int32_t>> n_levels) {
    const auto view = table_of(table);
    require(view.n_rows >= 1 && view.n_columns >= 1, "a table must have rows and columns");
    require(view.n_columns <= std::numeric_limits<int>::max(), "a table has too many columns");
    require(static_cast<std::int64_t>(classes.shape(0)) == view.n_rows,
            "classes must have one entry per row");
    for (std::int64_t row = 0; row < view.n_rows; ++row)
      require(classes.data()[row] >= 0 && classes.data()[row] < n_classes,
              "classes must be in [0, n_classes)");
    require(max_bins >= 0 && max_bins <= 65535, "max_bins must be in [0, 65535]");
    if (n_levels) check_levels(view, *n_levels);
    auto stumps = std::make_unique<Stumps>();
    stumps->table_ = nb::cast(table);
    run([&] {
      stumps->search_ = std::make_unique<stumps::StumpSearch>(
          view, classes.data(), n_classes, max_bins, checked_threads(n_threads),
          n_levels ? n_levels->data() : nullptr);
    });
    stumps->n_rows_ = view.n_rows;
    return stumps.release();
  }

  nb::tuple find(Vector<double> mass, const std::string& criterion,
                 OutVector<std::uint8_t> goes_right, double row_weight) {
    require(row_weight > 0.0 && row_weight < most_mass, "row_weight must be positive");
    require(stumps::StumpSearch::knows(criterion), "unknown criterion");
    require(static_cast<std::int64_t>(mass.shape(0)) == n_rows_ &&
                static_cast<std::int64_t>(goes_right.shape(0)) == n_rows_,
            "mass and goes_right must have one entry per row");
    double total = 0.0;
    bool is_whole = true;
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      const double m = mass.data()[row];
      is_whole &= m >= 0.0 && m < most_mass && m == std::floor(m);
      total += m;
    }
    require(is_whole && total > 0.0 && total < most_mass,
            "mass must be integers with a sum in [1, 2^53)");
    stumps::Stump stump;
    run([&] { stump = search_->find(mass.data(), row_weight, criterion, goes_right.data()); });
    return nb::make_tuple(stump.column, stump.threshold, stump.missing_left, stump.gain,
                          give(std::move(stump.left)), give(std::move(stump.right)),
                          give(std::move(stump.left_set)));
  }

  // Mark the rows whose class differs from the prediction of their side.
  void mark_wrong(Vector<std::uint8_t> goes_right, int left, int right, OutVector<bool> wrong) {
    require(static_cast<std::int64_t>(goes_right.shape(0)) == n_rows_ &&
                static_cast<std::int64_t>(wrong.shape(0)) == n_rows_,
            "goes_right and wrong must have one entry per row");
    const std::int32_t* const classes = search_->classes();
    for (std::int64_t row = 0; row < n_rows_; ++row)
      wrong.data()[row] = classes[row] != (goes_right.data()[row] ? right : left);
  }

 private:
  nb::object table_;  // keeps the array read by the search alive
  std::unique_ptr<stumps::StumpSearch> search_;
  std::int64_t n_rows_ = 0;
};

double mass_of(Vector<double> mass, Vector<bool> marked) {
  require(mass.shape(0) == marked.shape(0), "marked must have one entry per row");
  return stumps::mass_of(mass.data(), reinterpret_cast<const std::uint8_t*>(marked.data()),
                         static_cast<std::int64_t>(mass.shape(0)));
}

void reweight(OutVector<double> each, OutVector<double> mass, Vector<bool> wrong,
              std::optional<Vector<std::int64_t>> copies, double if_right, double if_wrong,
              double least, double steps) {
  const auto n = static_cast<std::int64_t>(each.shape(0));
  require(mass.shape(0) == each.shape(0) && wrong.shape(0) == each.shape(0),
          "mass and wrong must have one entry per row");
  const auto* times = data_or_null(copies, n, "copies must have one entry per row");
  stumps::reweight({if_right, if_wrong, least, steps},
                   reinterpret_cast<const std::uint8_t*>(wrong.data()), times, n, each.data(),
                   mass.data());
}

auto weighted_medians(Matrix<double> values, Vector<double> weights, int n_threads) {
  require(values.shape(1) >= 1 && values.shape(1) == weights.shape(0),
          "weights must have one entry per column of values");
  std::vector<double> medians(values.shape(0));
  run([&] {
    stumps::weighted_medians(
        values.data(), weights.data(), static_cast<std::int64_t>(values.shape(0)),
        static_cast<std::int64_t>(values.shape(1)), medians.data(), checked_threads(n_threads));
  });
  return give(std::move(medians));
}

}  // namespace

void bind_stumps(nb::module_& m) {
  nb::class_<Stumps>(m, "Stumps")
      .def(nb::new_(&Stumps::of<float>), "table"_a.noconvert(), "classes"_a, "n_classes"_a,
           "max_bins"_a, "n_threads"_a, "n_levels"_a.none() = nb::none())
      .def(nb::new_(&Stumps::of<double>), "table"_a.noconvert(), "classes"_a, "n_classes"_a,
           "max_bins"_a, "n_threads"_a, "n_levels"_a.none() = nb::none())
      .def("find", &Stumps::find, "mass"_a, "criterion"_a, "goes_right"_a.noconvert(),
           "row_weight"_a = 1.0)
      .def("mark_wrong", &Stumps::mark_wrong, "goes_right"_a, "left"_a, "right"_a,
           "wrong"_a.noconvert());
  m.def("mass_of", &mass_of, "mass"_a, "marked"_a);
  m.def("reweight", &reweight, "each"_a.noconvert(), "mass"_a.noconvert(), "wrong"_a,
        "copies"_a.none(), "if_right"_a, "if_wrong"_a, "least"_a, "steps"_a);
  m.def("weighted_medians", &weighted_medians, "values"_a, "weights"_a, "n_threads"_a);
}

}  // namespace weald::bindings
