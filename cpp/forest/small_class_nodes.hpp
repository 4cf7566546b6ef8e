// Small nodes of plain trees with several classes. A translation unit of its own, because the
// compiler inlines less where there is more to inline.
#pragma once

#include <cstdint>
#include <memory>

#include "forest/small_nodes.hpp"

namespace weald::forest {

// Null if there are too many classes for packed counts.
template <class Impurity>
std::unique_ptr<SmallNodes> make_small_class_nodes(const data::RankedTable& table,
                                                   data::ColumnSampler& columns,
                                                   const target::Channels& channels,
                                                   std::int64_t max_depth);

}  // namespace weald::forest
