// The list of split criteria. To add one: write its header and add it to AllCriteria.
#pragma once
#include <concepts>
#include <string_view>
#include <type_traits>

#include "base/named_list.hpp"
#include "base/types.hpp"
#include "criteria/entropy.hpp"
#include "criteria/gini.hpp"
#include "criteria/newton.hpp"
#include "criteria/poisson.hpp"
#include "criteria/variance.hpp"

namespace weald::criteria {

// gain(split) = score(left) + score(right) - score(parent). Channels may have any unit: a gain
// scales with it, or with its square for a quadratic criterion.
template <class C>
concept Criterion = requires(const Sums& node, const Penalty& penalty, double x) {
  { C::name } -> std::convertible_to<std::string_view>;
  { C::is_quadratic } -> std::convertible_to<bool>;
  { C::sums_of } -> std::convertible_to<SumsOf>;
  {
    C::needs_positive_sums
  } -> std::convertible_to<bool>;  // required of each child, in every channel
  { C::score(node, penalty) } -> std::same_as<double>;
  { C::leaf_value(x, x, penalty) } -> std::same_as<double>;
};

// A criterion whose score is a quotient of non-negative numbers (or less, under a penalty or
// bounds), so that two scores can be compared without division.
template <class C>
concept Quotient = Criterion<C> && requires(const Sums& node, const Penalty& penalty) {
  { C::numerator(node) } -> std::same_as<double>;
  { C::denominator(node, penalty) } -> std::same_as<double>;
};

// A regression criterion whose leaf values are means also defines a row's contribution to the
// impurity of its leaf, which is never negative.
template <class C>
concept HasRowImpurity = Criterion<C> && requires(double x) {
  { C::row_impurity(x, x) } -> std::same_as<double>;
};
// Requirements of a criterion; nothing is inferred from its name.
template <class C>
concept ListedCriterion = Criterion<C> && (C::sums_of != SumsOf::numbers || HasRowImpurity<C>);

// With sums in units of 2^unit, gains are in units of 2 to this power.
template <Criterion C>
constexpr int gain_exponent(int unit) {
  return C::is_quadratic ? 2 * unit : unit;
}

template <ListedCriterion... All>
using CriterionList = NamedList<All...>;

using AllCriteria = CriterionList<Newton, Variance, Gini, Entropy, PoissonDeviance>;

// Forests are grown on targets, not on gradients.
template <Criterion C>
struct IsOfTargets : std::bool_constant<C::sums_of != SumsOf::gradients> {};
using ForestCriteria = AllCriteria::Where<IsOfTargets>;

}  // namespace weald::criteria
