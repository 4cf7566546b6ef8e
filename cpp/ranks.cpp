#include "ranks.hpp"

#include <algorithm>

#include "binning.hpp"
#include "parallel.hpp"
#include "sorted_keys.hpp"

namespace weald {
namespace {

// Parts a row of masses into at most `most` groups of about equal mass, greedily from below: the
// last index of each group.
std::vector<std::int64_t> groups_by_mass(const std::vector<std::int64_t>& masses, int most) {
  const auto n = static_cast<std::int64_t>(masses.size());
  std::int64_t left = 0, in_group = 0;
  for (const std::int64_t mass : masses) left += mass;
  std::vector<std::int64_t> last;
  std::int64_t n_groups = most, enough = left / most;
  for (std::int64_t i = 0; i < n; ++i) {
    in_group += masses[i];
    left -= masses[i];
    const bool is_end = i + 1 == n;
    // A heavy value that comes next would make this group far too large.
    const bool is_full =
        in_group >= enough || (!is_end && in_group > 0 && in_group + masses[i + 1] > 2 * enough);
    if (!is_end && (!is_full || n_groups == 1)) continue;
    last.push_back(i);
    in_group = 0;
    if (--n_groups > 0) enough = std::max<std::int64_t>(1, left / n_groups);
  }
  return last;
}

}  // namespace

template <class T>
struct RankedTable::Ranker {
  struct Item {
    Key<T> key;
    Row row;
  };
  std::vector<Item> items, spare;
  std::vector<std::int64_t> first, mass;  // of each distinct value: its first item, and its mass

  void sort(const Table<T>& table, const std::int64_t* index, std::int64_t n_rows,
            std::int64_t column, const std::int64_t* row_mass) {
    items.clear();
    for (std::int64_t row = 0; row < n_rows; ++row)
      if (const T x = table.at(index ? index[row] : row, column); x == x)
        items.push_back({key_of(x), static_cast<Row>(row)});
    radix_sort(items, spare);
    first.clear();
    mass.clear();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i == 0 || items[i].key != items[i - 1].key) {
        first.push_back(static_cast<std::int64_t>(i));
        mass.push_back(0);
      }
      mass.back() += row_mass ? row_mass[items[i].row] : 1;
    }
    first.push_back(static_cast<std::int64_t>(items.size()));
  }

  double value(std::int64_t item) const {
    return static_cast<double>(value_of<T>(items[item].key));
  }

  // Gives every item its rank, and the column what it must know of them.
  Column write(Rank* ranks) const {
    Column column;
    const auto n = static_cast<std::int64_t>(mass.size());
    std::vector<std::int64_t> masses;  // of the ranks
    std::vector<std::int64_t> last;
    const bool share = n > most_ranks;
    if (share) {
      last = groups_by_mass(mass, most_ranks);
      column.high.push_back(0.0);
    }
    for (std::int64_t i = 0, rank = 1; i < n; ++rank) {
      const std::int64_t end = share ? last[rank - 1] + 1 : i + 1;
      column.low.push_back(value(first[i]));
      if (share) column.high.push_back(value(first[end] - 1));
      std::int64_t total = 0;
      for (std::int64_t j = first[i]; j < first[end]; ++j)
        ranks[items[j].row] = static_cast<Rank>(rank);
      for (; i < end; ++i) total += mass[i];
      masses.push_back(total);
    }
    if (static_cast<int>(masses.size()) > max_value_bins) {
      column.bin_of.push_back(0);
      column.last_of.push_back(0);
      for (const std::int64_t end : groups_by_mass(masses, max_value_bins)) {
        column.last_of.push_back(static_cast<Rank>(end + 1));
        column.bin_of.resize(static_cast<std::size_t>(end) + 2,
                             static_cast<Code>(column.last_of.size() - 1));
      }
    }
    return column;
  }
};

template <class T>
RankedTable::RankedTable(const Table<T>& table, const std::int64_t* index, std::int64_t n_rows,
                         const std::int64_t* mass, int n_threads)
    : n_rows_(n_rows),
      columns_(static_cast<std::size_t>(table.n_columns)),
      ranks_(static_cast<std::size_t>(n_rows * table.n_columns), Rank{0}) {
  std::vector<Ranker<T>> rankers(static_cast<std::size_t>(n_threads));
  parallel_for(table.n_columns, n_threads, [&](std::int64_t column, int worker) {
    rankers[worker].sort(table, index, n_rows_, column, mass);
    columns_[column] = rankers[worker].write(ranks_.data() + column * n_rows_);
  });
}
template RankedTable::RankedTable(const Table<float>&, const std::int64_t*, std::int64_t,
                                  const std::int64_t*, int);
template RankedTable::RankedTable(const Table<double>&, const std::int64_t*, std::int64_t,
                                  const std::int64_t*, int);

RankedTable::RankedTable(std::int64_t n_rows, int n_columns,
                         const std::function<void(int, double*)>& make, const std::int64_t* mass)
    : n_rows_(n_rows),
      columns_(static_cast<std::size_t>(n_columns)),
      ranks_(static_cast<std::size_t>(n_rows * n_columns), Rank{0}) {
  Ranker<double> ranker;
  std::vector<double> values(static_cast<std::size_t>(n_rows));
  for (int column = 0; column < n_columns; ++column) {
    make(column, values.data());
    ranker.sort({values.data(), n_rows, 1, 1, n_rows}, nullptr, n_rows, 0, mass);
    columns_[column] = ranker.write(ranks_.data() + column * n_rows);
  }
}

double RankedTable::threshold(int column, int rank, int next) const {
  return cut_between(high(column, rank), low(column, next));
}

}  // namespace weald
