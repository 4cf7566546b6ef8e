// Whether a target is one that a criterion is defined for.
#pragma once

#include <optional>
#include <string>

#include "bindings/border.hpp"
#include "criteria/criteria.hpp"

namespace weald::bindings {

// `numbers` are the sums or values, if the target is no classes.
template <class Array>
void check_criterion(const std::string& criterion, const std::optional<Array>& numbers) {
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    const std::string name = C::name;
    // A share for each class may stand for the class where only squares of sums are looked at.
    const bool are_shares = numbers && C::is_quadratic && numbers->ndim() == 2;
    require(C::sums_of != weald::SumsOf::classes || !numbers || are_shares,
            (name + " is of classes").c_str());
    require(C::sums_of != weald::SumsOf::gradients || numbers,
            ("the " + name + " criterion is of sums").c_str());
    require(!C::needs_positive_sums || is_not_negative(numbers),
            ("the " + name + " criterion is of numbers that are not negative").c_str());
  });
}

// Whether each child must have a positive sum: then a leaf has one output.
inline bool needs_positive_sums(const std::string& criterion) {
  bool needs = false;
  criteria::AllCriteria::with_name(criterion, [&](auto one) { needs = one.needs_positive_sums; });
  return needs;
}

// Whether forests and option trees can be grown by it: those of targets, not of gradients.
inline bool is_of_targets(const std::string& criterion) {
  return criteria::ForestCriteria::with_name(criterion, [](auto) {});
}

}  // namespace weald::bindings
