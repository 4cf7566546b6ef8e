#include "explain/shap_layout.hpp"

#include <algorithm>
#include <cmath>

namespace weald::explain {
ShapColumns::ShapColumns(const tree::Forest& forest, const std::int32_t* player_of_column,
                         std::int64_t n_columns, std::int64_t n_players)
    : slot_of_column(static_cast<std::size_t>(n_columns), -1) {
  std::vector<std::int32_t> index(static_cast<std::size_t>(n_players), -1);
  for (std::int64_t i = 0; i < forest.n_nodes; ++i)
    if (forest.feature[i] >= 0) slot_of_column[forest.feature[i]] = 0;
  for (std::int64_t column = 0; column < n_columns; ++column) {
    if (slot_of_column[column] < 0) continue;
    slot_of_column[column] = static_cast<std::int32_t>(columns.size());
    columns.push_back(static_cast<std::int32_t>(column));
    std::int32_t& player = index[player_of_column[column]];
    if (player < 0) {
      player = static_cast<std::int32_t>(players.size());
      players.push_back(player_of_column[column]);
    }
    player_of_slot.push_back(player);
  }
}

void ShapLayout::pop(std::vector<ShapAncestor>& path) {
  last_[path.back().player] = path.back().above;
  path.pop_back();
}

bool ShapLayout::lay_out(std::int64_t tree) {
  tree_ = tree;
  depth_ = 0;
  n_players_ = 0;
  n_patterns_ = 0.0;
  steps_.clear();
  node_of_step_.clear();
  share_above_.clear();
  nodes_with_sets_.clear();
  last_.assign(columns_.players.size(), -1);
  path_.clear();
  const std::int64_t begin = forest_.first_node[tree];
  const std::int64_t n = forest_.first_node[tree + 1] - begin;
  const std::int32_t *const feature = forest_.feature + begin, *const right = forest_.right + begin;
  for (std::int64_t i = 0; i < n; ++i) {
    if (feature[i] < 0) continue;
    // The first node after the left subtree of an ancestor is its right child.
    const bool is_right = !path_.empty() && i != path_.back().node + 1;
    if (is_right) {
      while (right[path_.back().node] != i) pop(path_);
      path_.back().share = path_.back().right_share;
    }
    const std::int64_t right_child = right[i];
    const std::int32_t slot = columns_.slot_of_column[feature[i]];
    kernels::ShapStep step{};
    step.threshold = forest_.threshold[begin + i];
    step.left_share = share_of_left(weight_[begin + i + 1], weight_[begin + right_child]);
    step.slot = slot;
    step.player = columns_.player_of_slot[slot];
    step.above = last_[step.player];
    step.side = -1;
    if (forest_.set_of(begin + i) >= 0) {
      step.side = static_cast<std::int32_t>(nodes_with_sets_.size());
      nodes_with_sets_.push_back(static_cast<std::int32_t>(steps_.size()));
    }
    step.missing_left = forest_.missing_left[begin + i] != 0;
    step.left_is_leaf = feature[i + 1] < 0;
    step.right_is_leaf = feature[right_child] < 0;
    step.is_right = is_right;
    const double above = step.above < 0 ? 1.0 : path_[step.above].share;
    const int n_above = path_.empty() ? 0 : path_.back().n_players;
    const double left_share = above * step.left_share;
    const double right_share = above * (1.0 - step.left_share);
    last_[step.player] = static_cast<std::int32_t>(path_.size());
    path_.push_back({i, step.player, step.above, n_above + (step.above < 0), left_share,
                     right_share, left_share});
    const int n_here = path_.back().n_players;
    n_players_ = std::max(n_players_, n_here);
    n_patterns_ += (step.left_is_leaf + step.right_is_leaf) * std::ldexp(n_here, n_here);
    depth_ = std::max(depth_, static_cast<std::int64_t>(path_.size()));
    steps_.push_back(step);
    node_of_step_.push_back(begin + i);
    share_above_.push_back(above);
  }
  return !steps_.empty();
}

void ShapLayout::set_values(int output) {
  const std::int64_t begin = forest_.first_node[tree_], first = forest_.first_leaf[tree_];
  const int column = forest_.output[tree_] < 0 ? output : 0;
  const auto value_of = [&](std::int64_t node) {
    const std::int64_t leaf = first + forest_.right[node];
    return forest_.tree_weight[tree_] * forest_.value[leaf * forest_.n_values + column];
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::int64_t node = node_of_step_[s];
    if (steps_[s].left_is_leaf) steps_[s].left_value = value_of(node + 1);
    if (steps_[s].right_is_leaf) steps_[s].right_value = value_of(begin + forest_.right[node]);
  }
}

// With W the share of all conditions on the step's player above it (1 if there are none), w that of
// the left child, p a point: F = W + p (1 - W), the factor of the player so far.
void ShapLayout::set_constants(bool has_pairs, const Quadrature& rule) {
  rule_ = &rule;
  const auto n = static_cast<std::size_t>(n_points());
  const double* const points = rule_->points.data();
  constants_.resize(steps_.size() * (has_pairs ? 5 : 3) * n);
  double* to = constants_.data();
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    kernels::ShapStep& step = steps_[s];
    step.constants = to - constants_.data();
    const double above = share_above_[s], left = above * step.left_share;
    double *const if_right = to, *const if_left = to + n, *const scale = to + 2 * n;
    for (std::size_t q = 0; q < n; ++q) {
      const double inverse = 1.0 / (above + points[q] * (1.0 - above));
      if_right[q] = left * (1.0 - points[q]) * inverse;
      if_left[q] = if_right[q] + points[q] * inverse;
      scale[q] = above * inverse * inverse;
    }
    to += (has_pairs || step.above >= 0 ? 3 : 2) * n;
    if (!has_pairs) continue;
    for (const double share : {left, above * (1.0 - step.left_share)}) {
      for (std::size_t q = 0; q < n; ++q)
        to[q] = (1.0 - share) / (share + points[q] * (1.0 - share));
      to += n;
    }
  }
  unmet_.resize(n);
  for (std::size_t q = 0; q < n; ++q) unmet_[q] = -1.0 / (1.0 - points[q]);
}

kernels::ShapTree ShapLayout::tree() const {
  return {steps_.data(), static_cast<std::int64_t>(steps_.size()),
          n_points(),    rule_->weights.data(),
          unmet_.data(), constants_.data()};
}

void ShapLayout::set_sides(const double* x, std::vector<std::uint8_t>& sides) const {
  sides.resize(nodes_with_sets_.size());
  for (std::size_t i = 0; i < nodes_with_sets_.size(); ++i) {
    const kernels::ShapStep& step = steps_[nodes_with_sets_[i]];
    const std::int32_t set = forest_.set_of(node_of_step_[nodes_with_sets_[i]]);
    unsigned bits = 0;
    for (int row = 0; row < kernels::shap_rows; ++row) {
      const double level = x[std::int64_t{step.slot} * kernels::shap_rows + row];
      bits |= unsigned{forest_.sends_left(set, level, step.missing_left)} << row;
    }
    sides[i] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace weald::explain
