// The derivatives of a loss at the scores so far, computed when they are asked for.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.hpp"
#include "losses/scored.hpp"

namespace weald::target {

// Of a loss with one score. A few rows at a time stay in the nearest cache: those of all rows, 16
// bytes each, need not be kept.
struct LossAt {
  static constexpr std::int64_t near_rows = 1024;

  std::string_view loss;
  losses::Scored rows;
  const std::uint8_t* labels;  // the classes of rows, a byte each; null: these are in rows.y
  bool has_hessian;            // false: 1 each

  LossAt(std::string_view of_loss, const losses::Scored& at,
         const std::uint8_t* of_labels = nullptr);

  // Gradients and hessians of consecutive rows, or of any; both include the weight, not copies.
  // At most near_rows of the latter.
  void write(std::int64_t begin, std::int64_t n, double* gradient, double* hessian) const;
  void write(const Row* some, std::int64_t n, double* gradient, double* hessian) const;
};

// Room for what is computed.
struct NearPairs {
  double g[LossAt::near_rows], h[LossAt::near_rows];
};

}  // namespace weald::target
