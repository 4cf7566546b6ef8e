// Minimum child weight implied by the limits, in the integer units of the sums.
#pragma once

#include <algorithm>
#include <cstdint>

#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::split {

// As a number to compare weights with.
inline double least_weight(const target::Channels& channels, const SplitLimits& limits) {
  const std::int64_t one = 1;
  double least = std::max(1.0, limits.min_child_weight / channels.weight_of(&one));
  if (channels.count_index() == 0)
    least = std::max(least, static_cast<double>(limits.min_samples_leaf));
  return least;
}

}  // namespace weald::split
