// Rows, their targets and their scores, as a loss sees them.
#pragma once
#include <cstdint>

#include "shared.hpp"

namespace weald {

// scores[score][row]; y is a class number for classification.
struct Scored {
  const double* y;
  const double* scores;
  const double* weight;        // null: 1 each
  const std::int64_t* copies;  // null: 1 each
  std::int64_t n_rows;
  int n_scores;
};

struct Range {
  std::int64_t begin, end;
};

}  // namespace weald
