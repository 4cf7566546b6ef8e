#include "equal_rows.hpp"

#include <algorithm>

#include "shared.hpp"
#include "sorted_keys.hpp"

namespace weald {
namespace {

#pragma pack(push, 4)  // 12 bytes a row
struct Item {
  std::uint64_t key;
  Row row;
};
#pragma pack(pop)

// Of hashes that agree in one word. Equal rows, which may be many, are mostly in order already.
void order_by_rest(Item* begin, Item* end, const Hash128* hashes) {
  const auto comes_before = [&](const Item& a, const Item& b) {
    const std::uint64_t x = hashes[a.row].low, y = hashes[b.row].low;
    return x != y ? x < y : a.row < b.row;
  };
  if (!std::is_sorted(begin, end, comes_before)) std::sort(begin, end, comes_before);
}

}  // namespace

EqualRows equal_rows(const Hash128* hashes, std::int64_t n_rows) {
  const auto n = static_cast<std::size_t>(n_rows);
  RawVector<Item> items(n);
  for (std::size_t row = 0; row < n; ++row) items[row] = {hashes[row].high, static_cast<Row>(row)};
  {
    RawVector<Item> spare;
    radix_sort(items, spare);
  }
  for (std::size_t i = 0, end = 0; i < n; i = end) {
    for (end = i + 1; end < n && items[end].key == items[i].key;) ++end;
    if (end > i + 1) order_by_rest(items.data() + i, items.data() + end, hashes);
  }
  EqualRows all{RawVector<std::int64_t>(n), {}, RawVector<std::int64_t>(n), {}};
  all.begins.reserve(n);
  all.hashes.reserve(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const Row row = items[i].row;
    const Hash128& hash = hashes[row];
    const bool is_new =
        i == 0 || items[i].key != items[i - 1].key || hash.low != hashes[items[i - 1].row].low;
    if (is_new) {
      all.begins.push_back(static_cast<std::int64_t>(i));
      all.hashes.insert(all.hashes.end(), {hash.low, hash.high});
    }
    all.order[i] = row;
    all.set_of[row] = static_cast<std::int64_t>(all.begins.size()) - 1;
  }
  return all;
}

}  // namespace weald
