#include "tree/joined_trees.hpp"

#include <atomic>

#include "target/gradients.hpp"
#include "target/packing.hpp"

namespace weald::tree {
namespace {

template <class Numbers>
void append(Numbers& all, const Numbers& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void append(Tree& all, const Tree& tree) {
  const auto n_sets = static_cast<std::int32_t>(all.first_word.size()) - 1;
  const auto n_words = static_cast<std::int64_t>(all.words.size());
  for (const std::int32_t set : tree.category_set)
    all.category_set.push_back(set < 0 ? set : set + n_sets);
  for (std::size_t i = 1; i < tree.first_word.size(); ++i)
    all.first_word.push_back(tree.first_word[i] + n_words);
  append(all.words, tree.words);
  append(all.feature, tree.feature);
  append(all.code, tree.code);
  append(all.threshold, tree.threshold);
  append(all.right, tree.right);
  append(all.missing_left, tree.missing_left);
  append(all.weight, tree.weight);
  append(all.gain, tree.gain);
  append(all.value, tree.value);
}

}  // namespace

double take_steps(std::vector<Tree>& trees, std::string_view loss, double parameter, double rate) {
  double largest = 0.0;
  for (Tree& tree : trees) {
    target::cap_steps(loss, parameter, rate, tree.value.data(),
                      static_cast<std::int64_t>(tree.value.size()));
    for (double& value : tree.value) {
      value *= rate;
      if (largest == largest) largest = target::Extremes::larger(largest, value);
    }
  }
  return largest;
}

bool add_values_of(const std::vector<Tree>& trees, const std::int32_t* leaf_of_row,
                   std::int64_t n_rows, double* scores, int n_threads) {
  const auto n_trees = static_cast<std::int64_t>(trees.size());
  std::atomic<bool> sound = true;
  const auto add = [&](std::int64_t k, int) {
    const auto& values = trees[k].value;
    if (!target::add_leaf_values(scores + k * n_rows, leaf_of_row + k * n_rows, n_rows,
                                 values.data(), static_cast<std::int64_t>(values.size()), 1,
                                 n_threads))
      sound = false;
  };
  // With many rows, rows are distributed over threads; with few, trees, if there is enough work.
  constexpr std::int64_t many = 16'384;
  parallel_for(n_trees, n_rows < many && n_rows * n_trees >= many / 2 ? n_threads : 1, add);
  return sound;
}

JoinedTrees::JoinedTrees(const std::vector<const Tree*>& trees) {
  std::size_t n_nodes = 0;
  for (const Tree* const tree : trees) n_nodes += tree->feature.size();
  if (!trees.empty()) all.n_outputs = trees[0]->n_outputs;
  all.make_room(n_nodes + trees.size());  // each tree has one more leaf than inner nodes
  all.right.reserve(n_nodes);
  for (const Tree* const tree : trees) {
    append(all, *tree);
    first_node.push_back(static_cast<std::int64_t>(all.feature.size()));
    first_leaf.push_back(static_cast<std::int64_t>(all.value.size()) / all.n_outputs);
  }
}

}  // namespace weald::tree
