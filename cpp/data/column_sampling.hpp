// Random columns of a forest's node, drawn one after another.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/draws.hpp"

namespace weald::data {

// Columns that are constant in a node, and hence in its subtree, and need not be searched again.
// Tracks the first 256 columns only.
class ConstantFeatures {
 public:
  bool has(int column) const {
    return column < most && (words_[column / 64] >> (column % 64) & 1) != 0;
  }
  void add(int column) {
    if (column < most) words_[column / 64] |= std::uint64_t{1} << (column % 64);
  }

 private:
  static constexpr int most = 256;
  std::array<std::uint64_t, most / 64> words_{};
};

// Partial Fisher-Yates shuffle: the j-th drawn column is swapped to position j, and all swaps are
// undone at the end, so that the columns of a node depend on its random stream only.
class ColumnSampler {
 public:
  // A node searches `wanted` columns, and further ones only while none of them can be split.
  void start(int n_columns, int wanted) {
    order_.resize(static_cast<std::size_t>(n_columns));
    for (int c = 0; c < n_columns; ++c) order_[c] = c;
    swaps_.resize(order_.size());
    n_drawn_ = 0;
    wanted_ = wanted;
    most_ = n_columns;
    is_of_tree_ = false;
  }
  // Draw one subset for all nodes of the tree.
  void draw_for_tree(const Draws& draws) {
    for (int j = 0; j < wanted_; ++j) std::swap(order_[j], order_[place_of(j, draws)]);
    most_ = wanted_;
    is_of_tree_ = true;
  }

  int wanted() const { return wanted_; }
  int most() const { return most_; }
  int draw(int j, const Draws& draws) {
    if (!is_of_tree_) {
      const int k = place_of(j, draws);
      std::swap(order_[j], order_[k]);
      swaps_[n_drawn_++] = k;
    }
    return order_[j];
  }
  void put_back() {
    for (int j = n_drawn_; j-- > 0;) std::swap(order_[j], order_[swaps_[j]]);
    n_drawn_ = 0;
  }

 private:
  int place_of(int j, const Draws& draws) const {
    const auto rest = static_cast<std::uint64_t>(static_cast<int>(order_.size()) - j);
    return j + static_cast<int>(draws.below(static_cast<std::uint64_t>(j), rest));
  }

  std::vector<int> order_;  // all columns; drawn ones are moved to the front
  std::vector<int> swaps_;  // to undo the swaps
  int n_drawn_ = 0, wanted_ = 1, most_ = 1;
  bool is_of_tree_ = false;
};

}  // namespace weald::data
