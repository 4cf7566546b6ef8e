// The trees of a forest, written one behind another while others still grow.
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

// All trees as `weald.trees.Forest` keeps them; sets only where there are any.
struct PackedForest {
  RawGrowingVector<std::int32_t> feature, right, category_set;
  RawGrowingVector<double> threshold, weight, gain, value;
  RawGrowingVector<std::uint8_t> missing_left;
  RawGrowingVector<std::uint64_t> words;
  std::vector<std::int64_t> first_node{0}, first_leaf{0}, first_word{0};
  int n_outputs = 1;
};

// A tree is copied as soon as all before it are there, and its memory serves the next tree of the
// thread that brought it: besides the forest only the trees that grow are in memory. As soon as no
// further tree will be begun, what is copied is given back array by array: in the end no tree is in
// memory twice.
class ForestWriter {
 public:
  // At most `n_growers` threads bring trees.
  ForestWriter(std::int64_t n_trees, std::int64_t n_growers);

  // Tree i of the forest; any thread may bring any. Returns an old tree, to be overwritten; nothing
  // once all trees are begun.
  tree::Tree put(std::int64_t i, tree::Tree tree);

  // Whether memory to grow trees in is of no more use: every tree is grown or in work, unless a
  // grower is late.
  bool all_begun() const { return n_to_begin_ < 0; }

  // When all are there.
  PackedForest take() { return std::move(forest_); }

 private:
  // A tree that has its place.
  struct Placed {
    tree::Tree tree;
    std::int64_t node, leaf, set, word;
  };
  std::vector<Placed> place_those_in_turn();
  void make_room(const tree::Tree& tree);
  void resize(const tree::Tree& tree, std::size_t n_nodes, std::size_t n_values,
              std::size_t n_words);
  void copy(Placed& placed, bool gives_back);

  PackedForest forest_;
  std::vector<tree::Tree> waiting_;  // [n_trees]
  std::vector<std::uint8_t> is_here_;
  std::size_t next_ = 0;
  std::atomic<std::int64_t> n_to_begin_;  // trees, while all growers are at work on others
  std::vector<tree::Tree> old_;
  std::mutex places_;         // what is above
  std::shared_mutex arrays_;  // held alone where they move, together where trees are copied
};

}  // namespace weald::grow
