#include "data/numbered_rows.hpp"

#include <algorithm>

#include "base/types.hpp"
#include "data/sorted_keys.hpp"

namespace weald::data {
namespace {

#pragma pack(push, 4)  // 12 bytes a row
struct Item {
  std::uint64_t key;
  Row row;
};
#pragma pack(pop)

// Order rows whose hashes agree in one word: by the other word, then by weight. Equal rows, of
// which there may be many, are mostly in order already.
void order_by_rest(Item* begin, Item* end, const Hash128* hashes, const double* weight) {
  const auto comes_before = [&](const Item& a, const Item& b) {
    const std::uint64_t x = hashes[a.row].low, y = hashes[b.row].low;
    if (x != y) return x < y;
    if (weight && weight[a.row] != weight[b.row]) return weight[a.row] < weight[b.row];
    return a.row < b.row;
  };
  if (!std::is_sorted(begin, end, comes_before)) std::sort(begin, end, comes_before);
}

}  // namespace

NumberedRows numbered_rows(const Hash128* hashes, const double* weight, std::int64_t n_rows) {
  const auto n = static_cast<std::size_t>(n_rows);
  RawVector<Item> items(n);
  for (std::size_t row = 0; row < n; ++row) items[row] = {hashes[row].high, static_cast<Row>(row)};
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
  for (std::size_t i = 0; i < n; ++i) {
    const Row row = items[i].row;
    const bool is_copy = i > 0 && items[i].key == items[i - 1].key &&
                         hashes[row].low == hashes[items[i - 1].row].low;
    number = is_copy ? number + 1 : 0;
    const Hash128 key = key_of_copy(hashes[row], number);
    all.order[i] = row;
    all.keys[2 * i] = key.low;
    all.keys[2 * i + 1] = key.high;
  }
  return all;
}

}  // namespace weald::data
