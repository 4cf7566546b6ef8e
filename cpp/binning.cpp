#include "binning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "exact_sum.hpp"
#include "parallel.hpp"

namespace weald {
namespace {

// Integers that order as the floats do: negative numbers are flipped whole, others in their sign.
template <class T>
using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
Key<T> key_of(T x) {
  constexpr Key<T> sign = Key<T>{1} << (sizeof(T) * 8 - 1);
  const Key<T> bits = std::bit_cast<Key<T>>(x + T{0});  // -0 becomes 0
  return (bits & sign) ? ~bits : (bits | sign);
}

template <class T>
T value_of(Key<T> key) {
  constexpr Key<T> sign = Key<T>{1} << (sizeof(T) * 8 - 1);
  return std::bit_cast<T>((key & sign) ? (key ^ sign) : ~key);
}

template <class K>
struct Weighted {
  K key;
  std::int64_t mass;
};

template <class K>
K sort_key(K item) {
  return item;
}
template <class K>
K sort_key(const Weighted<K>& item) {
  return item.key;
}

// Least-significant-digit radix sort; digits in which all keys agree are skipped, so integers and
// short decimals stored as doubles cost as little as they hold.
template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare) {
  using K = decltype(sort_key(items[0]));
  constexpr int digit_bits = 11, n_digits = (sizeof(K) * 8 + digit_bits - 1) / digit_bits;
  constexpr std::size_t n_values = std::size_t{1} << digit_bits;
  if (items.size() < 256) {
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return sort_key(a) < sort_key(b); });
    return;
  }
  std::vector<std::array<std::uint32_t, n_values>> counts(n_digits);
  for (auto& digit : counts) digit.fill(0);
  for (const Item& item : items) {
    K key = sort_key(item);
    for (int d = 0; d < n_digits; ++d) {
      ++counts[d][key & (n_values - 1)];
      key = static_cast<K>(key >> digit_bits);
    }
  }
  spare.resize(items.size());
  for (int d = 0; d < n_digits; ++d) {
    auto& start = counts[d];
    if (std::find(start.begin(), start.end(), items.size()) != start.end()) continue;
    std::uint32_t total = 0;
    for (auto& count : start) total += std::exchange(count, total);
    for (const Item& item : items)
      spare[start[(sort_key(item) >> (d * digit_bits)) & (n_values - 1)]++] = item;
    items.swap(spare);
  }
}

struct Distinct {
  std::vector<double> values;
  std::vector<std::int64_t> mass;
};

template <class T>
Distinct distinct_values(const Table<T>& table, std::int64_t column, const std::int64_t* mass) {
  Distinct distinct;
  const auto add = [&](double value, std::int64_t count) {
    if (distinct.values.empty() || distinct.values.back() < value) {
      distinct.values.push_back(value);
      distinct.mass.push_back(count);
    } else {
      distinct.mass.back() += count;
    }
  };
  if (mass == nullptr) {
    std::vector<Key<T>> keys, spare;
    keys.reserve(static_cast<std::size_t>(table.n_rows));
    for (std::int64_t row = 0; row < table.n_rows; ++row)
      if (const T x = table.at(row, column); x == x) keys.push_back(key_of(x));
    radix_sort(keys, spare);
    for (const auto key : keys) add(static_cast<double>(value_of<T>(key)), 1);
  } else {
    std::vector<Weighted<Key<T>>> items, spare;
    for (std::int64_t row = 0; row < table.n_rows; ++row)
      if (const T x = table.at(row, column); x == x && mass[row] > 0)
        items.push_back({key_of(x), mass[row]});
    radix_sort(items, spare);
    for (const auto& item : items) add(static_cast<double>(value_of<T>(item.key)), item.mass);
  }
  return distinct;
}

