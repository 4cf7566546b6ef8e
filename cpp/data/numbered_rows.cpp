#include "data/numbered_rows.hpp"

#include <algorithm>

#include "base/types.hpp"
#include "data/sorted_keys.hpp"

namespace weald::data {
namespace {

// A row, and the first half of a word of its hash: of many rows, few agree in it.
struct Item {
  std::uint32_t key;
  Row row;
};

std::uint32_t key_of_row(const Hash128& hash) {
  return static_cast<std::uint32_t>(hash.high >> 32);
}

// Order rows of equal keys: by their whole hashes, then by weight. Equal rows, of which there may
// be many, are mostly in order already.
void order_by_rest(Item* begin, Item* end, const Hash128* hashes, const double* weight) {
  const auto comes_before = [&](const Item& a, const Item& b) {
    const Hash128 &x = hashes[a.row], &y = hashes[b.row];
    if (x.high != y.high) return x.high < y.high;
    if (x.low != y.low) return x.low < y.low;
    if (weight && weight[a.row] != weight[b.row]) return weight[a.row] < weight[b.row];
    return a.row < b.row;
  };
  if (!std::is_sorted(begin, end, comes_before)) std::sort(begin, end, comes_before);
}

}  // namespace

NumberedRows numbered_rows(const Hash128* hashes, const double* weight, std::int64_t n_rows) {
  const auto n = static_cast<std::size_t>(n_rows);
  RawVector<Item> items(n);
  for (std::size_t row = 0; row < n; ++row)
    items[row] = {key_of_row(hashes[row]), static_cast<Row>(row)};
  {
    RawVector<Item> spare;
    radix_sort(items, spare);
  }
  for (std::size_t i = 0, end = 0; i < n; i = end) {
    for (end = i + 1; end < n && items[end].key == items[i].key;) ++end;
    if (end > i + 1) order_by_rest(items.data() + i, items.data() + end, hashes, weight);
  }
  NumberedRows all{RawVector<std::int64_t>(n), RawVector<std::uint64_t>(2 * n)};
  std::uint64_t number = 0;
  Hash128 previous{};
  for (std::size_t i = 0; i < n; ++i) {
    const Row row = items[i].row;
    const Hash128 own = hashes[row];
    const bool is_copy = i > 0 && own.low == previous.low && own.high == previous.high;
    number = is_copy ? number + 1 : 0;
    const Hash128 key = key_of_copy(own, number);
    all.order[i] = row;
    all.keys[2 * i] = key.low;
    all.keys[2 * i + 1] = key.high;
    previous = own;
  }
  return all;
}

}  // namespace weald::data
