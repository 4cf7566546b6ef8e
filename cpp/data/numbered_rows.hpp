// Rows sorted by content with duplicates numbered: the basis of every random draw of rows.
#pragma once

#include <cstdint>

#include "base/draws.hpp"
#include "base/raw_pages.hpp"
#include "data/content.hpp"

namespace weald::data {

// The key of a row by its number among equal rows, of which the first keeps the plain hash.
inline Hash128 key_of_copy(Hash128 hash, std::uint64_t number) {
  if (number > 0) absorb(hash, number);
  return hash;
}

// Rows sorted by content hash. Equal rows are numbered 0, 1, ... by increasing weight; the key of a
// row is the hash of (content, number), so that draws over keys are draws over rows, and the order
// of the table decides at most which of several identical rows is meant.
struct NumberedRows {
  RawVector<std::int64_t> order;  // [place] row
  RawVector<std::uint64_t> keys;  // [place] two words each
};

// `weight` null: all duplicates of a row are interchangeable.
NumberedRows numbered_rows(const Hash128* hashes, const double* weight, std::int64_t n_rows);

}  // namespace weald::data
