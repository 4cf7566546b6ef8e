#include "data/binning.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "data/cut_points.hpp"
#include "kernels/kernels.hpp"

namespace weald::data {
namespace {

void encode(const float* x, std::int64_t n, const kernels::PaddedCuts<float>& cuts, Code* out,
            std::int64_t stride) {
  kernels::active().encode_float(x, n, cuts, out, stride);
}
void encode(const double* x, std::int64_t n, const kernels::PaddedCuts<double>& cuts, Code* out,
            std::int64_t stride) {
  kernels::active().encode_double(x, n, cuts, out, stride);
}

constexpr std::int64_t block = 1024;             // rows per block, kept in cache
constexpr std::int64_t line = 64;                // bytes of a cache line
constexpr std::int64_t most_bytes = 64ll << 20;  // limit for copied keys

}  // namespace

double cut_between(double a, double b) {
  const double middle = a / 2 + b / 2;
  return std::isfinite(middle) && middle >= a && middle < b ? middle : a;
}

// Columns are copied out as keys one cache line at a time, so that a row-major table is read once
// per line instead of once per column.
template <class T>
Cuts find_cuts(const Table<T>& table, const std::int64_t* mass, int max_bins, int n_threads) {
  using K = Key<T>;
  constexpr K missing = ~K{0};  // the key of a NaN with all bits set; values never have it
  const std::int64_t n = table.n_rows, n_blocks = (n + block - 1) / block;
  const std::int64_t in_line = line / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t fitting = most_bytes / std::max<std::int64_t>(1, n * sizeof(K));
  const std::int64_t batch =
      std::clamp<std::int64_t>(fitting, n_threads, std::max(in_line, std::int64_t{n_threads}));
  LargeVector<K> keys(static_cast<std::size_t>(n * std::min(batch, table.n_columns)));
  // Reused from column to column: page faults on fresh memory cost more than sorting.
  std::vector<LargeVector<K>> spare(static_cast<std::size_t>(n_threads));
  std::vector<LargeVector<Weighted<K>>> weighted(spare.size()), spare_weighted(spare.size());
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(table.n_columns));

  for (std::int64_t first = 0; first < table.n_columns; first += batch) {
    const std::int64_t last = std::min(first + batch, table.n_columns);
    parallel_for(n_blocks, n_threads, [&](std::int64_t task, int) {
      const std::int64_t begin = task * block, end = std::min(n, begin + block);
      for (std::int64_t column = first; column < last; ++column) {
        K* const to = keys.data() + (column - first) * n;
        for (std::int64_t row = begin; row < end; ++row) {
          const T x = table.at(row, column);
          to[row] = x == x && (!mass || mass[row] > 0) ? key_of(x) : missing;
        }
      }
    });
    parallel_for(last - first, n_threads, [&](std::int64_t task, int worker) {
      K* const from = keys.data() + task * n;
      std::vector<double>& cuts = columns[first + task];
      if (mass == nullptr) {
        K* const end = std::remove(from, from + n, missing);
        cuts = cuts_of<T>(sorted(std::span<K>(from, end), spare[worker]), max_bins);
        return;
      }
      auto& items = weighted[worker];
      items.clear();
      for (std::int64_t row = 0; row < n; ++row)
        if (from[row] != missing) items.push_back({from[row], mass[row]});
      cuts = cuts_of<T>(sorted(std::span(items), spare_weighted[worker]), max_bins);
    });
  }
  Cuts cuts;
  cuts.first.push_back(0);
  for (const auto& column : columns) {
    cuts.values.insert(cuts.values.end(), column.begin(), column.end());
    cuts.first.push_back(static_cast<std::int64_t>(cuts.values.size()));
  }
  return cuts;
}

template <class T>
void apply_cuts(const Table<T>& table, const double* cuts, const std::int64_t* first, Code* codes,
                std::int64_t n_columns, std::int64_t begin_column, int n_threads) {
  const std::int64_t n_blocks = (table.n_rows + block - 1) / block;
  const std::int64_t first_tile = begin_column / tile, end_column = begin_column + table.n_columns;
  const std::int64_t n_tiles = (end_column - 1) / tile - first_tile + 1;
  std::vector<kernels::PaddedCuts<T>> padded;
  for (std::int64_t column = 0; column < table.n_columns; ++column)
    padded.emplace_back(cuts + first[column], first[column + 1] - first[column]);
  parallel_for(n_tiles * n_blocks, n_threads, [&](std::int64_t task, int) {
    const std::int64_t t = first_tile + task / n_blocks, begin = task % n_blocks * block;
    const std::int64_t size = std::min(block, table.n_rows - begin);
    const std::int64_t width = Codes::tile_width(n_columns, t);
    Code* const out = codes + t * tile * table.n_rows + begin * width;
    const std::int64_t last = std::min<std::int64_t>(end_column, (t + 1) * tile);
    T values[block];
    for (std::int64_t column = std::max<std::int64_t>(begin_column, t * tile); column < last;
         ++column) {
      const std::int64_t from = column - begin_column;
      for (std::int64_t i = 0; i < size; ++i) values[i] = table.at(begin + i, from);
      encode(values, size, padded[from], out + column % tile, width);
    }
  });
}

template <class T>
void apply_many_cuts(const Table<T>& table, const double* cuts, std::int64_t n_cuts,
                     std::int64_t column, std::uint16_t* codes, int n_threads) {
  parallel_for((table.n_rows + block - 1) / block, n_threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * block, table.n_rows);
    for (std::int64_t row = task * block; row < end; ++row) {
      const auto x = static_cast<double>(table.at(row, column));
      codes[row] = static_cast<std::uint16_t>(
          x != x ? 0 : 1 + (std::lower_bound(cuts, cuts + n_cuts, x) - cuts));
    }
  });
}

template Cuts find_cuts(const Table<float>&, const std::int64_t*, int, int);
template Cuts find_cuts(const Table<double>&, const std::int64_t*, int, int);
template void apply_many_cuts(const Table<float>&, const double*, std::int64_t, std::int64_t,
                              std::uint16_t*, int);
template void apply_many_cuts(const Table<double>&, const double*, std::int64_t, std::int64_t,
                              std::uint16_t*, int);
template void apply_cuts(const Table<float>&, const double*, const std::int64_t*, Code*,
                         std::int64_t, std::int64_t, int);
template void apply_cuts(const Table<double>&, const double*, const std::int64_t*, Code*,
                         std::int64_t, std::int64_t, int);

}  // namespace weald::data
