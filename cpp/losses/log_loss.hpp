// Log loss: one score (log odds of class 1) for two classes, one score per class otherwise.
#pragma once
#include "losses/softmax.hpp"

namespace weald::losses {
struct LogLoss : Softmax<LogLoss> {
  static constexpr const char* name = "log_loss";
  static constexpr Targets targets = Targets::classes;
  static constexpr bool is_reported_twice = true;

  WEALD_HOST_DEVICE static double share(const Scored& rows, std::int64_t row, int k) {
    return rows.y[row] == static_cast<double>(k) ? 1.0 : 0.0;
  }
  WEALD_HOST_DEVICE static void losses(const Scored& rows, Range range, double* loss) {
    if (rows.n_scores == 1) {
      for (std::int64_t row = range.begin; row < range.end; ++row)
        loss[row] = softmax::two_class_loss(rows.y[row], rows.scores[row]);
      return;
    }
    softmax::LogSums sums;
    for (std::int64_t begin = range.begin; begin < range.end; begin += softmax::block) {
      const int size = softmax::log_sums(rows, {begin, range.end}, sums);
      for (int i = 0; i < size; ++i) {
        const auto own = static_cast<std::int64_t>(rows.y[begin + i]);
        loss[begin + i] = sums.rest[i] + (sums.top[i] - rows.scores[own * rows.n_rows + begin + i]);
      }
    }
  }
};
}  // namespace weald::losses
