// A read-only view of a sparse table by columns.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace weald::data {

// The stored values of column c are values[first[c]] .. values[first[c + 1] - 1], in increasing
// rows; all others are 0.
template <class T>
struct SparseTable {
  const T* values;
  const Row* rows;
  const std::int64_t* first;
  std::int64_t n_rows, n_columns;
};

}  // namespace weald::data
