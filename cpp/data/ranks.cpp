#include "data/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/parallel.hpp"
#include "base/raw_pages.hpp"
#include "data/binary_columns.hpp"
#include "data/binning.hpp"
#include "data/sorted_keys.hpp"

namespace weald::data {
namespace {

// Columns ranked concurrently: 32 bytes of each row are fetched together.
template <class T>
constexpr std::int64_t column_group = 32 / static_cast<std::int64_t>(sizeof(T));

// Tables of at most this many values fit in cache and are ranked without groups, which would wait
// for the slowest of their few columns.
constexpr std::int64_t near_values = std::int64_t{1} << 15;

// Partition n items of mass mass_of(i) into at most `most` groups of about equal mass, greedily
// from below; returns the last index of each group.
template <class MassOf>
std::vector<std::int64_t> groups_by_mass(std::int64_t n, MassOf&& mass_of, int most) {
  std::int64_t left = 0, in_group = 0;
  for (std::int64_t i = 0; i < n; ++i) left += mass_of(i);
  std::vector<std::int64_t> last;
  std::int64_t n_groups = most, enough = left / most;
  for (std::int64_t i = 0; i < n; ++i) {
    in_group += mass_of(i);
    left -= mass_of(i);
    const bool is_end = i + 1 == n;
    // Close the group if a heavy next value would make it far too large.
    const bool is_full =
        in_group >= enough || (!is_end && in_group > 0 && in_group + mass_of(i + 1) > 2 * enough);
    if (!is_end && (!is_full || n_groups == 1)) continue;
    last.push_back(i);
    in_group = 0;
    if (--n_groups > 0) enough = std::max<std::int64_t>(1, left / n_groups);
  }
  return last;
}

// Whether every value is representable as float, or missing: halves memory and bandwidth. Tables of
// measurements usually fail after a few values.
template <class T>
bool are_floats(const Table<T>& table) {
  if (std::is_same_v<T, float>) return true;
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    for (std::int64_t c = 0; c < table.n_columns; ++c)
      if (const T x = table.at(row, c); x == x && static_cast<T>(static_cast<float>(x)) != x)
        return false;
  return true;
}

}  // namespace

// Per-thread scratch for ranking a column: 20 bytes per row for floats, 28 for doubles, mapped
// directly from the system, since it is most of a fit's memory before the trees are grown.
template <class T>
struct RankedTable::Ranker {
#pragma pack(push, 4)
  struct Item {
    Key<T> key;
    Row row;
  };
#pragma pack(pop)
  RawVector<Item> items, spare;
  RawVector<Row> first;  // index of the first item of each distinct value, then the number of items
  RawVector<std::int64_t>
      mass_up_to;  // cumulative mass before each distinct value; empty: count rows

  void sort(const T* values, std::int64_t n_rows, const std::int64_t* row_mass) {
    items.resize(static_cast<std::size_t>(n_rows));
    std::size_t n = 0;
    for (std::int64_t row = 0; row < n_rows; ++row)
      if (const T x = values[row]; x == x) items[n++] = {key_of(x), static_cast<Row>(row)};
    items.resize(n);
    radix_sort(items, spare);
    first.clear();
    first.reserve(n + 1);
    for (std::size_t i = 0; i < n; ++i)
      if (i == 0 || items[i].key != items[i - 1].key) first.push_back(static_cast<Row>(i));
    first.push_back(static_cast<Row>(n));
    if (row_mass) add_up(row_mass);
  }

  void add_up(const std::int64_t* row_mass) {
    mass_up_to.assign(1, 0);
    mass_up_to.reserve(first.size());
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < n_values(); ++i) {
      for (Row j = first[i]; j < first[i + 1]; ++j) total += row_mass[items[j].row];
      mass_up_to.push_back(total);
    }
  }

  std::int64_t n_values() const { return static_cast<std::int64_t>(first.size()) - 1; }
  // Mass of the distinct values [i, end).
  std::int64_t mass(std::int64_t i, std::int64_t end) const {
    return mass_up_to.empty() ? std::int64_t{first[end]} - first[i]
                              : mass_up_to[end] - mass_up_to[i];
  }
  double value(std::int64_t item) const {
    return static_cast<double>(value_of<T>(items[item].key));
  }

