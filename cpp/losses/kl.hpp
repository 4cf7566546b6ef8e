// Kullback-Leibler divergence of predicted from target probabilities: log loss for soft targets,
// minus the entropy of the targets.
#pragma once
#include "losses/softmax.hpp"

namespace weald::losses {
struct KullbackLeibler : Softmax<KullbackLeibler> {
  static constexpr const char* name = "kl";
  static constexpr Targets targets = Targets::shares;
  static constexpr bool is_reported_twice = false;

  WEALD_HOST_DEVICE static double share(const Scored& rows, std::int64_t row, int k) {
    return rows.y[k * rows.n_rows + row];
  }
  WEALD_HOST_DEVICE static void losses(const Scored& rows, Range range, double* loss) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      if (rows.n_scores == 1) {
        const double y = rows.y[row];
        loss[row] = log_term(y) + log_term(1.0 - y) + softmax::two_class_loss(y, rows.scores[row]);
        continue;
      }
      const softmax::LogSum sum = softmax::log_sum(rows, row);
      double total = 0.0;
      for (int k = 0; k < rows.n_scores; ++k) {
        const double y = share(rows, row, k), score = rows.scores[k * rows.n_rows + row];
        total += log_term(y) + y * (sum.rest + (sum.top - score));
      }
      loss[row] = total;
    }
  }

 private:
  WEALD_HOST_DEVICE static double log_term(double y) {
    return y > 0.0 ? y * elementary::log(y) : 0.0;
  }
};
}  // namespace weald::losses
