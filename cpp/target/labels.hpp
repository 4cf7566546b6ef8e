// Multi-output classification: the class channels of all outputs are concatenated.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "target/channels.hpp"

namespace weald::target {

// Adds the integers of a row with any number of labels to a cell of wide sums. Impurities of
// several outputs add up, so that W, shared by all of them, and the sums of all classes suffice for
// any classification criterion.
struct AddLabels {
  const std::int64_t* weights;
  const std::int32_t* classes;
  const std::int64_t* copies;
  std::int64_t n_labels;
  int count;

  explicit AddLabels(const Channels& channels)
      : weights(channels.values()),
        classes(channels.target().classes),
        copies(channels.target().copies),
        n_labels(channels.target().n_labels),
        count(channels.count_index()) {}
  void ask(Row row) const {
    __builtin_prefetch(weights + row);
    __builtin_prefetch(classes + row * n_labels);
  }
  void operator()(std::int64_t* cell, Row row) const {
    const std::int64_t weight = weights[row];
    const std::int32_t* const of_row = classes + row * n_labels;
    cell[0] += weight;
    for (std::int64_t j = 0; j < n_labels; ++j) cell[1 + of_row[j]] += weight;
    if (count > 0) cell[count] += copies ? copies[row] : 1;
  }
};

}  // namespace weald::target
