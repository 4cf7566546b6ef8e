// The rows of a small table sorted by the codes of every column (see engine/ordered_search.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "kernels/kernels.hpp"

namespace weald::data {

// Empty if a search over bins is faster: many rows, or few bins per row.
class RowOrder {
 public:
  RowOrder() = default;
  // Codes must be available column-major, without missing values. `must`: even if it is slower.
  RowOrder(const Codes& codes, bool must);

  bool any() const { return !columns_.empty(); }
  std::int64_t n_rows() const { return n_rows_; }
  // Columns with more than one code; constant columns are omitted.
  const std::vector<int>& columns() const { return columns_; }
  // All rows in the order of the k-th of these columns; searches may read past the end.
  const kernels::Ordered* rows_of(std::size_t k) const {
    return rows_.data() + static_cast<std::int64_t>(k) * n_rows_;
  }

  static constexpr std::size_t slack = 17;  // a vector plus one

 private:
  std::int64_t n_rows_ = 0;
  std::vector<int> columns_;
  std::vector<kernels::Ordered> rows_;
};

}  // namespace weald::data