// Equal mass, greedily from below. A heavy value (at least the mass of an even bin) closes its own
// bin and, while there are bins to spare, the bin before it, so that it is alone.
std::vector<double> cuts_by_mass(const Distinct& distinct, int max_bins) {
  const std::size_t n = distinct.values.size();
  Int128 total = 0;
  for (const auto mass : distinct.mass) total += mass;
  const auto is_heavy = [&](std::size_t i) {
    return static_cast<Int128>(distinct.mass[i]) * max_bins >= total;
  };
  Int128 light_mass = total;
  std::int64_t light_bins = max_bins;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_heavy(i)) continue;
    light_mass -= distinct.mass[i];
    --light_bins;
  }
  std::vector<double> cuts;
  Int128 in_bin = 0, enough = light_bins > 0 ? light_mass / light_bins : total;
  for (std::size_t i = 0; i + 1 < n && static_cast<int>(cuts.size()) < max_bins - 1; ++i) {
    in_bin += distinct.mass[i];
    const bool heavy = is_heavy(i);
    if (!heavy) light_mass -= distinct.mass[i];
    const bool full = light_bins > 0 && (in_bin >= enough || is_heavy(i + 1));
    if (!heavy && !full) continue;
    cuts.push_back(cut_between(distinct.values[i], distinct.values[i + 1]));
    in_bin = 0;
    if (!heavy) {
      --light_bins;
      enough = light_bins > 0 ? light_mass / light_bins : total;
    }
  }
  return cuts;
}

template <class T>
std::vector<double> cuts_of_column(const Table<T>& table, std::int64_t column,
                                   const std::int64_t* mass, int max_bins) {
  const Distinct distinct = distinct_values(table, column, mass);
  const std::size_t n = distinct.values.size();
  if (n > static_cast<std::size_t>(max_bins)) return cuts_by_mass(distinct, max_bins);
  std::vector<double> cuts;
  for (std::size_t i = 0; i + 1 < n; ++i)
    cuts.push_back(cut_between(distinct.values[i], distinct.values[i + 1]));
  return cuts;
}

// A column's cuts padded with +inf to 256, so that the search takes eight steps without a branch.
struct PaddedCuts {
  std::array<double, 256> values;

  PaddedCuts(const double* cuts, std::int64_t n) {
    values.fill(std::numeric_limits<double>::infinity());
    std::copy(cuts, cuts + n, values.begin());
  }
  Code code(double x) const {
    const double* at = values.data();
    for (int step = 128; step > 0; step /= 2) at += at[step - 1] < x ? step : 0;
    return x == x ? static_cast<Code>(at - values.data() + 1) : Code{0};
  }
};

}  // namespace

double cut_between(double a, double b) {
  const double middle = a / 2 + b / 2;
  return std::isfinite(middle) && middle >= a && middle < b ? middle : a;
}

template <class T>
Cuts find_cuts(const Table<T>& table, const std::int64_t* mass, int max_bins, int n_threads) {
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(table.n_columns));
  parallel_for(table.n_columns, n_threads, [&](std::int64_t column, int) {
    columns[column] = cuts_of_column(table, column, mass, max_bins);
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
void apply_cuts(const Table<T>& table, const double* cuts, const std::int64_t* first, Code* codes,
                int n_threads) {
  constexpr std::int64_t block = 1024;
  const std::int64_t n_blocks = (table.n_rows + block - 1) / block;
  const std::int64_t n_tiles = (table.n_columns + tile - 1) / tile;
  parallel_for(n_tiles * n_blocks, n_threads, [&](std::int64_t task, int) {
    const std::int64_t t = task / n_blocks, begin = task % n_blocks * block;
    const std::int64_t end = std::min(begin + block, table.n_rows);
    const std::int64_t width = Codes::tile_width(table.n_columns, t);
    Code* const out = codes + t * tile * table.n_rows;
    std::memset(out + begin * width, 0, static_cast<std::size_t>((end - begin) * width));
    const std::int64_t last = std::min<std::int64_t>(table.n_columns, (t + 1) * tile);
    for (std::int64_t column = t * tile; column < last; ++column) {
      const PaddedCuts padded(cuts + first[column], first[column + 1] - first[column]);
      Code* const to = out + column % tile;
      for (std::int64_t row = begin; row < end; ++row)
        to[row * width] = padded.code(static_cast<double>(table.at(row, column)));
    }
  });
}

template Cuts find_cuts(const Table<float>&, const std::int64_t*, int, int);
template Cuts find_cuts(const Table<double>&, const std::int64_t*, int, int);
template void apply_cuts(const Table<float>&, const double*, const std::int64_t*, Code*, int);
template void apply_cuts(const Table<double>&, const double*, const std::int64_t*, Code*, int);

}  // namespace weald
