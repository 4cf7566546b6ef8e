#include "two_valued.hpp"

#include <algorithm>
#include <vector>

namespace weald {

TwoValued::TwoValued(const RankedTable& table)
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
    part(table, table.ranks(), ranks_);
    return;
  }
  table.with_values([&](const auto* values) {
    find_two_valued(table, values);
    if constexpr (std::is_same_v<decltype(values), const float*>)
      part(table, values, floats_);
    else
      part(table, values, doubles_);
  });
}

// Row after row; a third value, or a missing one, ends the matter, and most columns soon have one.
template <class T>
void TwoValued::find_two_valued(const RankedTable& table, const T* values) {
  struct Two {
    int column;
    T one, other;  // equal: no other yet
  };
  std::vector<Two> open;
  for (int c = 0; c < table.n_columns(); ++c)
    if (!table.has_missing(c) && table.n_levels(c) == 0 && table.n_rows() > 0)
      open.push_back({c, values[c], values[c]});
  for (std::int64_t row = 1; row < table.n_rows() && !open.empty(); ++row) {
    const T* const of_row = values + row * table.stride();
    bool any_done = false;
    for (Two& two : open) {
      const T x = of_row[two.column];
      if (x == two.one || x == two.other) continue;
      if (two.one == two.other) {
        two.other = x;
      } else {
        two.column = -1 - two.column;
        any_done = true;
        break;  // the others see this row again
      }
    }
    if (!any_done) continue;
    std::erase_if(open, [](const Two& two) { return two.column < 0; });
    --row;
  }
  for (const Two& two : open) {
    if (two.one == two.other || std::ssize(column_of_) == most) continue;
    column_of_.push_back(two.column);
    low_.push_back(static_cast<double>(std::min(two.one, two.other)));
    high_.push_back(static_cast<double>(std::max(two.one, two.other)));
  }
}

template <class T>
void TwoValued::part(const RankedTable& table, const T* values, Others<T>& others) {
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
    // Rows of a power of two of bytes, up to a line, lie in one.
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
  for (std::size_t row = 0; n_bits > 0 && row < n_rows; ++row) {
    const T* const of_row = values + static_cast<std::int64_t>(row) * table.stride();
    std::uint64_t word = 0;
    for (int bit = 0; bit < n_bits; ++bit)
      word |= std::uint64_t{of_row[column_of_[bit]] > lows[bit]} << bit;
    words_[row] = word;
    if (!are_many_) continue;
    T* const own = others.own.data() + static_cast<std::int64_t>(row) * stride_;
    for (std::size_t i = 0; i < kept.size(); ++i) own[i] = of_row[kept[i]];
  }
  if (!are_many_) return;
  others.others = others.own.data();
  if (std::is_same_v<T, Rank>) return;  // the table has bins by column
  others.columns.resize(n_rows * kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    for (std::size_t row = 0; row < n_rows; ++row)
      others.columns[i * n_rows + row] = others.own[row * static_cast<std::size_t>(stride_) + i];
}

}  // namespace weald
