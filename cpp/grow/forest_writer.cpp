#include "grow/forest_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace weald::grow {
namespace {

// Of a node, without leaf values.
constexpr std::size_t bytes_per_node = 2 * sizeof(std::int32_t) + 3 * sizeof(double) + 1;

std::string out_of_memory_message(std::size_t n_nodes, std::size_t n_values, std::size_t n_so_far,
                                  std::size_t n_trees) {
  const double bytes = static_cast<double>(n_nodes * bytes_per_node + n_values * sizeof(double)) /
                       static_cast<double>(n_so_far);
  char text[400];
  std::snprintf(
      text, sizeof(text),
      "A forest of %zu trees needs about %zu MiB, estimated from the first %zu: %zu nodes "
      "and %zu values of leaves a tree. That is more memory than is left. Take fewer "
      "trees (n_estimators), or smaller ones: set max_leaf_nodes or max_depth, or a "
      "larger min_samples_leaf.",
      n_trees, static_cast<std::size_t>(bytes * static_cast<double>(n_trees) / (1 << 20)), n_so_far,
      n_nodes / n_so_far, n_values / n_so_far);
  return text;
}

// Extrapolates from the trees so far, plus an eighth: untouched memory costs nothing, moving all
// trees does.
std::size_t capacity_for(std::size_t size, std::size_t n_so_far, std::size_t n_trees) {
  const std::size_t whole = (size / n_so_far + 1) * n_trees;
  return whole + whole / 8 + 64;
}

template <class To, class From>
void copy_to(To& to, std::int64_t at, From& from, bool gives_back) {
  expect_writes(to.data() + at, from.size() * sizeof(from[0]));
  std::copy(from.begin(), from.end(), to.begin() + at);
  if (gives_back) From().swap(from);
}

}  // namespace

ForestWriter::ForestWriter(std::int64_t n_trees, std::int64_t n_growers)
    : waiting_(static_cast<std::size_t>(n_trees)),
      is_here_(waiting_.size(), 0),
      n_to_begin_(n_trees - n_growers) {}

tree::Tree ForestWriter::put(std::int64_t i, tree::Tree tree) {
  std::vector<Placed> placed;
  bool was_last = false;  // its memory is not reused
  {
    const std::scoped_lock hold(places_);
    waiting_[i] = std::move(tree);
    is_here_[i] = 1;
    was_last = --n_to_begin_ < 0;
    if (was_last) old_.clear();
    placed = place_those_in_turn();
    arrays_.lock_shared();  // before another thread reallocates
  }
  for (Placed& one : placed) copy(one, was_last);
  arrays_.unlock_shared();
  if (was_last) return {};
  const std::scoped_lock hold(places_);
  for (Placed& one : placed) old_.push_back(std::move(one.tree));
  if (old_.empty()) return {};
  tree::Tree last = std::move(old_.back());
  old_.pop_back();
  return last;
}

std::vector<ForestWriter::Placed> ForestWriter::place_those_in_turn() {
  std::vector<Placed> placed;
  PackedForest& all = forest_;
  for (; next_ < waiting_.size() && is_here_[next_]; ++next_) {
    tree::Tree& tree = waiting_[next_];
    all.n_outputs = tree.n_outputs;
    const std::int64_t node = all.first_node.back(), leaf = all.first_leaf.back(),
                       word = all.first_word.back();
    const auto set = static_cast<std::int64_t>(all.first_word.size()) - 1;
    const auto n_leaves = tree.value.size() / static_cast<std::size_t>(tree.n_outputs);
    all.first_node.push_back(node + static_cast<std::int64_t>(tree.feature.size()));
    all.first_leaf.push_back(leaf + static_cast<std::int64_t>(n_leaves));
    for (std::size_t s = 1; s < tree.first_word.size(); ++s)
      all.first_word.push_back(word + tree.first_word[s]);
    resize_for(tree);
    placed.push_back({std::move(tree), node, leaf, set, word});
  }
  return placed;
}

void ForestWriter::resize_for(const tree::Tree& tree) {
  const auto n_nodes = static_cast<std::size_t>(forest_.first_node.back());
  const auto n_values = static_cast<std::size_t>(forest_.first_leaf.back() * tree.n_outputs);
  const auto n_words = static_cast<std::size_t>(forest_.first_word.back());
  const bool is_full = n_nodes > forest_.feature.capacity() ||
                       n_values > forest_.value.capacity() || n_words > forest_.words.capacity();
  std::unique_lock alone(arrays_, std::defer_lock);
  if (is_full) alone.lock();
  try {
    resize(tree, n_nodes, n_values, n_words);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(out_of_memory_message(n_nodes, n_values, next_ + 1, waiting_.size()));
  }
}

void ForestWriter::resize(const tree::Tree& tree, std::size_t n_nodes, std::size_t n_values,
                          std::size_t n_words) {
  const std::size_t n_so_far = next_ + 1, n_trees = waiting_.size();
  const auto grow = [&](auto& array, std::size_t size) {
    if (size > array.capacity()) array.reserve(capacity_for(size, n_so_far, n_trees));
    array.resize(size);
  };
  grow(forest_.feature, n_nodes);
  grow(forest_.right, n_nodes);
  grow(forest_.threshold, n_nodes);
  grow(forest_.weight, n_nodes);
  grow(forest_.gain, n_nodes);
  grow(forest_.missing_left, n_nodes);
  grow(forest_.value, n_values);
  grow(forest_.words, n_words);
  if (!tree.category_set.empty()) grow(forest_.category_set, n_nodes);
}

void ForestWriter::copy(Placed& placed, bool gives_back) {
  tree::Tree& tree = placed.tree;
  copy_to(forest_.feature, placed.node, tree.feature, gives_back);
  copy_to(forest_.right, placed.node, tree.right, gives_back);
  copy_to(forest_.threshold, placed.node, tree.threshold, gives_back);
  copy_to(forest_.weight, placed.node, tree.weight, gives_back);
  copy_to(forest_.gain, placed.node, tree.gain, gives_back);
  copy_to(forest_.missing_left, placed.node, tree.missing_left, gives_back);
  copy_to(forest_.value, placed.leaf * tree.n_outputs, tree.value, gives_back);
  copy_to(forest_.words, placed.word, tree.words, gives_back);
  // Category sets are numbered across trees.
  std::transform(tree.category_set.begin(), tree.category_set.end(),
                 forest_.category_set.begin() + (tree.category_set.empty() ? 0 : placed.node),
                 [&](std::int32_t set) {
                   return set < 0 ? set : set + static_cast<std::int32_t>(placed.set);
                 });
}

}  // namespace weald::grow
