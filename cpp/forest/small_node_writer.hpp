// Appends the nodes of a small subtree to a tree.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/ranks.hpp"
#include "tree/tree.hpp"

namespace weald::forest {

// A split of a small node, by rank or by threshold.
struct SmallCut {
  static constexpr int all_values =
      data::most_ranks + 1;  // as a rank: only missing values go right

  int column = -1, rank = 0, next = 0;
  bool missing_left = false;
  double threshold = 0.0;  // of a random threshold
};

// Writes nodes in the order in which they are opened (pre-order).
template <int most_rows>
class SmallNodeWriter {
 public:
  SmallNodeWriter(const data::RankedTable& table, int n_outputs)
      : table_(table), n_outputs_(n_outputs) {}

  void begin(tree::Tree& tree, std::vector<std::uint32_t>* limits, int n_rows) {
    const std::size_t node = tree.feature.size(), leaf = tree.value.size();
    resize_to(tree, limits, node + static_cast<std::size_t>(2 * n_rows - 1),
              leaf + static_cast<std::size_t>(n_rows * n_outputs_));
    feature_ = tree.feature.data() + node;
    right_ = tree.right.data() + node;
    threshold_ = tree.threshold.data() + node;
    weight_ = tree.weight.data() + node;
    gain_ = tree.gain.data() + node;
    missing_left_ = tree.missing_left.data() + node;
    value_ = tree.value.data() + leaf;
    limit_ = limits ? limits->data() + node : nullptr;
    n_nodes_ = n_leaves_ = 0;
    first_node_ = static_cast<int>(node);
    first_leaf_ = static_cast<int>(leaf / static_cast<std::size_t>(n_outputs_));
  }
  // Shrinks the arrays, which were sized for the worst case.
  void end(tree::Tree& tree, std::vector<std::uint32_t>* limits, bool by_rank) {
    if (by_rank) write_thresholds();
    resize_to(tree, limits, static_cast<std::size_t>(first_node_ + n_nodes_),
              static_cast<std::size_t>((first_leaf_ + n_leaves_) * std::int64_t{n_outputs_}));
  }

  int open() { return n_nodes_++; }
  double& gain(int place) { return gain_[place]; }
  void right_is_next(int place) { right_[place] = first_node_ + n_nodes_; }

  void split(int place, const SmallCut& cut, std::int64_t weight) {
    feature_[place] = cut.column;
    threshold_[place] = cut.threshold;
    missing_left_[place] = cut.missing_left;
    weight_[place] = static_cast<double>(weight);
    if (limit_ != nullptr) limit_[place] = static_cast<std::uint32_t>(cut.rank);
    ranks_[place] = {cut.rank, cut.next};
  }
  // Returns where to write the values of the leaf.
  double* leaf(int place, std::int64_t weight) {
    feature_[place] = -1;
    threshold_[place] = 0.0;
    missing_left_[place] = 0;
    weight_[place] = static_cast<double>(weight);
    gain_[place] = 0.0;
    if (limit_ != nullptr) limit_[place] = 0;
    const int leaf = n_leaves_++;
    right_[place] = first_leaf_ + leaf;
    return value_ + leaf * n_outputs_;
  }

 private:
  static void resize_to(tree::Tree& tree, std::vector<std::uint32_t>* limits, std::size_t n_nodes,
                        std::size_t n_values) {
    for (auto* const array : {&tree.threshold, &tree.weight, &tree.gain}) array->resize(n_nodes);
    for (auto* const array : {&tree.feature, &tree.right}) array->resize(n_nodes);
    tree.missing_left.resize(n_nodes);
    tree.value.resize(n_values);
    if (limits) limits->resize(n_nodes);
  }
  // Looking up values of ranks misses the cache; in one loop the misses overlap.
  void write_thresholds() {
    for (int place = 0; place < n_nodes_; ++place) {
      const int column = feature_[place];
      if (column < 0) continue;
      const auto [rank, next] = ranks_[place];
      if (rank != SmallCut::all_values) threshold_[place] = table_.threshold(column, rank, next);
      if (limit_ == nullptr) continue;
      limit_[place] = static_cast<std::uint32_t>(
          rank == SmallCut::all_values ? rank : table_.last_up_to(column, rank, threshold_[place]));
    }
  }

  const data::RankedTable& table_;
  int n_outputs_;
  std::int32_t *feature_ = nullptr, *right_ = nullptr;
  double *threshold_ = nullptr, *weight_ = nullptr, *gain_ = nullptr, *value_ = nullptr;
  std::uint8_t* missing_left_ = nullptr;
  std::uint32_t* limit_ = nullptr;
  int n_nodes_ = 0, n_leaves_ = 0, first_node_ = 0, first_leaf_ = 0;
  std::array<std::pair<int, int>, 2 * most_rows> ranks_;  // last rank on the left, next rank
};

}  // namespace weald::forest
