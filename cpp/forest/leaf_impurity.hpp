// What the rows of a leaf of numbers still differ by.
#pragma once

#include <cstdint>
#include <string_view>

#include "target/channels.hpp"

namespace weald::forest {

// Its weight times its impurity, in the units of gains: what splits of rows that all differ would
// gain. 0 for classes, whose shares tell it. Sums are exact: the order of rows cannot matter.
double leaf_impurity(std::string_view criterion, const target::Channels& channels, const Row* rows,
                     std::int64_t n);

}  // namespace weald::forest
