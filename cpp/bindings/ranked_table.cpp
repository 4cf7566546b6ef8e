// Tables as ranks: made from rows, and pickled, so that other machines need not rank them again.
#include "bindings/ranked_table.hpp"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <cstring>

namespace weald::bindings {

std::int64_t checked_mass(const std::int64_t* mass, std::int64_t n_rows, std::int64_t most) {
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    require(mass[row] >= 0 && mass[row] <= most - total, "copies or masses out of range");
    total += mass[row];
  }
  require(total > 0, "at least one row must have positive copies or mass");
  return total;
}

std::int64_t checked_index(const Vector<std::int64_t>& index, std::int64_t n_rows,
                           std::int64_t n_columns) {
  require(n_rows >= 1 && n_columns >= 1, "a table must have rows and columns");
  require(n_columns <= std::numeric_limits<int>::max(), "a table has too many columns");
  const auto n = static_cast<std::int64_t>(index.shape(0));
  require(n >= 1 && n <= n_rows, "index must contain row indices of the table");
  for (std::int64_t i = 0; i < n; ++i)
    require(index.data()[i] >= 0 && index.data()[i] < n_rows,
            "index must contain row indices of the table");
  return n;
}

namespace {

using Column = data::RankedTable::Column;

// Entries first[c] .. first[c + 1] - 1, copied because unpickled arrays need not be aligned.
template <class T>
std::vector<T> entries(const Vector<T>& all, const std::vector<std::int64_t>& first,
                       std::size_t c) {
  std::vector<T> some(static_cast<std::size_t>(first[c + 1] - first[c]));
  if (!some.empty()) std::memcpy(some.data(), all.data() + first[c], some.size() * sizeof(T));
  return some;
}

// Validate the offsets of the columns among n entries.
std::vector<std::int64_t> checked_first(const Vector<std::int64_t>& given, std::size_t n_columns,
                                        std::size_t n) {
  require(given.shape(0) == n_columns + 1, "a ranked table needs the first entry of every column");
  std::vector<std::int64_t> first(n_columns + 1);
  std::memcpy(first.data(), given.data(), first.size() * sizeof(std::int64_t));
  require(first[0] == 0 && first[n_columns] == static_cast<std::int64_t>(n),
          "the entries of the columns of a ranked table must be all entries");
  for (std::size_t c = 0; c < n_columns; ++c)
    require(first[c] <= first[c + 1], "the first entries of columns must not decrease");
  return first;
}

// Validate what the ranks of a column are; `levels`: 0 for numbers.
void check_column(const Column& column, int levels) {
  const std::vector<double>&low = column.low, &high = column.high;
  const std::size_t n_ranks = low.size() - 1;
  require(!low.empty() && n_ranks <= data::most_ranks, "a column must have 0 to 65535 ranks");
  for (std::size_t rank = 1; rank <= n_ranks; ++rank) {
    const double before = rank > 1 ? (high.empty() ? low : high)[rank - 1] : low[rank];
    require(rank > 1 ? before < low[rank] : low[rank] == low[rank],
            "the values of ranks must increase");
    require(high.empty() || low[rank] <= high[rank], "the values of ranks must increase");
    require(levels == 0 ||
                (low[rank] >= 0.0 && low[rank] < levels && low[rank] == std::floor(low[rank])),
            "a categorical column must contain levels in [0, n_levels) or NaN");
  }
  const std::vector<std::uint16_t>& last = column.last_of;
  require(last.empty() == (n_ranks <= weald::max_value_bins),
          "a column has bins if it has over 255 ranks");
  if (last.empty()) return;
  require(last.size() <= weald::max_value_bins + 1 && last.front() == 0 && last.back() == n_ranks,
          "the bins of a column must hold all its ranks");
  for (std::size_t bin = 1; bin < last.size(); ++bin)
    require(last[bin - 1] < last[bin], "the last ranks of bins must increase");
}

std::vector<Column> checked_columns(const BoundRankedTable::State& state, std::size_t n_columns) {
  const auto& [ranks, floats, doubles, low, high, first_rank, last_of, first_bin, levels] = state;
  require(high.shape(0) == 0 || high.shape(0) == low.shape(0),
          "low and high must have an entry per rank");
  const auto first = checked_first(first_rank, n_columns, low.shape(0));
  const auto bins = checked_first(first_bin, n_columns, last_of.shape(0));
  std::vector<Column> columns(n_columns);
  for (std::size_t c = 0; c < n_columns; ++c) {
    Column& column = columns[c];
    column.low = entries(low, first, c);
    if (high.shape(0) > 0) column.high = entries(high, first, c);
    if (column.high == column.low) column.high.clear();
    column.last_of = entries(last_of, bins, c);
    check_column(column, levels.empty() ? 0 : levels[c]);
    if (column.last_of.empty()) continue;
    column.bin_of.push_back(0);
    for (std::size_t bin = 1; bin < column.last_of.size(); ++bin)
      column.bin_of.resize(std::size_t{column.last_of[bin]} + 1, static_cast<Code>(bin));
  }
  return columns;
}

void check_ranks(const Matrix<std::uint16_t>& ranks, const std::vector<Column>& columns,
                 const std::vector<int>& levels) {
  std::vector<std::size_t> most;
  for (std::size_t c = 0; c < columns.size(); ++c)
    most.push_back(!levels.empty() && levels[c] ? static_cast<std::size_t>(levels[c])
                                                : columns[c].low.size() - 1);
  const auto* const bytes = reinterpret_cast<const char*>(ranks.data());
  for (std::size_t row = 0, i = 0; row < ranks.shape(0); ++row)
    for (std::size_t c = 0; c < columns.size(); ++c, ++i) {
      std::uint16_t rank;
      std::memcpy(&rank, bytes + i * sizeof rank, sizeof rank);
      require(rank <= most[c], "a rank is beyond those of its column");
    }
}

template <class T>
std::shared_ptr<const data::RankedTable> with_values(const Matrix<T>& values,
                                                     const std::vector<int>& levels) {
  RawVector<T> copy(values.size());
  std::memcpy(copy.data(), values.data(), values.size() * sizeof(T));
  const auto n_columns = static_cast<std::int64_t>(values.shape(1));
  const data::Table<T> table{copy.data(), static_cast<std::int64_t>(values.shape(0)), n_columns,
                             n_columns, 1};
  const auto made =
      std::make_shared<data::RankedTable>(table, nullptr, table.n_rows, nullptr, 1, true);
  if (!levels.empty()) made->set_levels(levels);
  return made;
}

// The columns of all rows, without the padding between rows.
template <class T>
auto rows_of(const data::RankedTable& table, const T* values) {
  const auto n_rows = static_cast<std::size_t>(table.n_rows());
  const auto n_columns = static_cast<std::size_t>(table.n_columns());
  RawVector<T> all(n_rows * n_columns);
  for (std::size_t row = 0; row < n_rows; ++row)
    std::memcpy(all.data() + row * n_columns, values + row * table.stride(), n_columns * sizeof(T));
  return give(std::move(all), {n_rows, n_columns});
}

}  // namespace

