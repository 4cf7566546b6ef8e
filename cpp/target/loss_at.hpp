// Derivatives of a loss at the current scores, computed on demand.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.hpp"
#include "losses/scored.hpp"

namespace weald::target {

// For losses with one score. A block of rows stays in the first-level cache, which saves storing 16
// bytes for each row.
struct LossAt {
  static constexpr std::int64_t near_rows = 1024;

  std::string_view loss;
  losses::Scored rows;
  const std::uint8_t* labels;  // class labels as bytes; null: targets are in rows.y
  bool has_hessian;            // false: 1 each

  LossAt(std::string_view of_loss, const losses::Scored& at,
         const std::uint8_t* of_labels = nullptr);

  // Gradients and hessians of consecutive rows, or of a list of at most near_rows rows; both
  // include weights, not copies.
  void write(std::int64_t begin, std::int64_t n, double* gradient, double* hessian) const;
  void write(const Row* some, std::int64_t n, double* gradient, double* hessian) const;
};

// Scratch for computed derivatives.
struct NearPairs {
  double g[LossAt::near_rows], h[LossAt::near_rows];
};

}  // namespace weald::target
