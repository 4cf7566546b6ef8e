// Row subsampling: how often each base estimator sees each row, with or without replacement.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/content.hpp"

namespace weald::data {

// Draws rows, or whole groups of rows. Draws are indexed by a counter and units are sorted by
// content, so that neither the order of the table nor the number of threads matters.
class Bootstrap {
 public:
  // With replacement: `n_draws` draws with probabilities proportional to mass (null: 1 each).
  Bootstrap(const std::int64_t* mass, std::int64_t n_units, std::int64_t n_draws,
            std::uint64_t seed);

  // Without replacement: every key gets a random number, and the `n_draws` smallest are drawn.
  Bootstrap(const Hash128* keys, std::int64_t n_units, std::int64_t n_draws, std::uint64_t seed);

  // Draw groups instead of rows; row i belongs to group_of[i].
  void draw_groups(const std::int64_t* group_of, std::int64_t n_rows);

  std::int64_t n_rows() const { return group_of_.empty() ? n_units_ : n_grouped_rows(); }
  std::int64_t n_draws() const { return n_draws_; }
  // Writes the number of times each row is drawn.
  void draw(std::uint64_t member, std::int64_t* counts) const;

 private:
  std::int64_t n_grouped_rows() const { return static_cast<std::int64_t>(group_of_.size()); }
  void draw_units(std::uint64_t member, std::int64_t* counts) const;
  void draw_with_replacement(std::uint64_t member, std::int64_t* counts) const;
  void draw_without_replacement(std::uint64_t member, std::int64_t* counts) const;

  std::int64_t n_units_, n_draws_, total_;
  std::uint64_t seed_;
  std::vector<Row> unit_of_;          // the unit of each unit of mass, if these are few
  std::vector<std::int64_t> end_of_;  // otherwise cumulative mass at the end of each unit
  std::vector<Hash128> keys_;         // without replacement
  std::vector<Row> group_of_;         // [rows]
};

}  // namespace weald::data
