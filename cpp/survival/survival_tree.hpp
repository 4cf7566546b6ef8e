// Survival trees: log-rank splits on binned columns.
#pragma once

#include <cstdint>
#include <vector>

namespace weald::survival {

// The training rows of a forest. Codes of a column: 0 is missing, 1 the lowest bin, or one more
// than the level of a category.
struct SurvivalTable {
  const std::uint16_t* codes;       // [column][row]
  const std::int32_t* n_codes;      // of each column: codes are below
  const std::uint8_t* is_category;  // of each column
  const double* cuts;               // the cuts of a column, between its bins
  const std::int64_t* first_cut;    // [columns + 1]
  const std::int32_t* time;         // place on the grid of times
  const std::uint8_t* is_event;     // [rows]
  const double* weight;             // null: 1 each
  std::int64_t n_rows;
  int n_columns;
  // Of each place on the grid, the number of distinct event times before it.
  const std::int32_t* n_event_times;  // [n_times + 1]
  std::int32_t n_times;

  const std::uint16_t* column(int c) const { return codes + c * n_rows; }
  std::int32_t n_steps() const { return n_event_times[n_times]; }
};

struct SurvivalParams {
  int max_features = 1;
  int max_depth = 0;  // 0: no limit
  std::int64_t min_samples_split = 2, min_samples_leaf = 1;
  std::uint64_t seed = 0;
};

// Arrays as of tree::Forest. A leaf's value is its expected mortality: the sum of its cumulative
// hazard over all event times of the table. Its steps are where its curves change: the number of
// the event time, the cumulative hazard (Nelson-Aalen) and survival (Kaplan-Meier) from then on.
struct SurvivalTree {
  std::vector<std::int32_t> feature, right, category_set, step_time;
  std::vector<double> threshold, weight, gain, value, step_hazard, step_survival;
  std::vector<std::uint8_t> missing_left;
  std::vector<std::uint64_t> words;
  std::vector<std::int64_t> first_word{0}, first_step{0};
};

// Grows the tree of a number on the rows of positive copies.
SurvivalTree grow_survival_tree(const SurvivalTable& table, const std::int64_t* copies,
                                const SurvivalParams& params, std::uint64_t number);

}  // namespace weald::survival
