#include "data/sparse_binning.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "data/cut_points.hpp"
#include "kernels/kernels.hpp"

namespace weald::data {
namespace {

constexpr std::int64_t some_columns = 64;  // columns per task

template <class Visit>
void for_columns(std::int64_t n_columns, int n_threads, Visit visit) {
  parallel_for((n_columns + some_columns - 1) / some_columns, n_threads,
               [&](std::int64_t task, int worker) {
                 const std::int64_t end = std::min((task + 1) * some_columns, n_columns);
                 for (std::int64_t c = task * some_columns; c < end; ++c) visit(c, worker);
               });
}

void encode(const float* x, std::int64_t n, const kernels::PaddedCuts<float>& cuts, Code* out) {
  kernels::active().encode_float(x, n, cuts, out, 1);
}
void encode(const double* x, std::int64_t n, const kernels::PaddedCuts<double>& cuts, Code* out) {
  kernels::active().encode_double(x, n, cuts, out, 1);
}

}  // namespace

// Values that are not stored are one more item: a zero of the mass of all their rows.
template <class T>
Cuts find_cuts(const SparseTable<T>& table, std::int64_t n_learn, const std::int64_t* mass,
               int max_bins, int n_threads) {
  using Item = Weighted<Key<T>>;
  const std::int64_t total =
      mass ? std::accumulate(mass, mass + n_learn, std::int64_t{0}) : n_learn;
  std::vector<std::vector<Item>> items(static_cast<std::size_t>(n_threads)), spare(items.size());
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(table.n_columns));
  for_columns(table.n_columns, n_threads, [&](std::int64_t column, int worker) {
    std::vector<Item>& own = items[worker];
    own.clear();
    std::int64_t not_stored = total;
    for (std::int64_t i = table.first[column]; i < table.first[column + 1]; ++i) {
      const Row row = table.rows[i];
      const std::int64_t here = row >= n_learn ? 0 : mass ? mass[row] : 1;
      not_stored -= here;
      const T x = table.values[i];
      if (x == x && here > 0) own.push_back({key_of(x), here});
    }
    if (not_stored > 0) own.push_back({key_of(T{0}), not_stored});
    columns[column] = cuts_of<T>(sorted(std::span(own), spare[worker]), max_bins);
  });
  Cuts cuts;
  cuts.first.push_back(0);
  for (const auto& column : columns) {
    cuts.values.insert(cuts.values.end(), column.begin(), column.end());
    cuts.first.push_back(static_cast<std::int64_t>(cuts.values.size()));
  }
  return cuts;
}

template <class T>
void apply_cuts(const SparseTable<T>& table, const Cuts& cuts, Code* codes, Code* usual,
                int n_threads) {
  for_columns(table.n_columns, n_threads, [&](std::int64_t column, int) {
    const std::int64_t begin = cuts.first[column], from = table.first[column];
    const kernels::PaddedCuts<T> padded(cuts.values.data() + begin, cuts.first[column + 1] - begin);
    encode(table.values + from, table.first[column + 1] - from, padded, codes + from);
    const T zero{0};
    encode(&zero, 1, padded, usual + column);
  });
}

template Cuts find_cuts(const SparseTable<float>&, std::int64_t, const std::int64_t*, int, int);
template Cuts find_cuts(const SparseTable<double>&, std::int64_t, const std::int64_t*, int, int);
template void apply_cuts(const SparseTable<float>&, const Cuts&, Code*, Code*, int);
template void apply_cuts(const SparseTable<double>&, const Cuts&, Code*, Code*, int);

}  // namespace weald::data
