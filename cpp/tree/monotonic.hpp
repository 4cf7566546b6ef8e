// Answers that rise or fall along a column: what a split asks of all leaves below it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.hpp"
#include "criteria/criteria.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::tree {

// What a node of such integer sums would answer, of the channel that a direction is about.
template <criteria::Criterion C>
double directed_value(const target::Channels& channels, const std::int64_t* totals,
                      const Penalty& penalty) {
  return C::leaf_value(channels.true_sum(totals, channels.directed()), channels.true_weight(totals),
                       penalty);
}

// The middle of what the children of a split answer.
inline double middle_of(std::string_view criterion, const target::Channels& channels,
                        const split::Split& split, const std::int64_t* left,
                        const std::int64_t* right, const Penalty& penalty) {
  double middle = split.middle;  // of medians: the engine has told it
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    middle = directed_value<C>(channels, left, penalty) / 2 +
             directed_value<C>(channels, right, penalty) / 2;
  });
  return middle;
}

// All leaves below two children that must rise (or fall) keep to their side of the middle of the
// children's own answers. Both have the bounds of their parent before.
inline void part_bounds(double direction, double middle, Bounds& left, Bounds& right) {
  (direction > 0.0 ? left : right).upper = middle;
  (direction > 0.0 ? right : left).lower = middle;
}

// Moves what a leaf answers into its bounds. Of two classes the second is held, and the first is
// the rest.
inline void hold(double* value, int n_outputs, const Bounds& bounds) {
  if (!bounds.any()) return;
  double& directed = value[n_outputs - 1];
  directed = bounds.held(directed);
  if (n_outputs == 2) value[0] = 1.0 - directed;
}

}  // namespace weald::tree
