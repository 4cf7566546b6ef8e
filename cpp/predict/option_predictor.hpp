// Option trees: at a node with options, a row follows all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/table.hpp"
#include "tree/forest.hpp"

namespace weald::predict {

// The one tree of a forest, and for each node the next option of the same rows (0: none). Options
// are stored one after another, each with its subtree:
//
// a  left of a ...  right of a ...  b  left of b ...  right of b ...      next_option[a] = b
//
// Every leaf has a share: 1 at the root, divided evenly among the options on the path. The
// prediction of a row is the sum of share times value over the leaves it reaches, in order; their
// shares add up to 1.
class OptionPredictor {
 public:
  // The tree must be valid (is_sound_option_tree) and outlive the predictor.
  OptionPredictor(const tree::Forest& forest, const std::int32_t* next_option);

  // scores[row][value], and, unless null, the disagreement of the leaves: the square root of sum of
  // share (value - score)^2 / (1 - sum of share^2), 0 if a row reaches a single leaf.
  template <class T>
  void predict(const data::Table<T>& table, double* scores, double* spread, int n_threads) const;

  // leaves[row][max_leaves()]: the leaves a row reaches, then -1.
  template <class T>
  void apply(const data::Table<T>& table, std::int32_t* leaves, int n_threads) const;

  // Maximum number of leaves a row can reach.
  std::int64_t max_leaves() const { return max_leaves_; }
  const std::vector<double>& leaf_shares() const { return share_; }

 private:
  template <class T, class Visit>
  void walk(const data::Table<T>& table, std::int64_t row, std::vector<std::int32_t>& waiting,
            Visit&& visit) const;
  void find_shares();
  void count_leaves();

  // All data of a node that a traversal reads: half a cache line.
  struct WalkNode {
    double threshold;
    std::int32_t feature;  // -1: a leaf
    std::int32_t right;    // of a leaf, its index
    std::int32_t next_option;
    std::int32_t set;
    std::int32_t missing_left;
  };

  tree::Forest forest_;
  const std::int32_t* next_option_;
  std::vector<WalkNode> nodes_;
  std::vector<double> share_;  // of each leaf
  std::int64_t max_leaves_ = 1;
  int unit_ = 0;  // differences are squared in units of 2^unit, to stay within the range of doubles
};

// Nodes in pre-order, each option after the subtree of the previous one, leaves numbered in order,
// all indices in range: then every traversal ends.
bool is_sound_option_tree(const tree::Forest& forest, const std::int32_t* next_option,
                          std::int64_t n_columns);

}  // namespace weald::predict
