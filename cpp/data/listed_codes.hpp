// Bin codes of sparse columns: of each column the rows whose code may differ from its usual one.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace weald::data {

// Rows increase; those that are not listed have the usual code.
struct ListedColumn {
  const Row* rows = nullptr;
  const Row* end = nullptr;
  const Code* codes = nullptr;  // of the listed rows
  Code usual = 0;

  bool any() const { return codes != nullptr; }
  std::int64_t size() const { return end - rows; }
};

// A view of the columns of a table; `first` null: the table has its codes in `Codes`.
struct ListedCodes {
  const std::int64_t* first = nullptr;  // [column]: the column's first entry, and their number
  const Row* rows = nullptr;
  const Code* codes = nullptr;
  const Code* usual = nullptr;  // of each column

  bool any() const { return first != nullptr; }
  double mean_size(int n_columns) const {
    return 1.0 + static_cast<double>(first[n_columns]) / static_cast<double>(n_columns);
  }
  ListedColumn column(int c) const {
    return {rows + first[c], rows + first[c + 1], codes + first[c], usual[c]};
  }
};

}  // namespace weald::data