  // Write the rank of every item and return the column's metadata.
  Column write(Rank* ranks) const {
    Column column;
    const std::int64_t n = n_values();
    std::vector<std::int64_t> masses;  // of each rank
    std::vector<std::int64_t> last;
    const bool share = n > most_ranks;
    const auto n_most = static_cast<std::size_t>(std::min<std::int64_t>(n, most_ranks));
    masses.reserve(n_most);
    column.low.reserve(n_most + 1);
    if (share) {
      last = groups_by_mass(n, [&](std::int64_t i) { return mass(i, i + 1); }, most_ranks);
      column.high.push_back(0.0);
    }
    for (std::int64_t i = 0, rank = 1; i < n; ++rank) {
      const std::int64_t end = share ? last[rank - 1] + 1 : i + 1;
      column.low.push_back(value(first[i]));
      if (share) column.high.push_back(value(first[end] - 1));
      for (std::int64_t j = first[i]; j < first[end]; ++j)
        ranks[items[j].row] = static_cast<Rank>(rank);
      masses.push_back(mass(i, end));
      i = end;
    }
    const auto n_ranks = static_cast<std::int64_t>(masses.size());
    if (n_ranks > max_value_bins) {
      column.bin_of.reserve(static_cast<std::size_t>(n_ranks) + 1);
      column.bin_of.push_back(0);
      column.last_of.reserve(max_value_bins + 1);
      column.last_of.push_back(0);
      const auto mass_of = [&](std::int64_t i) { return masses[i]; };
      for (const std::int64_t end : groups_by_mass(n_ranks, mass_of, max_value_bins)) {
        column.last_of.push_back(static_cast<Rank>(end + 1));
        column.bin_of.resize(static_cast<std::size_t>(end) + 2,
                             static_cast<Code>(column.last_of.size() - 1));
      }
    }
    return column;
  }
};

RankedTable::RankedTable(std::int64_t n_rows, std::int64_t n_columns)
    : n_rows_(n_rows),
      stride_(n_columns >= tile ? n_columns : Codes::tile_width(n_columns, 0)),
      columns_(static_cast<std::size_t>(n_columns)) {}

template <class Fetch, class RankColumn>
void RankedTable::rank_columns(std::int64_t group, int n_threads, Fetch&& fetch,
                               RankColumn&& rank_column) {
  constexpr std::int64_t block = 1024;  // rows transposed at a time
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  ranks_.resize(static_cast<std::size_t>(n_rows_ * stride_ + 1));  // kernels read two ranks at once
  codes_.resize(static_cast<std::size_t>(n_rows_ * n_columns));
  has_missing_.assign(columns_.size(), 0);
  RawVector<Rank> turned(static_cast<std::size_t>(std::min(group, n_columns) * n_rows_));
  for (std::int64_t first = 0; first < n_columns; first += group) {
    const std::int64_t width = std::min(group, n_columns - first);
    fetch(first, width);
    parallel_for(width, n_threads, [&](std::int64_t c, int worker) {
      Rank* const ranks = turned.data() + c * n_rows_;
      std::fill_n(ranks, n_rows_, Rank{0});
      Column& column = columns_[first + c] = rank_column(first + c, worker, ranks);
      Code* const codes = codes_.data() + (first + c) * n_rows_;
      const Code* const bin_of = column.bin_of.empty() ? nullptr : column.bin_of.data();
      bool misses = false;
      for (std::int64_t row = 0; row < n_rows_; ++row) {
        codes[row] = bin_of ? bin_of[ranks[row]] : static_cast<Code>(ranks[row]);
        misses |= ranks[row] == 0;
      }
      has_missing_[first + c] = misses;
    });
    parallel_for((n_rows_ + block - 1) / block, n_threads, [&](std::int64_t b, int) {
      const std::int64_t end = std::min(n_rows_, (b + 1) * block);
      for (std::int64_t row = b * block; row < end; ++row) {
        Rank* const to = ranks_.data() + row * stride_;
        for (std::int64_t c = 0; c < width; ++c) to[first + c] = turned[c * n_rows_ + row];
        if (first == 0) std::fill(to + n_columns, to + stride_, Rank{0});
      }
    });
  }
  note_missing();
}

void RankedTable::note_missing() {
  any_missing_ =
      std::any_of(has_missing_.begin(), has_missing_.end(), [](auto has) { return has; });
}

