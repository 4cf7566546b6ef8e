// What the rows of a leaf of numbers still differ by.
#pragma once

#include <cstdint>
#include <string_view>

#include "channels.hpp"

namespace weald {

// Its weight times its impurity, in the units of gains: what splits of rows that all differ would
// gain. 0 for classes, whose shares tell it. Sums are exact: the order of rows cannot matter.
double left_to_gain(std::string_view criterion, const Channels& channels, const Row* rows,
                    std::int64_t n);

}  // namespace weald
