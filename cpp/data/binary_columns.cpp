#include "data/binary_columns.hpp"

#include <algorithm>
#include <vector>

#include "base/parallel.hpp"

namespace weald::data {
namespace {

constexpr std::int64_t block = 2048;  // rows per task

std::int64_t n_blocks(std::int64_t n_rows) { return (n_rows + block - 1) / block; }

// The distinct values of a column so far; both equal while there is only one.
template <class T>
struct Two {
  int column;
  T one, other;
  bool is_over = false;  // a third value was found

  // Adds a value; returns whether there are still at most two.
  bool takes(T x) {
    if (x == one || x == other) return true;
    is_over = is_over || one != other;
    if (!is_over) other = x;
    return !is_over;
  }
};

}  // namespace

BinaryColumns::BinaryColumns(const RankedTable& table, int n_threads)
    : bit_of_(static_cast<std::size_t>(table.n_columns()), -1),
      place_of_(static_cast<std::size_t>(table.n_columns())),
      n_rows_(table.n_rows()) {
  if (!table.keeps_values()) {
    for (int c = 0; c < table.n_columns() && std::ssize(column_of_) < most; ++c) {
      if (table.n_ranks(c) != 2 || table.has_missing(c) || table.n_levels(c) > 0) continue;
      column_of_.push_back(c);
      low_.push_back(table.low(c, 1));
      high_.push_back(table.high(c, 2));
    }
    part(table, table.ranks(), ranks_, n_threads);
    return;
  }
  table.with_values([&](const auto* values) {
    find_binary_columns(table, values, n_threads);
    if constexpr (std::is_same_v<decltype(values), const float*>)
      part(table, values, floats_, n_threads);
    else
      part(table, values, doubles_, n_threads);
  });
}

// Row-major; stops at a third or missing value, which most columns have early.
template <class T>
void BinaryColumns::find_binary_columns(const RankedTable& table, const T* values, int n_threads) {
  std::vector<Two<T>> all;
  for (int c = 0; c < table.n_columns() && table.n_rows() > 0; ++c)
    if (!table.has_missing(c) && table.n_levels(c) == 0) all.push_back({c, values[c], values[c]});
  std::vector<std::vector<Two<T>>> of_block(static_cast<std::size_t>(n_blocks(n_rows_)));
  parallel_for(n_blocks(n_rows_), n_threads, [&](std::int64_t b, int) {
    std::vector<Two<T>> open = all;
    const std::int64_t end = std::min(n_rows_, (b + 1) * block);
    for (std::int64_t row = b * block; row < end && !open.empty(); ++row) {
      const T* const of_row = values + row * table.stride();
      bool fits = true;
      for (Two<T>& two : open) fits &= two.takes(of_row[two.column]);
      if (!fits) std::erase_if(open, [](const Two<T>& two) { return two.is_over; });
    }
    of_block[b].assign(open.begin(), open.end());
  });
  // Merge the blocks column by column, as if each block were a row of two values.
  for (Two<T>& two : all) {
    for (const auto& open : of_block) {
      const auto found =
          std::lower_bound(open.begin(), open.end(), two.column,
                           [](const Two<T>& one, int column) { return one.column < column; });
      two.is_over |= found == open.end() || found->column != two.column;
      if (two.is_over) break;
      two.takes(found->one);
      two.takes(found->other);
    }
    if (two.is_over || two.one == two.other || std::ssize(column_of_) == most) continue;
    column_of_.push_back(two.column);
    low_.push_back(static_cast<double>(std::min(two.one, two.other)));
    high_.push_back(static_cast<double>(std::max(two.one, two.other)));
  }
}

template <class T>
void BinaryColumns::part(const RankedTable& table, const T* values, Others<T>& others,
                         int n_threads) {
  const auto n_bits = static_cast<int>(column_of_.size());
  for (int bit = 0; bit < n_bits; ++bit) bit_of_[column_of_[bit]] = bit;
  are_many_ = 3 * n_bits >= table.n_columns();
  std::vector<int> kept;  // columns that are copied
  for (int c = 0; c < table.n_columns(); ++c) {
    place_of_[c] = are_many_ ? static_cast<int>(kept.size()) : c;
    if (bit_of_[c] < 0) kept.push_back(c);
  }
  const auto n_rows = static_cast<std::size_t>(table.n_rows());
  if (n_bits > 0) words_.resize(n_rows);
  if (are_many_) {
    // Round the row size up to a power of two, at most a cache line, so that a row does not
    // straddle lines.
    stride_ = 1;
    while (stride_ * static_cast<std::int64_t>(sizeof(T)) < 16 || stride_ < std::ssize(kept))
      stride_ *= 2;
    if (stride_ * static_cast<std::int64_t>(sizeof(T)) > 64) stride_ = std::ssize(kept);
    others.own.resize(n_rows * static_cast<std::size_t>(stride_));
  } else {
    stride_ = table.stride();
    others.others = values;
  }
  std::vector<T> lows;
  for (int bit = 0; bit < n_bits; ++bit)
    lows.push_back(std::is_same_v<T, Rank> ? T{1} : static_cast<T>(low_[bit]));
  const bool turns = are_many_ && !std::is_same_v<T, Rank>;  // ranks have column-major bins already
  if (turns) others.columns.resize(n_rows * kept.size());
  parallel_for(n_bits > 0 ? n_blocks(n_rows_) : 0, n_threads, [&](std::int64_t b, int) {
    const std::int64_t end = std::min(n_rows_, (b + 1) * block);
    for (std::int64_t row = b * block; row < end; ++row) {
      const T* const of_row = values + row * table.stride();
      std::uint64_t word = 0;
      for (int bit = 0; bit < n_bits; ++bit)
        word |= std::uint64_t{of_row[column_of_[bit]] > lows[bit]} << bit;
      words_[row] = word;
      for (std::size_t i = 0; are_many_ && i < kept.size(); ++i)
        others.own[row * stride_ + static_cast<std::int64_t>(i)] = of_row[kept[i]];
    }
    for (std::size_t i = 0; turns && i < kept.size(); ++i)
      for (std::int64_t row = b * block; row < end; ++row)
        others.columns[static_cast<std::int64_t>(i) * n_rows_ + row] =
            others.own[row * stride_ + static_cast<std::int64_t>(i)];
  });
  if (are_many_) others.others = others.own.data();
}

}  // namespace weald::data
