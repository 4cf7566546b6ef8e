#include "explain/row_patterns.hpp"

namespace weald::explain {

void find_sides(const tree::Forest& forest, std::int64_t node, const RowColumns& rows,
                std::int32_t slot, std::uint8_t* left) {
  const double* const x = rows.of(slot);
  const bool missing_left = forest.missing_left[node] != 0;
  if (const std::int32_t set = forest.set_of(node); set >= 0) {
    for (std::int64_t i = 0; i < rows.n_rows(); ++i)
      left[i] = forest.sends_left(set, x[i], missing_left);
    return;
  }
  const double threshold = forest.threshold[node];
  for (std::int64_t i = 0; i < rows.n_rows(); ++i)
    left[i] = static_cast<std::uint8_t>((x[i] <= threshold) | ((x[i] != x[i]) & missing_left));
}

// Push a split; its patterns are those of levels_[depth_].
void PatternWalk::enter(std::int64_t node, const RowColumns& rows) {
  Level& level = levels_[depth_++];
  const std::int32_t slot = columns_.slot_of_column[forest_.feature[node]];
  level.node = node;
  level.player = columns_.player_of_slot[slot];
  int& bit = bit_of_player_[level.player];
  level.is_new = bit < 0;
  if (level.is_new) {
    bit = static_cast<int>(players_.size());
    players_.push_back(level.player);
  }
  level.bit = bit;
  level.left.resize(static_cast<std::size_t>(rows.n_rows()));
  find_sides(forest_, node, rows, slot, level.left.data());
}

void PatternWalk::pop() {
  const Level& level = levels_[--depth_];
  if (!level.is_new) return;
  bit_of_player_[level.player] = -1;
  players_.pop_back();
}

// The patterns of a child of the last split.
void PatternWalk::follow(bool to_left, const RowColumns& rows) {
  if (levels_.size() == depth_) levels_.resize(depth_ + 1);
  const Level& from = levels_[depth_ - 1];
  std::vector<std::uint16_t>& to = levels_[depth_].patterns;
  to.resize(static_cast<std::size_t>(rows.n_rows()));
  const std::uint8_t other = to_left ? 0 : 1;
  const auto bit = static_cast<std::uint16_t>(1u << from.bit);
  if (from.is_new) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<std::uint16_t>(from.patterns[i] | ((from.left[i] ^ other) << from.bit));
    return;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto kept = static_cast<std::uint16_t>(~(bit & ((from.left[i] ^ other) - 1)));
    to[i] = from.patterns[i] & kept;
  }
}

}  // namespace weald::explain
