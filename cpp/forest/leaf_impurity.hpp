// Impurity that is left in a leaf of a regression tree.
#pragma once

#include <cstdint>
#include <string_view>

#include "target/channels.hpp"

namespace weald::forest {

// Weight times impurity, in the units of gains: what splitting all rows apart would gain. 0 for
// classification, where leaf values imply it. Sums are exact, so that row order does not matter.
double leaf_impurity(std::string_view criterion, const target::Channels& channels, const Row* rows,
                     std::int64_t n);

}  // namespace weald::forest
