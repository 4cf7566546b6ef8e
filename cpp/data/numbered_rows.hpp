// Rows in the order of their content, copies of a row numbered: what every draw of rows starts
// from.
#pragma once

#include <cstdint>

#include "base/raw_pages.hpp"
#include "data/content.hpp"

namespace weald::data {

// Rows sorted by the hash of their content. Equal rows are numbered 0, 1, ... by rising weight; the
// key of a row is the hash of (content, number), so that draws over keys are draws over rows and
// the order of the table decides at most which of several identical rows is meant.
struct NumberedRows {
  RawVector<std::int64_t> order;  // [place] row
  RawVector<std::uint64_t> keys;  // [place] two words each
};

// `weight` may be null: then all copies of a row are alike.
NumberedRows numbered_rows(const Hash128* hashes, const double* weight, std::int64_t n_rows);

}  // namespace weald::data
