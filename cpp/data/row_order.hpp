// The rows of a small table in the order of every column's codes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "kernels/kernels.hpp"

namespace weald::data {

// None where a search over bins is quicker: in tables of many rows, or of few bins for these.
class RowOrder {
 public:
  RowOrder() = default;
  // The codes lie column by column too, and none is missing. `must`: whether it is quicker or not.
  RowOrder(const Codes& codes, bool must);

  bool any() const { return !columns_.empty(); }
  std::int64_t n_rows() const { return n_rows_; }
  // The columns of more than one code; the others cannot be cut.
  const std::vector<int>& columns() const { return columns_; }
  // All rows, in the order of the k-th of these columns; a search may look at what lies behind.
  const kernels::Ordered* rows_of(std::size_t k) const {
    return rows_.data() + static_cast<std::int64_t>(k) * n_rows_;
  }

  static constexpr std::size_t slack = 17;  // a vector and one more

 private:
  std::int64_t n_rows_ = 0;
  std::vector<int> columns_;
  std::vector<kernels::Ordered> rows_;
};

}  // namespace weald::data
