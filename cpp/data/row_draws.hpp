// The rows that one base estimator is grown on, where these are few of many: no pass over all rows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace weald::data {

// A row by its place in the order of content, and how often it was drawn.
struct DrawnRow {
  Row place;
  std::uint32_t copies;
};

// Draws are indexed by a counter or by a place, and rows are sorted by content, so that neither the
// order of the table nor the number of threads matters.
class RowDraws {
 public:
  // Probabilities are proportional to `mass` (null: equal). Without replacement `n_draws` is at
  // most the number of rows.
  RowDraws(std::int64_t n_rows, const std::int64_t* mass, std::int64_t n_draws, bool replace,
           std::uint64_t seed);

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_draws() const { return n_draws_; }
  // The rows of a base estimator, by increasing place.
  std::vector<DrawnRow> draw(std::uint64_t member) const;

 private:
  std::vector<Row> with_replacement(std::uint64_t member) const;
  std::vector<Row> without_replacement(std::uint64_t member) const;
  std::vector<Row> by_mass_without_replacement(std::uint64_t member) const;

  std::int64_t n_rows_, n_draws_;
  bool replace_;
  std::uint64_t seed_;
  std::vector<std::int64_t> end_of_;  // with mass: cumulative mass at the end of each row
};

}  // namespace weald::data
