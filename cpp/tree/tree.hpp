// One grown tree as arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/parallel.hpp"
#include "base/raw_pages.hpp"
#include "tree/growing_tree.hpp"

namespace weald::tree {

// Pre-order: the left child of a node is the next node. Forest trees are large, so their memory is
// mapped directly and returned to the system.
struct Tree {
  RawGrowingVector<std::int32_t> feature;  // -1: a leaf
  RawGrowingVector<std::uint16_t> code;    // the largest code that goes left
  // Index of the category set of the node, -1 for none.
  RawGrowingVector<std::int32_t> category_set;
  RawGrowingVector<std::int64_t> first_word{0};  // [sets + 1]
  RawGrowingVector<std::uint64_t> words;         // levels that go left: one bit per level
  RawGrowingVector<double>
      threshold;  // the largest value that goes left, if the engine works on values
  RawGrowingVector<std::int32_t> right;  // an inner node's right child; a leaf's row in `value`
  RawGrowingVector<std::uint8_t> missing_left;
  RawGrowingVector<double> weight;  // W of the node's rows
  RawGrowingVector<double> gain;    // of a leaf: the remaining impurity, if requested
  RawGrowingVector<double> value;   // [leaves][outputs]
  int n_outputs = 1;

  // Reserve memory for this many nodes, about half of them leaves.
  void make_room(std::size_t n_nodes) {
    for (auto* const numbers : {&threshold, &weight, &gain}) numbers->reserve(n_nodes);
    code.reserve(n_nodes);
    missing_left.reserve(n_nodes);
    for (auto* const places : {&feature, &category_set}) places->reserve(n_nodes);
    value.reserve((n_nodes + 1) / 2 * static_cast<std::size_t>(n_outputs));
  }

  // Append the set of the next node; empty: none.
  void add_set(const data::LevelSet& set) {
    const auto n_sets = static_cast<std::int32_t>(first_word.size()) - 1;
    category_set.push_back(set.empty() ? -1 : n_sets);
    if (set.empty()) return;
    words.insert(words.end(), set.begin(), set.end());
    first_word.push_back(static_cast<std::int64_t>(words.size()));
  }
  // Append another tree as the next node and its subtree.
  void graft(const Tree& branch) {
    const auto node = static_cast<std::int32_t>(feature.size());
    const auto leaf = static_cast<std::int32_t>(value.size()) / n_outputs;
    const auto set = static_cast<std::int32_t>(first_word.size()) - 1;
    const auto word = static_cast<std::int64_t>(words.size());
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (std::size_t i = 0; i < branch.right.size(); ++i)
      right.push_back(branch.right[i] + (branch.feature[i] >= 0 ? node : leaf));
    for (const std::int32_t number : branch.category_set)
      category_set.push_back(number < 0 ? number : number + set);
    for (std::size_t i = 1; i < branch.first_word.size(); ++i)
      first_word.push_back(branch.first_word[i] + word);
    append(feature, branch.feature);
    append(code, branch.code);
    append(words, branch.words);
    append(threshold, branch.threshold);
    append(missing_left, branch.missing_left);
    append(weight, branch.weight);
    append(gain, branch.gain);
    append(value, branch.value);
  }
  const std::uint64_t* words_of(std::int32_t set) const { return words.data() + first_word[set]; }
};

// W and S of each channel of some nodes from the doubles of their rows: [i][1 + n_channels]. Those
// in cells are rounded, by a step that depends on the layout of cells.
std::vector<Int128> exact_totals(const GrowingTree& growing_tree, const std::vector<int>& nodes,
                                 int n_threads);

// Convert a finished growing tree to arrays, and write the leaf of every row it holds. Weights,
// gains and values come from the doubles of the rows, not from the searched sums.
Tree write_tree(const GrowingTree& growing_tree, std::string_view criterion, const Penalty& penalty,
                int n_threads, std::int32_t* leaf_of_row);

// Write the leaf of every row that the target does not use: rows are partitioned node by node, as
// those of a growing tree, a block at a time so that their codes stay in cache. tests[node] is the
// split of an inner node.
void part_unseen_rows(const Tree& tree, const std::vector<Partition::Test>& tests,
                      const target::Target& target, std::int64_t n_rows, int n_threads,
                      std::int32_t* leaf_of_row);

// The same for engines without such tests: every row descends by goes_left(row, node).
template <class GoesLeft>
void walk_unseen_rows(const Tree& tree, const target::Target& target, std::int64_t n_rows,
                      int n_threads, std::int32_t* leaf_of_row, GoesLeft&& goes_left) {
  constexpr std::int64_t block = 32'768;
  parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * block, n_rows);
    for (std::int64_t row = task * block; row < end; ++row) {
      if (target.uses(static_cast<Row>(row))) continue;
      std::int32_t at = 0;
      while (tree.feature[at] >= 0)
        at = goes_left(static_cast<Row>(row), at) ? at + 1 : tree.right[at];
      leaf_of_row[row] = tree.right[at];
    }
  });
}

}  // namespace weald::tree