template <class T>
RankedTable::RankedTable(const Table<T>& table, const std::int64_t* index, std::int64_t n_rows,
                         const std::int64_t* mass, int n_threads, bool keeps_values)
    : RankedTable(n_rows, table.n_columns) {
  if (keeps_values) {
    are_floats(table) ? copy_rows(table, index, floats_, n_threads)
                      : copy_rows(table, index, doubles_, n_threads);
    return;
  }
  std::vector<Ranker<T>> rankers(static_cast<std::size_t>(n_threads));
  // Rows are far apart in memory: fetch a few columns of each together.
  const std::int64_t group =
      n_rows_ * table.n_columns <= near_values ? table.n_columns : column_group<T>;
  RawVector<T> fetched(static_cast<std::size_t>(std::min(group, table.n_columns) * n_rows_));
  const auto fetch = [&](std::int64_t first, std::int64_t width) {
    constexpr std::int64_t block = 1024;
    parallel_for((n_rows_ + block - 1) / block, n_threads, [&](std::int64_t b, int) {
      const std::int64_t end = std::min(n_rows_, (b + 1) * block);
      for (std::int64_t row = b * block; row < end; ++row)
        for (std::int64_t c = 0; c < width; ++c)
          fetched[c * n_rows_ + row] = table.at(index ? index[row] : row, first + c);
    });
  };
  rank_columns(group, n_threads, fetch, [&](std::int64_t column, int worker, Rank* ranks) {
    const T* const values = fetched.data() + column % group * n_rows_;
    rankers[worker].sort(values, n_rows_, mass);
    return rankers[worker].write(ranks);
  });
}
template RankedTable::RankedTable(const Table<float>&, const std::int64_t*, std::int64_t,
                                  const std::int64_t*, int, bool);
template RankedTable::RankedTable(const Table<double>&, const std::int64_t*, std::int64_t,
                                  const std::int64_t*, int, bool);

// -0 becomes +0, so that the minimum of equal values has the same bits in any row order.
template <class T, class Kept>
void RankedTable::copy_rows(const Table<T>& table, const std::int64_t* index,
                            RawVector<Kept>& values, int n_threads) {
  constexpr std::int64_t block = 1024;
  const std::int64_t n_columns = table.n_columns;
  values.resize(static_cast<std::size_t>(n_rows_ * stride_));
  std::vector<std::vector<std::uint8_t>> missing(
      static_cast<std::size_t>(n_threads),
      std::vector<std::uint8_t>(static_cast<std::size_t>(n_columns), 0));
  parallel_for((n_rows_ + block - 1) / block, n_threads, [&](std::int64_t b, int worker) {
    const std::int64_t end = std::min(n_rows_, (b + 1) * block);
    std::uint8_t* const misses = missing[worker].data();
    for (std::int64_t row = b * block; row < end; ++row) {
      const T* const from = table.data + (index ? index[row] : row) * table.row_stride;
      Kept* const to = values.data() + row * stride_;
      const auto copy = [&](std::int64_t step) {
        bool any_missing = false;
        for (std::int64_t c = 0; c < n_columns; ++c) {
          const auto x = static_cast<Kept>(from[c * step]);
          to[c] = x + Kept{0};
          any_missing |= x != x;
        }
        return any_missing;
      };
      std::fill(to + n_columns, to + stride_, Kept{0});
      // Fast path: contiguous rows without missing values.
      if (!(table.column_stride == 1 ? copy(1) : copy(table.column_stride))) continue;
      for (std::int64_t c = 0; c < n_columns; ++c) misses[c] |= to[c] != to[c];
    }
  });
  has_missing_.assign(static_cast<std::size_t>(n_columns), 0);
  for (const auto& misses : missing)
    for (std::int64_t c = 0; c < n_columns; ++c) has_missing_[c] |= misses[c];
  note_missing();
}

RankedTable::RankedTable(std::int64_t n_rows, int n_columns,
                         const std::function<void(int, double*)>& make, const std::int64_t* mass)
    : RankedTable(n_rows, n_columns) {
  Ranker<double> ranker;
  std::vector<double> values(static_cast<std::size_t>(n_rows));
  const auto nothing = [](std::int64_t, std::int64_t) {};
  rank_columns(column_group<double>, 1, nothing, [&](std::int64_t column, int, Rank* ranks) {
    make(static_cast<int>(column), values.data());
    ranker.sort(values.data(), n_rows, mass);
    return ranker.write(ranks);
  });
}

