// Rows by content: their order, and which of them are equal.
#pragma once

#include <cstdint>

#include "content.hpp"
#include "raw_pages.hpp"

namespace weald {

// Rows in the order of their hashes, equal ones as they came. They make up sets of equal rows.
struct EqualRows {
  RawVector<std::int64_t> order;    // [place] row
  RawVector<std::int64_t> begins;   // [set] its first place
  RawVector<std::int64_t> set_of;   // [row]
  RawVector<std::uint64_t> hashes;  // [set] two words each
};

EqualRows equal_rows(const Hash128* hashes, std::int64_t n_rows);

}  // namespace weald
