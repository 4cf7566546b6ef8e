// Small nodes of plain trees of several classes.
#pragma once

#include <cstdint>
#include <memory>

#include "forest_thicket.hpp"

namespace weald {

// Null where there are too many classes for a few words. Whether trees are plain else is for the
// caller to know.
template <class Impurity>
std::unique_ptr<Thicket> make_class_thicket(const RankedTable& table, DrawnColumns& columns,
                                            const Channels& channels, std::int64_t max_depth);

}  // namespace weald
