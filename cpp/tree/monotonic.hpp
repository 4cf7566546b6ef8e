// Monotonic constraints: bounds that a split imposes on all leaves below it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.hpp"
#include "criteria/criteria.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::tree {

// The value of a node with these integer sums, in the constrained channel.
template <criteria::Criterion C>
double directed_value(const target::Channels& channels, const std::int64_t* totals,
                      const Penalty& penalty) {
  return C::leaf_value(channels.true_sum(totals, channels.directed()), channels.true_weight(totals),
                       penalty);
}

// Midpoint of the values of a split's children.
inline double middle_of(std::string_view criterion, const target::Channels& channels,
                        const split::Split& split, const std::int64_t* left,
                        const std::int64_t* right, const Penalty& penalty) {
  double middle = split.middle;  // of medians: set by the engine
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    middle = directed_value<C>(channels, left, penalty) / 2 +
             directed_value<C>(channels, right, penalty) / 2;
  });
  return middle;
}

// For a constrained column, all leaves below each child stay on its side of the midpoint of the
// children's values. On entry both have the bounds of their parent.
inline void part_bounds(double direction, double middle, Bounds& left, Bounds& right) {
  (direction > 0.0 ? left : right).upper = middle;
  (direction > 0.0 ? right : left).lower = middle;
}

// Clip a leaf value to its bounds. For two classes the second is clipped, and the first is the
// complement.
inline void clip_to_bounds(double* value, int n_outputs, const Bounds& bounds) {
  if (!bounds.any()) return;
  double& directed = value[n_outputs - 1];
  directed = bounds.held(directed);
  if (n_outputs == 2) value[0] = 1.0 - directed;
}

}  // namespace weald::tree
