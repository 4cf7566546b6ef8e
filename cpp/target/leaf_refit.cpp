#include "target/leaf_refit.hpp"

#include "base/memory.hpp"

namespace weald::target {

RefittedLeaves refit_leaves(const RefitRows& rows, const Leaves& leaves, const RefitRules& rules,
                            double* scores, int n_threads) {
  LargeVector<std::int64_t> times(rows.drawn ? static_cast<std::size_t>(leaves.n_rows) : 0);
  for (std::size_t row = 0; row < times.size(); ++row) times[row] = rows.drawn[row] != 0;
  for (std::size_t row = 0; rows.copies && row < times.size(); ++row)
    times[row] *= rows.copies[row];
  const auto n_leaves = static_cast<std::size_t>(leaves.n_leaves);
  RefittedLeaves refitted{std::vector<double>(n_leaves * static_cast<std::size_t>(rows.n_scores)),
                          std::vector<double>(n_leaves)};
  double* const values = refitted.values.data();
  newton_steps(rows.gradient, rows.hessian, rows.drawn ? times.data() : rows.copies, leaves,
               rows.n_scores, rules.l1, rules.l2, values, refitted.hessians.data(), n_threads);
  cap_steps(rules.loss, rules.parameter, rules.rate, values, leaves.n_leaves * rows.n_scores);
  for (double& value : refitted.values) value *= rules.rate;
  add_leaf_values(scores, leaves.of_row, leaves.n_rows, values, leaves.n_leaves, rows.n_scores,
                  n_threads);
  return refitted;
}

}  // namespace weald::target
