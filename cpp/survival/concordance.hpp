// PairWeights of rows that a risk score ranks as their survival times.
#pragma once

#include <cstdint>

namespace weald::survival {

struct ScoredTimes {
  const std::int32_t* time;  // place of the time among all times
  const std::uint8_t* is_event;
  const std::int32_t* risk;       // rank of the risk score, from 0
  const double* weight_of_event;  // factor of a pair, of the row whose event comes first
  const double* weight_of_other;  // and of the other row
  std::int64_t n_rows;
  std::int32_t n_ranks;
};

// Weights of the pairs whose earlier event has the higher risk, of those of equal risk, and of all
// that can be compared: an event and a row that was observed for longer, or as long and censored.
struct PairWeights {
  double concordant = 0.0, tied = 0.0, comparable = 0.0;
};

PairWeights count_pairs(const ScoredTimes& rows);

}  // namespace weald::survival
