// Small nodes of plain trees of several classes.
#pragma once

#include <cstdint>
#include <memory>

#include "forest/small_nodes.hpp"

namespace weald::forest {

// Null where there are too many classes for a few words. Whether trees are plain else is for the
// caller to know.
template <class Impurity>
std::unique_ptr<SmallNodes> make_small_class_nodes(const data::RankedTable& table,
                                                   data::ColumnSampler& columns,
                                                   const target::Channels& channels,
                                                   std::int64_t max_depth);

}  // namespace weald::forest
