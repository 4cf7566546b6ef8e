// A table as ranks, for Python.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/border.hpp"
#include "data/ranks.hpp"

namespace weald::bindings {

// Validate copies or masses of rows; returns their sum.
std::int64_t checked_mass(const std::int64_t* mass, std::int64_t n_rows, std::int64_t most);

// Validate row indices; returns their number.
std::int64_t checked_index(const Vector<std::int64_t>& index, std::int64_t n_rows,
                           std::int64_t n_columns);

// A table as ranks, built once for all forests on it.
class BoundRankedTable {
 public:
  // Ranks, or the values themselves as floats or doubles, row by row; then of all columns low, high
  // (empty: as low) and first rank, last ranks of bins and first bin; the levels of each column.
  using State = std::tuple<std::optional<Matrix<std::uint16_t>>, std::optional<Matrix<float>>,
                           std::optional<Matrix<double>>, Vector<double>, Vector<double>,
                           Vector<std::int64_t>, Vector<std::uint16_t>, Vector<std::int64_t>,
                           std::vector<int>>;

  template <class T>
  BoundRankedTable(AnyTable<T> table, Vector<std::int64_t> index,
                   std::optional<Vector<std::int64_t>> mass, int n_threads, bool keeps_values,
                   const std::vector<int>& n_levels) {
    const auto view = table_of(table);
    const auto n_rows = checked_index(index, view.n_rows, view.n_columns);
    const auto* const counts = data_or_null(mass, n_rows, "mass must have one entry per row");
    if (counts) checked_mass(counts, n_rows, std::int64_t{1} << 61);
    const int threads = checked_threads(n_threads);
    run([&] {
      const auto made = std::make_shared<data::RankedTable>(view, index.data(), n_rows, counts,
                                                            threads, keeps_values);
      if (!n_levels.empty()) made->set_levels(n_levels);
      ranked = made;
    });
  }
  explicit BoundRankedTable(const State& state);

  nb::tuple state() const;

  std::vector<int> n_ranks() const {
    std::vector<int> all;
    for (int c = 0; c < ranked->n_columns(); ++c) all.push_back(ranked->n_ranks(c));
    return all;
  }

  std::shared_ptr<const data::RankedTable> ranked;
};

}  // namespace weald::bindings
