// The list of losses. To add one: write its header and add it to AllLosses.
#pragma once
#include <concepts>
#include <string_view>

#include "base/named_list.hpp"
#include "losses/absolute_error.hpp"
#include "losses/exponential.hpp"
#include "losses/gamma.hpp"
#include "losses/huber.hpp"
#include "losses/kl.hpp"
#include "losses/log_loss.hpp"
#include "losses/poisson.hpp"
#include "losses/quantile.hpp"
#include "losses/squared_error.hpp"
#include "losses/tweedie.hpp"

namespace weald::losses {

// Gradients and losses are written for rows [begin, end); gradient[score][row], unweighted. The
// flags are explained in scored.hpp; a loss whose best constant is a quantile defines level(). The
// degrees describe scaling: if targets and predictions are multiplied by c, a gradient is
// multiplied by c^gradient_degree, and so on. `is_reported_twice`: with one score, scikit-learn's
// gradient boosting reports twice this loss, having no factor 1/2 in the squared error and the
// binomial deviance.
template <class L>
concept Loss = requires(const Scored& rows, Range range, double x, int n_scores, double* out) {
  { L::name } -> std::convertible_to<std::string_view>;
  { L::hessian } -> std::convertible_to<Hessian>;
  { L::best_constant } -> std::convertible_to<BestConstant>;
  { L::targets } -> std::convertible_to<Targets>;
  { L::has_many_scores } -> std::convertible_to<bool>;
  { L::has_many_predictions } -> std::convertible_to<bool>;  // several predictions per row
  { L::has_parameter } -> std::convertible_to<bool>;
  { L::gradient_degree(x) } -> std::same_as<double>;
  { L::hessian_degree(x) } -> std::same_as<double>;
  { L::loss_degree(x) } -> std::same_as<double>;
  { L::is_reported_twice } -> std::convertible_to<bool>;
  { L::admits(x) } -> std::same_as<bool>;
  { L::gradients(rows, range, out, out) };
  { L::losses(rows, range, out) };
  { L::base_score(x, n_scores) } -> std::same_as<double>;
  { L::caps_steps } -> std::convertible_to<bool>;
  { L::capped_step(x, x, x) } -> std::same_as<double>;
  { L::predict(out, n_scores, out) };
};

template <Loss... All>
using LossList = NamedList<All...>;

using AllLosses = LossList<SquaredError, AbsoluteError, Huber, Quantile, Poisson, Gamma, Tweedie,
                           LogLoss, Exponential, KullbackLeibler>;

}  // namespace weald::losses
