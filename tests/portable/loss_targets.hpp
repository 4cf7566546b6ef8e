// What the losses of the core are fed with: a parameter, and targets that they take.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "losses/losses.hpp"

namespace weald {

template <weald::losses::Loss L>
constexpr bool is_of_classes =
    L::targets == weald::losses::Targets::classes || L::targets == weald::losses::Targets::shares;

// A level, a width, and a power between 1 and 2.
template <weald::losses::Loss L>
constexpr double parameter_of = L::caps_steps ? 1.5 : 0.75;

// From numbers or class numbers to amounts and shares, where the loss takes those.
template <weald::losses::Loss L>
std::vector<double> suited(std::vector<double> y, int n_scores) {
  if (L::caps_steps)
    for (double& amount : y) amount = std::abs(amount) + 0x1p-10;
  if (L::targets != weald::losses::Targets::shares || n_scores == 1) return y;
  std::vector<double> shares(y.size() * static_cast<std::size_t>(n_scores), 0.0);
  for (std::size_t row = 0; row < y.size(); ++row)
    shares[static_cast<std::size_t>(y[row]) * y.size() + row] = 1.0;
  return shares;
}

}  // namespace weald
