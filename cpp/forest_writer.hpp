// The trees of a forest, written one behind another while others still grow.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "raw_pages.hpp"
#include "tree.hpp"

namespace weald {

// All trees as `weald.trees.Forest` keeps them; sets only where there are any.
struct PackedForest {
  RawVector<std::int32_t> feature, right, category_set;
  RawVector<double> threshold, weight, gain, value;
  RawVector<std::uint8_t> missing_left;
  RawVector<std::uint64_t> words;
  std::vector<std::int64_t> first_node{0}, first_leaf{0}, first_word{0};
  int n_outputs = 1;
};

// A tree is copied as soon as all before it are there, and its memory serves the next tree of the
// thread that brought it: besides the forest only the trees that grow are in memory.
class ForestWriter {
 public:
  explicit ForestWriter(std::int64_t n_trees);

  // Tree i of the forest; any thread may bring any. Returns an old tree, to be overwritten.
  Tree put(std::int64_t i, Tree tree);

  // When all are there.
  PackedForest take() { return std::move(forest_); }

 private:
  // A tree that has its place.
  struct Placed {
    Tree tree;
    std::int64_t node, leaf, set, word;
  };
  std::vector<Placed> place_those_in_turn();
  void make_room(const Tree& tree);
  void copy(const Placed& placed);

  PackedForest forest_;
  std::vector<Tree> waiting_;  // [n_trees]
  std::vector<std::uint8_t> is_here_;
  std::size_t next_ = 0;
  std::vector<Tree> old_;
  std::mutex places_;         // what is above
  std::shared_mutex arrays_;  // held alone where they move, together where trees are copied
};

}  // namespace weald
