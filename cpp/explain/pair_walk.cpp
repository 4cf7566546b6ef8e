#include "explain/pair_walk.hpp"

#include <algorithm>

namespace weald::explain {

PairWalk::PairWalk(const tree::Forest& forest, const ShapColumns& columns)
    : forest_(forest), columns_(columns), follows_(columns.players.size(), Follows::both) {}

void PairWalk::lay_out(std::int64_t tree) {
  tree_ = tree;
  const std::int64_t begin = forest_.first_node[tree];
  nodes_.clear();
  std::int64_t depth = 0, most = 0;
  std::vector<std::int64_t> waiting;  // depths of the right children that are yet to come
  for (std::int64_t i = begin; i < forest_.first_node[tree + 1]; ++i) {
    Node node{forest_.threshold[i], -1, -1, -1, forest_.right[i], forest_.missing_left[i] != 0};
    if (forest_.feature[i] >= 0) {
      node.slot = columns_.slot_of_column[forest_.feature[i]];
      node.player = columns_.player_of_slot[node.slot];
      node.set = forest_.set_of(i);
      waiting.push_back(++depth);
      most = std::max(most, depth);
    } else if (!waiting.empty()) {
      depth = waiting.back();
      waiting.pop_back();
    }
    nodes_.push_back(node);
  }
  // At most as many players as splits on a path.
  const std::int64_t width = std::min(most, static_cast<std::int64_t>(columns_.players.size())) + 1;
  if (width <= width_) return;
  width_ = width;
  shares_.resize(static_cast<std::size_t>(width * width));
  for (std::int64_t n = 0; n < width; ++n) {
    shares_[n * width] = 1.0 / static_cast<double>(n + 1);
    for (std::int64_t m = 1; m < width; ++m)
      shares_[n * width + m] =
          shares_[n * width + m - 1] * static_cast<double>(m) / static_cast<double>(n + m + 1);
  }
}

inline bool PairWalk::goes_left(const Node& node, const double* x) const {
  const double value = x[node.slot];
  if (node.set >= 0) return forest_.sends_left(node.set, value, node.missing_left);
  return (value <= node.threshold) | ((value != value) & node.missing_left);
}

void PairWalk::add(const double* x, const double* z, int output, double* phi) {
  const double* const values = forest_.value + forest_.first_leaf[tree_] * forest_.n_values +
                               (forest_.output[tree_] < 0 ? output : 0);
  const double tree_weight = forest_.tree_weight[tree_];
  std::int32_t at = 0;
  int n_row = 0, n_background = 0;
  branches_.clear();
  for (;;) {
    while (nodes_[at].slot >= 0) {
      const Node& node = nodes_[at];
      const Follows own = follows_[node.player];
      const bool row_left = own != Follows::background && goes_left(node, x);
      const bool background_left = own != Follows::row && goes_left(node, z);
      const std::int32_t left = at + 1;
      if (own == Follows::both && row_left != background_left) {
        branches_.push_back({node.player, background_left ? left : node.right, n_row, n_background,
                             false, 0.0, 0.0});
        follows_[node.player] = Follows::row;
        ++n_row;
      }
      at = (own == Follows::background ? background_left : row_left) ? left : node.right;
    }
    const double value = tree_weight * values[nodes_[at].right * std::int64_t{forest_.n_values}];
    double plus = n_row > 0 ? value * share(n_row - 1, n_background) : 0.0;
    double minus = n_background > 0 ? value * share(n_row, n_background - 1) : 0.0;
    for (;; branches_.pop_back()) {
      if (branches_.empty()) return;
      Branch& branch = branches_.back();
      if (!branch.is_second) {
        branch.is_second = true;
        branch.plus = plus;
        branch.minus = minus;
        follows_[branch.player] = Follows::background;
        n_row = branch.n_row;
        n_background = branch.n_background + 1;
        at = branch.other;
        break;
      }
      phi[branch.player] += branch.plus - minus;
      plus += branch.plus;
      minus += branch.minus;
      follows_[branch.player] = Follows::both;
    }
  }
}

}  // namespace weald::explain
