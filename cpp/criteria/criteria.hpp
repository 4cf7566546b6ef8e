// The list of split criteria. To add one: write its header, name it here.
#pragma once
#include <concepts>
#include <string_view>

#include "criteria/entropy.hpp"
#include "criteria/gini.hpp"
#include "criteria/newton.hpp"
#include "criteria/poisson.hpp"
#include "criteria/variance.hpp"
#include "named_list.hpp"
#include "shared.hpp"

namespace weald {

// gain(split) = score(left) + score(right) - score(parent). Channels may be measured in any unit: a
// gain scales by it, that of a quadratic criterion by its square.
template <class C>
concept Criterion = requires(const Sums& node, const Penalty& penalty, double x) {
  { C::name } -> std::convertible_to<std::string_view>;
  { C::is_quadratic } -> std::convertible_to<bool>;
  { C::score(node, penalty) } -> std::same_as<double>;
  { C::leaf_value(x, x, penalty) } -> std::same_as<double>;
};

// A criterion whose score is a quotient of numbers that are not negative, or less where a penalty
// or bounds take from it: two scores can be compared without division.
template <class C>
concept Quotient = Criterion<C> && requires(const Sums& node, const Penalty& penalty) {
  { C::numerator(node) } -> std::same_as<double>;
  { C::denominator(node, penalty) } -> std::same_as<double>;
};

// A criterion that admits no child whose sum in some channel is 0.
template <class C>
concept NeedsPositiveSums = Criterion<C> && requires { requires C::needs_positive_sums; };

// Where sums are in units of 2^unit, gains are in units of 2 to this power.
template <Criterion C>
constexpr int gain_exponent(int unit) {
  return C::is_quadratic ? 2 * unit : unit;
}

template <Criterion... All>
using CriterionList = NamedList<All...>;

using AllCriteria = CriterionList<Newton, Variance, Gini, Entropy, PoissonDeviance>;

}  // namespace weald