BoundRankedTable::BoundRankedTable(const State& state) {
  const auto& [ranks, floats, doubles, low, high, first_rank, last_of, first_bin, levels] = state;
  require(ranks.has_value() + floats.has_value() + doubles.has_value() == 1,
          "a ranked table holds either ranks or values");
  const std::size_t n_rows = ranks    ? ranks->shape(0)
                             : floats ? floats->shape(0)
                                      : doubles->shape(0);
  const std::size_t n_columns = ranks    ? ranks->shape(1)
                                : floats ? floats->shape(1)
                                         : doubles->shape(1);
  require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max() && n_columns >= 1 &&
              n_columns <= std::numeric_limits<int>::max(),
          "a ranked table must have rows and columns");
  require(levels.empty() || levels.size() == n_columns, "levels must have one entry per column");
  for (const int n : levels)
    require(n >= 0 && n <= data::most_ranks, "a column must have at most 65535 levels");
  std::vector<Column> columns;
  if (ranks) {
    columns = checked_columns(state, n_columns);
    check_ranks(*ranks, columns, levels);
  }
  run([&] {
    if (ranks)
      ranked = std::make_shared<const data::RankedTable>(static_cast<std::int64_t>(n_rows),
                                                         std::move(columns), ranks->data(), levels);
    else
      ranked = floats ? with_values(*floats, levels) : with_values(*doubles, levels);
  });
}

nb::tuple BoundRankedTable::state() const {
  std::vector<double> low, high;
  std::vector<std::int64_t> first_rank{0}, first_bin{0};
  std::vector<std::uint16_t> last_of;
  bool any_high = false;
  for (int c = 0; !ranked->keeps_values() && c < ranked->n_columns(); ++c) {
    const Column& column = ranked->column(c);
    const std::vector<double>& highest = column.high.empty() ? column.low : column.high;
    low.insert(low.end(), column.low.begin(), column.low.end());
    high.insert(high.end(), highest.begin(), highest.end());
    any_high |= !column.high.empty();
    last_of.insert(last_of.end(), column.last_of.begin(), column.last_of.end());
    first_rank.push_back(static_cast<std::int64_t>(low.size()));
    first_bin.push_back(static_cast<std::int64_t>(last_of.size()));
  }
  if (!any_high) high = {};
  nb::object ranks = nb::none(), floats = nb::none(), doubles = nb::none();
  if (!ranked->keeps_values())
    ranks = nb::cast(rows_of(*ranked, ranked->ranks()));
  else if (ranked->holds_floats())
    floats = nb::cast(rows_of(*ranked, ranked->floats()));
  else
    doubles = nb::cast(rows_of(*ranked, ranked->doubles()));
  return nb::make_tuple(ranks, floats, doubles, give(std::move(low)), give(std::move(high)),
                        give(std::move(first_rank)), give(std::move(last_of)),
                        give(std::move(first_bin)), ranked->levels());
}

void bind_ranked_table(nb::module_& m) {
  using Mass = std::optional<Vector<std::int64_t>>;
  using Levels = std::vector<int>;  // of each column, 0: numerical; empty: all numerical
  nb::class_<BoundRankedTable>(m, "RankedTable")
      .def(nb::init<AnyTable<float>, Vector<std::int64_t>, Mass, int, bool, const Levels&>(),
           "table"_a.noconvert(), "index"_a, "mass"_a.none(), "n_threads"_a,
           "keeps_values"_a = false, "n_levels"_a = Levels{})
      .def(nb::init<AnyTable<double>, Vector<std::int64_t>, Mass, int, bool, const Levels&>(),
           "table"_a.noconvert(), "index"_a, "mass"_a.none(), "n_threads"_a,
           "keeps_values"_a = false, "n_levels"_a = Levels{})
      .def("n_ranks", &BoundRankedTable::n_ranks)
      .def("__getstate__", &BoundRankedTable::state)
      .def("__setstate__", [](BoundRankedTable& table, const BoundRankedTable::State& state) {
        new (&table) BoundRankedTable(state);
      });
}

}  // namespace weald::bindings
