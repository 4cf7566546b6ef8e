// Packs the trees of a forest into common arrays while others still grow.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/raw_pages.hpp"
#include "tree/tree.hpp"

namespace weald::grow {

// Arrays of `weald.trees.Forest`; category arrays are empty without categories.
struct PackedForest {
  RawGrowingVector<std::int32_t> feature, right, category_set;
  RawGrowingVector<double> threshold, weight, gain, value;
  RawGrowingVector<std::uint8_t> missing_left;
  RawGrowingVector<std::uint64_t> words;
  std::vector<std::int64_t> first_node{0}, first_leaf{0}, first_word{0};
  int n_outputs = 1;
};

// A tree is copied as soon as all trees before it are there, and its memory is reused for the next
// tree of that thread, so that only growing trees are in memory besides the forest. Once no further
// tree will be started, copied arrays are freed one by one: no tree is ever in memory twice
// (docs/decisions/0012).
class ForestWriter {
 public:
  // At most `n_growers` threads call put().
  ForestWriter(std::int64_t n_trees, std::int64_t n_growers);

  // Tree i of the forest, from any thread. Returns an old tree whose memory may be reused; empty
  // once all trees are started.
  tree::Tree put(std::int64_t i, tree::Tree tree);

  // Whether every tree is grown or being grown (up to a late thread), so that memory for further
  // trees is not needed.
  bool all_begun() const { return n_to_begin_ < 0; }

  // Call when all trees are there.
  PackedForest take() { return std::move(forest_); }

 private:
  // A tree and its offsets in the forest.
  struct Placed {
    tree::Tree tree;
    std::int64_t node, leaf, set, word;
  };
  std::vector<Placed> place_those_in_turn();
  void resize_for(const tree::Tree& tree);
  void resize(const tree::Tree& tree, std::size_t n_nodes, std::size_t n_values,
              std::size_t n_words);
  void copy(Placed& placed, bool gives_back);

  PackedForest forest_;
  std::vector<tree::Tree> waiting_;  // [n_trees]
  std::vector<std::uint8_t> is_here_;
  std::size_t next_ = 0;
  std::atomic<std::int64_t> n_to_begin_;  // trees not yet started, if all threads are busy
  std::vector<tree::Tree> old_;
  std::mutex places_;         // guards the members above
  std::shared_mutex arrays_;  // exclusive to reallocate, shared to copy
};

}  // namespace weald::grow
