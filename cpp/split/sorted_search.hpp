// Best split of a numerical column from a node's rows sorted by value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.hpp"
#include "split/category_search.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::split {

// An entry of a column's sorted order: a row, and whether its value (or bin) differs from the
// previous entry's.
using Place = std::uint32_t;
constexpr Place first_of_value = Place{1} << 31;
constexpr Row row_of(Place place) { return place & ~first_of_value; }
constexpr bool is_first(Place place) { return (place & first_of_value) != 0; }

// Adds one row's integers to a cell of wide sums.
template <int Size>
struct AddSums {
  const std::int64_t* values;
  int cell_size;

  explicit AddSums(const target::Channels& channels)
      : values(channels.values()), cell_size(channels.cell_size()) {}
  void ask(Row row) const {
    __builtin_prefetch(values + std::int64_t{row} * (Size > 0 ? Size : cell_size));
  }
  void operator()(std::int64_t* cell, Row row) const {
    const int size = Size > 0 ? Size : cell_size;
    const std::int64_t* const value = values + std::int64_t{row} * size;
    for (int c = 0; c < size; ++c) cell[c] += value[c];
  }
};
struct AddClasses {
  const std::int64_t* weights;
  const std::int32_t* classes;
  const std::int64_t* copies;
  int count;

  explicit AddClasses(const target::Channels& channels)
      : weights(channels.values()),
        classes(channels.target().classes),
        copies(channels.target().copies),
        count(channels.count_index()) {}
  void ask(Row row) const {
    __builtin_prefetch(weights + row);
    __builtin_prefetch(classes + row);
  }
  void operator()(std::int64_t* cell, Row row) const {
    cell[0] += weights[row];
    cell[1 + classes[row]] += weights[row];
    if (count > 0) cell[count] += copies ? copies[row] : 1;
  }
};

// Prefetch distance in entries: the rows' integers are scattered in memory.
constexpr std::int64_t ahead = 24;

// As SplitSearch, value by value instead of bin by bin. `bin` of the result is the number of the
// node's rows before the split, in sorted order.
template <criteria::Criterion C, int Size, class AddRow>
class SortedSearch {
 public:
  SortedSearch(const target::Channels& channels, const SplitLimits& limits,
               const std::int64_t* totals, const Bounds& bounds)
      : judge_(channels, limits, totals, bounds),
        add_(channels),
        channels_(channels),
        limits_(limits),
        totals_(totals),
        bounds_(bounds) {}

  // The first `n_missing` entries have missing values.
  void try_column(int column, const Place* places, std::int64_t n, std::int64_t n_missing,
                  Split& best) {
    const int size = judge_.cell_size();
    Cell left = empty_cell(), before = left, missing = left, side = left;
    for (std::int64_t i = 0; i < n_missing; ++i) add_(missing.data(), row_of(places[i]));
    const bool has_missing = judge_.any_of(missing.data());
    const auto try_split = [&](std::int64_t place, bool missing_left, const Cell& sums) {
      if (judge_.may_beat(sums.data(), best))
        judge_.try_split(column, static_cast<int>(place), missing_left, sums.data(), has_missing,
                         best, place == n);
    };
    for (std::int64_t i = n_missing; i < n;) {
      do {
        add_.ask(row_of(places[std::min(i + ahead, n - 1)]));
        add_(left.data(), row_of(places[i]));
      } while (++i < n && !is_first(places[i]));
      if (left == before) continue;  // same children as the previous split
      before = left;
      const bool all_values = has_missing && judge_.is_rest(left.data(), missing.data());
      try_split(all_values ? n : i, false, left);
      if (!has_missing || all_values) continue;
      for (int c = 0; c < size; ++c) side[c] = left[c] + missing[c];
      try_split(i, true, side);
    }
  }

  // The same for a categorical column: level_at(place) is the level of an entry. Equal levels are
  // adjacent, so one pass sums each.
  template <class LevelAt>
  void try_levels(int column, const Place* places, std::int64_t n, std::int64_t n_missing,
                  int n_levels, LevelAt&& level_at, Split& best) {
    const int size = judge_.cell_size();
    cells_.assign(static_cast<std::size_t>((std::int64_t{n_levels} + 1) * size), 0);
    for (std::int64_t i = 0; i < n_missing; ++i) add_(cells_.data(), row_of(places[i]));
    for (std::int64_t i = n_missing; i < n;) {
      std::int64_t* const cell = cells_.data() + (level_at(places[i]) + 1) * size;
      do {
        add_.ask(row_of(places[std::min(i + ahead, n - 1)]));
        add_(cell, row_of(places[i]));
      } while (++i < n && !is_first(places[i]));
    }
    if (!levels_) levels_.emplace(channels_, limits_, totals_, bounds_);
    CategoryBest sets = CategorySearch(*levels_, limits_.category)
                            .search(cells_.data(), size, n_levels, nullptr, 0);
    if (sets.score > best.gain)
      best = {sets.score, column, 0, sets.missing_left, 0.0, std::move(sets.left)};
  }

  bool any_admitted() const {
    return judge_.any_admitted() || (levels_ && levels_->any_admitted());
  }

 private:
  using Cell = typename SplitEvaluator<C, Size>::template Cell<std::int64_t>;
  Cell empty_cell() const {
    if constexpr (Size > 0)
      return {};
    else
      return Cell(static_cast<std::size_t>(judge_.cell_size()), 0);
  }

  SplitEvaluator<C, Size> judge_;
  AddRow add_;
  const target::Channels& channels_;
  const SplitLimits& limits_;
  const std::int64_t* totals_;
  Bounds bounds_;
  std::optional<WideLevels<C>> levels_;  // created for the first categorical column
  std::vector<std::int64_t> cells_;      // of its levels
};

}  // namespace weald::split
