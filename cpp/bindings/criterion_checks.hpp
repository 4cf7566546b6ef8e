// Checks whether a target is valid for a criterion.
#pragma once

#include <optional>
#include <string>

#include "bindings/border.hpp"
#include "criteria/criteria.hpp"

namespace weald::bindings {

// `numbers` are the sums or values, unless the target is classes.
template <class Array>
void check_criterion(const std::string& criterion, const std::optional<Array>& numbers) {
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    const std::string name = C::name;
    // Quadratic criteria also accept class probabilities, one row of sums per class.
    const bool are_shares = numbers && C::is_quadratic && numbers->ndim() == 2;
    require(C::sums_of != weald::SumsOf::classes || !numbers || are_shares,
            ("the " + name + " criterion requires classes").c_str());
    require(C::sums_of != weald::SumsOf::gradients || numbers,
            ("the " + name + " criterion requires sums").c_str());
    require(!C::needs_positive_sums || is_not_negative(numbers),
            ("the " + name + " criterion requires non-negative values").c_str());
  });
}

// Whether each child must have a positive sum: then only one output is supported.
inline bool needs_positive_sums(const std::string& criterion) {
  bool needs = false;
  criteria::AllCriteria::with_name(criterion, [&](auto one) { needs = one.needs_positive_sums; });
  return needs;
}

// Whether forests and option trees support it: criteria of targets, not of gradients.
inline bool is_of_targets(const std::string& criterion) {
  return criteria::ForestCriteria::with_name(criterion, [](auto) {});
}

}  // namespace weald::bindings
