// Gini impurity: channels are class weights; score = sum of S^2 / W.
#pragma once
#include "criteria/variance.hpp"

namespace weald::criteria {
// With one-hot channels the decrease of Gini impurity, weighted by W, is that of the variance.
struct Gini : Variance {
  static constexpr const char* name = "gini";
  static constexpr SumsOf sums_of = SumsOf::classes;
};
}  // namespace weald::criteria
