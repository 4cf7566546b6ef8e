// Scores of the two sides of a decision stump.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "base/elementary.hpp"

namespace weald::criteria {

// Score of one side from its class weights, which sum to `weight` > 0; larger is better. All three
// are convex, so the sum over both sides is maximal in a corner of any box.
struct LeastError {
  static constexpr std::string_view name = "error";
  template <class Side>
  static double score(const Side& side, int n_classes, double) {
    double most = side(0);
    for (int k = 1; k < n_classes; ++k) most = side(k) > most ? side(k) : most;
    return most;
  }
};

struct LeastGini {
  static constexpr std::string_view name = "gini";
  template <class Side>
  static double score(const Side& side, int n_classes, double weight) {
    double squares = 0.0;
    for (int k = 0; k < n_classes; ++k) squares += side(k) * side(k);
    return squares / weight;
  }
};

struct LeastEntropy {
  static constexpr std::string_view name = "entropy";
  template <class Side>
  static double score(const Side& side, int n_classes, double weight) {
    double total = 0.0;
    for (int k = 0; k < n_classes; ++k) {
      const double sum = side(k);
      if (sum > 0.0) total += sum * elementary::log2(sum / weight);
    }
    return total;
  }
};

template <class Side>
double weight_of(const Side& side, int n_classes) {
  double weight = 0.0;
  for (int k = 0; k < n_classes; ++k) weight += side(k);
  return weight;
}

inline double weight_of(const std::vector<double>& sums) {
  return weight_of([&](int k) { return sums[k]; }, static_cast<int>(sums.size()));
}

// Score of both sides; `if_empty` if one has no rows.
template <class Criterion, class Side>
double score_of(const Side& left, const double* totals, int n_classes, double if_empty) {
  const auto right = [&](int k) { return totals[k] - left(k); };
  const double left_weight = weight_of(left, n_classes);
  const double right_weight = weight_of(right, n_classes);
  const double score = Criterion::score(left, n_classes, left_weight) +
                       Criterion::score(right, n_classes, right_weight);
  return ((left_weight > 0.0) & (right_weight > 0.0)) ? score : if_empty;
}

}  // namespace weald::criteria
