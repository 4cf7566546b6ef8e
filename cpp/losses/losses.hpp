// The list of losses. To add one: write its header, name it here.
#pragma once
#include <concepts>
#include <string_view>

#include "losses/log_loss.hpp"
#include "losses/squared_error.hpp"
#include "named_list.hpp"

namespace weald {

// Gradients and losses are written for rows [begin, end); gradient[score][row], without weights.
template <class L>
concept Loss = requires(const Scored& rows, Range range, double x, int n_scores, double* out) {
  { L::name } -> std::convertible_to<std::string_view>;
  { L::unit_hessian } -> std::convertible_to<bool>;
  { L::gradients(rows, range, out, out) };
  { L::losses(rows, range, out) };
  { L::base_score(x, n_scores) } -> std::same_as<double>;
  { L::predict(out, n_scores, out) };
};

template <Loss... All>
using LossList = NamedList<All...>;

using AllLosses = LossList<SquaredError, LogLoss>;

}  // namespace weald
