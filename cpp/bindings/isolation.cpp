// Training of isolation forests.
#include <algorithm>

#include "bindings/border.hpp"
#include "bindings/packed_forest.hpp"
#include "grow/isolation_grower.hpp"

namespace weald::bindings {
namespace {

constexpr std::int64_t most_mass = std::int64_t{1} << 61;

// The rows of each tree, drawn by their place in the order of content.
class RowDraws {
 public:
  RowDraws(std::int64_t n_rows, std::optional<Vector<std::int64_t>> mass, std::int64_t n_draws,
           bool replace, std::uint64_t seed) {
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_draws >= 1 && n_draws < std::numeric_limits<weald::Row>::max() &&
                (replace || n_draws <= n_rows),
            "n_draws must be in [1, number of rows], or below 2^32 with replacement");
    const auto* const masses = data_or_null(mass, n_rows, "mass must have one entry per row");
    std::int64_t total = 0;
    for (std::int64_t row = 0; masses && row < n_rows; ++row) {
      require(masses[row] >= 1 && masses[row] <= most_mass - total, "masses out of range");
      total += masses[row];
    }
    run([&] { draws = std::make_unique<data::RowDraws>(n_rows, masses, n_draws, replace, seed); });
  }

  // The places of a tree's rows, and how often each was drawn.
  nb::tuple draw(std::uint64_t member) const {
    std::vector<data::DrawnRow> drawn;
    run([&] { drawn = draws->draw(member); });
    std::vector<std::int64_t> places, copies;
    for (const data::DrawnRow& one : drawn) {
      places.push_back(one.place);
      copies.push_back(one.copies);
    }
    return nb::make_tuple(give(std::move(places)), give(std::move(copies)));
  }

  std::unique_ptr<const data::RowDraws> draws;
};

// Trees first .. first + n_trees - 1. index[place] is the row at a place in the order of content;
// n_levels is empty if all columns are numerical.
template <class T>
nb::dict grow_isolation_forest(AnyTable<T> table, Vector<std::int64_t> index, const RowDraws& draws,
                               Vector<std::int32_t> n_levels, int max_features, int max_depth,
                               std::uint64_t seed, std::uint64_t first, std::int64_t n_trees,
                               int n_threads) {
  const auto view = table_of(table);
  require(view.n_rows >= 1 && view.n_columns >= 1, "a table must have rows and columns");
  require(view.n_columns <= std::numeric_limits<int>::max(), "a table has too many columns");
  require(static_cast<std::int64_t>(index.shape(0)) == draws.draws->n_rows(),
          "index must have one entry per row that is drawn from");
  require(std::all_of(index.data(), index.data() + index.shape(0),
                      [&](std::int64_t row) { return row >= 0 && row < view.n_rows; }),
          "index must contain row indices of the table");
  require(max_features >= 1 && max_features <= view.n_columns,
          "max_features must be in [1, number of columns]");
  // Nodes are grown by recursion.
  require(max_depth >= 0 && max_depth <= 64, "max_depth must be in [0, 64]");
  require(n_trees >= 1 && n_trees <= 1'000'000, "n_trees must be in [1, 1000000]");
  grow::IsolationParams params{max_features, max_depth, {}, seed};
  if (n_levels.shape(0) > 0) {
    check_levels(view, n_levels);
    params.n_levels.assign(n_levels.data(), n_levels.data() + n_levels.shape(0));
  }
  grow::PackedForest forest;
  const int threads = checked_threads(n_threads);
  run([&] {
    forest = grow::grow_isolation_trees(view, index.data(), *draws.draws, params, first, n_trees,
                                        threads);
  });
  return arrays_of_all(std::move(forest));
}

}  // namespace

void bind_isolation(nb::module_& m) {
  nb::class_<RowDraws>(m, "RowDraws")
      .def(nb::init<std::int64_t, std::optional<Vector<std::int64_t>>, std::int64_t, bool,
                    std::uint64_t>(),
           "n_rows"_a, "mass"_a.none(), "n_draws"_a, "replace"_a, "seed"_a)
      .def("draw", &RowDraws::draw, "member"_a);
  m.def("grow_isolation_forest", &grow_isolation_forest<float>, nb::kw_only(),
        "table"_a.noconvert(), "index"_a, "draws"_a, "n_levels"_a, "max_features"_a, "max_depth"_a,
        "seed"_a, "first"_a, "n_trees"_a, "n_threads"_a);
  m.def("grow_isolation_forest", &grow_isolation_forest<double>, nb::kw_only(),
        "table"_a.noconvert(), "index"_a, "draws"_a, "n_levels"_a, "max_features"_a, "max_depth"_a,
        "seed"_a, "first"_a, "n_trees"_a, "n_threads"_a);
  m.def("mean_path_length", &grow::mean_path_length, "n"_a);
}

}  // namespace weald::bindings