RankedTable::RankedTable(std::int64_t n_rows, std::vector<Column> columns, const Rank* ranks,
                         const std::vector<int>& n_levels)
    : RankedTable(n_rows, static_cast<std::int64_t>(columns.size())) {
  columns_ = std::move(columns);
  n_levels_ = n_levels;
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  ranks_.resize(static_cast<std::size_t>(n_rows_ * stride_ + 1));
  codes_.resize(static_cast<std::size_t>(n_rows_ * n_columns));
  has_missing_.assign(columns_.size(), 0);
  for (std::int64_t row = 0; row < n_rows_; ++row) {
    Rank* const to = ranks_.data() + row * stride_;
    std::memcpy(to, ranks + row * n_columns, static_cast<std::size_t>(n_columns) * sizeof(Rank));
    std::fill(to + n_columns, to + stride_, Rank{0});
  }
  for (std::int64_t c = 0; c < n_columns; ++c) {
    const Column& column = columns_[c];
    // The ranks of categories are levels, but bins are of ranks: see set_levels.
    const int levels = n_levels_.empty() ? 0 : n_levels_[c];
    std::vector<Code> bin_of = column.bin_of;
    if (levels > max_value_bins) {
      bin_of.assign(static_cast<std::size_t>(levels) + 1, Code{0});
      for (std::size_t rank = 1; rank < column.low.size(); ++rank)
        bin_of[static_cast<std::size_t>(column.low[rank]) + 1] =
            column.bin_of.empty() ? static_cast<Code>(rank) : column.bin_of[rank];
    } else if (levels > 0) {
      bin_of.clear();
    }
    Code* const codes = codes_.data() + c * n_rows_;
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      const Rank rank = ranks_[row * stride_ + c];
      codes[row] = bin_of.empty() ? static_cast<Code>(rank) : bin_of[rank];
      has_missing_[c] |= static_cast<std::uint8_t>(rank == 0);
    }
  }
  note_missing();
}

void RankedTable::set_levels(const std::vector<int>& n_levels) {
  if (n_levels.size() != columns_.size())
    throw std::invalid_argument("n_levels must have one entry per column");
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::vector<double>& low = columns_[c].low;
    if (n_levels[c] < 0 || n_levels[c] > most_ranks)
      throw std::invalid_argument("a column must have at most 65535 levels");
    bool is_whole = true;  // every level has rows, as is usual, so ranks are levels already
    for (std::size_t rank = 1; n_levels[c] > 0 && rank < low.size(); ++rank) {
      if (!(low[rank] >= 0.0 && low[rank] < n_levels[c]) || low[rank] != std::floor(low[rank]))
        throw std::invalid_argument(
            "a categorical column must contain levels in [0, n_levels) or NaN");
      is_whole = is_whole && low[rank] == static_cast<double>(rank - 1);
    }
    if (n_levels[c] > 0 && keeps_values())
      with_values([&](const auto* values) {
        for (std::int64_t row = 0; row < n_rows_; ++row)
          if (const auto x =
                  static_cast<double>(values[row * stride_ + static_cast<std::int64_t>(c)]);
              x == x && (!(x >= 0.0 && x < n_levels[c]) || x != std::floor(x)))
            throw std::invalid_argument(
                "a categorical column must contain levels in [0, n_levels) or NaN");
      });
    if (n_levels[c] == 0 || is_whole || keeps_values()) continue;
    const auto place = [&](std::size_t rank) { return rank ? static_cast<int>(low[rank]) + 1 : 0; };
    Code* const codes = codes_.data() + c * static_cast<std::size_t>(n_rows_);
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      if (n_levels[c] <= max_value_bins) codes[row] = static_cast<Code>(place(codes[row]));
      Rank& rank = ranks_[row * stride_ + static_cast<std::int64_t>(c)];
      rank = static_cast<Rank>(place(rank));
    }
  }
  if (std::any_of(n_levels.begin(), n_levels.end(), [](int n) { return n > 0; }))
    n_levels_ = n_levels;
}

const BinaryColumns& RankedTable::binary_columns(int n_threads) const {
  std::call_once(binary_once_, [&] {
    binary_columns_ = std::make_shared<const BinaryColumns>(*this, n_threads);
  });
  return *binary_columns_;
}

double RankedTable::threshold(int column, int rank, int next) const {
  return cut_between(high(column, rank), low(column, next));
}

int RankedTable::last_up_to(int column, int rank, double threshold) const {
  const std::vector<double>& low = columns_[column].low;
  const auto n = static_cast<int>(low.size());
  int step = 1;  // for a nearby rank: galloping search
  while (rank + step < n && low[rank + step] <= threshold) {
    rank += step;
    step *= 2;
  }
  const auto end = low.begin() + std::min(n, rank + step);
  return static_cast<int>(std::upper_bound(low.begin() + rank, end, threshold) - low.begin()) - 1;
}

}  // namespace weald::data
