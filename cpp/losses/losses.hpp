// The list of losses. To add one: write its header, name it here.
#pragma once
#include <concepts>
#include <string_view>

#include "losses/log_loss.hpp"
#include "losses/squared_error.hpp"

namespace weald {

// y is the target of a row (a class number for classification), `score` its n_scores raw scores.
template <class L>
concept Loss = requires(double y, const double* score, int n_scores, double* out) {
  { L::name } -> std::convertible_to<std::string_view>;
  { L::unit_hessian } -> std::convertible_to<bool>;
  { L::gradients(y, score, n_scores, out, out) };
  { L::loss(y, score, n_scores) } -> std::same_as<double>;
  { L::base_score(y, n_scores) } -> std::same_as<double>;
  { L::predict(score, n_scores, out) };
};

template <Loss... All>
struct LossList {
  template <class F>
  static void for_each(F&& visit) {
    (visit(All{}), ...);
  }
  template <class F>
  static bool with_name(std::string_view name, F&& visit) {
    return ((name == All::name && (visit(All{}), true)) || ...);
  }
};

using AllLosses = LossList<SquaredError, LogLoss>;

}  // namespace weald
