#include "bindings/searches.hpp"

#include <nanobind/stl/map.h>

#include <map>
#include <string>

#include "kernels/kernels.hpp"

namespace weald::bindings {
namespace {

const kernels::Kernels& kernels_named(const std::string& instructions) {
  for (const kernels::Kernels* one : kernels::runnable_kernels())
    if (instructions == one->name) return *one;
  throw nb::value_error("instructions must be one of runnable_instructions()");
}

using Numbers = std::map<std::string, double>;

// `total` is packed, whatever the cells are.
kernels::PackedNode node_of(int cell_size, std::int64_t total, const Numbers& limits) {
  kernels::PackedNode node{};
  node.cell_size = cell_size;
  node.g = kernels::packed_g(total);
  node.h = kernels::packed_h(total);
  node.l2 = limits.at("l2");
  node.min_weight = limits.at("min_weight");
  node.sure_weight = limits.at("sure_weight");
  node.min_count = limits.at("min_count");
  node.l1 = limits.at("l1");
  node.bounds = {limits.at("lower"), limits.at("upper")};
  return node;
}

// The integers in each cell of eight columns: (bins + 1, 8), or twice as many if they are wide.
int checked_cell_size(const Matrix<std::int64_t>& cells,
                      const std::optional<Matrix<std::int64_t>>& counts) {
  require((cells.shape(1) == lanes || cells.shape(1) == 2 * lanes) && cells.shape(0) >= 1 &&
              cells.shape(0) <= max_value_bins + 1,
          "cells must be (at most 256, 8 or 16)");
  require(!counts || (counts->shape(0) == cells.shape(0) && counts->shape(1) == lanes),
          "counts must be (rows of cells, 8)");
  return static_cast<int>(cells.shape(1)) / lanes;
}

// The best splits of eight columns.
auto search_cells(Matrix<std::int64_t> cells, std::optional<Matrix<std::int64_t>> counts,
                  std::int64_t total, const Numbers& limits,
                  std::optional<Vector<double>> direction, const std::string& instructions) {
  const int cell_size = checked_cell_size(cells, counts);
  kernels::PackedNode packed = node_of(cell_size, total, limits);
  packed.direction = data_or_null(direction, lanes, "direction must have eight entries");
  kernels::LaneBests bests = kernels::LaneBests::empty();
  kernels_named(instructions)
      .search_packed(cells.data(), counts ? counts->data() : nullptr,
                     static_cast<int>(cells.shape(0)) - 1, packed, bests);
  return nb::make_tuple(
      give(std::vector<double>(bests.score, bests.score + lanes)),
      give(std::vector<std::int64_t>(bests.place, bests.place + lanes)),
      give(std::vector<double>(bests.undecided, bests.undecided + lanes)),
      give(std::vector<std::int64_t>(bests.undecided_place, bests.undecided_place + lanes)));
}

// Adds the gains of a node's splits of eight columns to gains (2 * (bins + 1), 8); also returns
// where nodes with missing values on the left have values there, empty if not `has_missing`.
auto add_gains(Matrix<std::int64_t> cells, std::optional<Matrix<std::int64_t>> counts,
               std::int64_t total, const Numbers& limits, std::optional<Vector<double>> direction,
               double parent, Matrix<double> gains, bool has_missing,
               const std::string& instructions) {
  const int cell_size = checked_cell_size(cells, counts);
  require(gains.shape(0) == 2 * cells.shape(0) && gains.shape(1) == lanes,
          "gains must have two rows for each of cells");
  kernels::PackedNode packed = node_of(cell_size, total, limits);
  packed.direction = data_or_null(direction, lanes, "direction must have eight entries");
  std::vector<double> sums(gains.data(), gains.data() + gains.size());
  std::vector<std::int64_t> has_values(has_missing ? cells.shape(0) * lanes : 0);
  kernels_named(instructions)
      .add_gains(cells.data(), counts ? counts->data() : nullptr,
                 static_cast<int>(cells.shape(0)) - 1, packed, parent,
                 {sums.data(), has_missing ? has_values.data() : nullptr});
  return nb::make_tuple(give(std::move(sums)), give(std::move(has_values)));
}

// The score of the best two sets of the levels of one column; the first cell is for missing values.
auto search_levels(Matrix<std::int64_t> cells, std::optional<Vector<std::int64_t>> counts,
                   double least, int few, double smooth, double more_l2, std::int64_t total,
                   const Numbers& limits, const std::string& instructions) {
  require(cells.shape(0) >= 1 && cells.shape(0) <= max_value_bins + 1 &&
              (cells.shape(1) == 1 || cells.shape(1) == 2),
          "cells must be (at most 256, 1 or 2)");
  const auto cell_size = static_cast<int>(cells.shape(1));
  const std::int64_t* const copies = data_or_null(counts, static_cast<std::int64_t>(cells.shape(0)),
                                                  "counts must have an entry per cell");
  const kernels::PackedNode packed = node_of(cell_size, total, limits);
  require(!packed.needs_values(), "bounds and directions are not supported for sets");
  const kernels::LevelScores scores =
      kernels_named(instructions)
          .search_levels({cells.data(), copies, cell_size, 1, static_cast<int>(cells.shape(0)) - 1},
                         {least, few, smooth, more_l2}, packed);
  return nb::make_tuple(scores.score, scores.undecided);
}

}  // namespace

void bind_searches(nb::module_& m) {
  m.def("search_cells", &search_cells, "cells"_a, "counts"_a.none(), "total"_a, "limits"_a,
        "direction"_a.none(), "instructions"_a);
  m.def("add_gains", &add_gains, "cells"_a, "counts"_a.none(), "total"_a, "limits"_a,
        "direction"_a.none(), "parent"_a, "gains"_a, "has_missing"_a, "instructions"_a);
  m.def("search_levels", &search_levels, "cells"_a, "counts"_a.none(), "least"_a, "few"_a,
        "smooth"_a, "more_l2"_a, "total"_a, "limits"_a, "instructions"_a);
}

}  // namespace weald::bindings
