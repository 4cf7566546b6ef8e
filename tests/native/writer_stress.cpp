// A stress test of cpp/grow/forest_writer: prints what fails and exits non-zero; ends by itself in
// seconds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.hpp"
#include "grow/forest_writer.hpp"
#include "stress.hpp"

namespace {

// Sizes differ by a factor of up to 40, so that arrays move more than once, while others are
// copied to; trees that are late make those after them wait.
std::int32_t n_nodes(std::uint32_t seed, std::int64_t i) {
  const std::uint32_t word = mixed(seed + static_cast<std::uint32_t>(i));
  return static_cast<std::int32_t>(word % 500 * (word % 7 == 0 ? 40 : 1));
}

// Every number of tree i tells its tree and place; `tree` may be an old one.
void fill(weald::tree::Tree& tree, std::int32_t n, std::int64_t i, int n_outputs, bool has_sets) {
  const auto size = static_cast<std::size_t>(n);
  const auto number = static_cast<double>(i * 1'000'000);
  for (auto* array : {&tree.threshold, &tree.weight, &tree.gain}) array->resize(size);
  for (auto* array : {&tree.feature, &tree.right}) array->resize(size);
  tree.missing_left.resize(size);
  tree.category_set.assign(has_sets ? size : 0, -1);
  tree.first_word.assign(1, 0);
  tree.words.clear();
  tree.n_outputs = n_outputs;
  tree.value.assign((size / 2 + 1) * static_cast<std::size_t>(n_outputs), number);
  for (std::int32_t node = 0; node < n; ++node) {
    tree.feature[node] = tree.right[node] = static_cast<std::int32_t>(i) * 1000 + node % 1000;
    tree.threshold[node] = tree.weight[node] = tree.gain[node] = number + node;
    tree.missing_left[node] = static_cast<std::uint8_t>(node + i);
    if (!has_sets || node % 3 != 0) continue;
    tree.category_set[node] = static_cast<std::int32_t>(tree.first_word.size()) - 1;
    tree.words.push_back(static_cast<std::uint64_t>(i * 1'000'000 + node));
    tree.first_word.push_back(static_cast<std::int64_t>(tree.words.size()));
  }
}

bool is_tree(const weald::grow::PackedForest& all, const weald::tree::Tree& tree, std::int64_t i) {
  const std::int64_t node = all.first_node[i], leaf = all.first_leaf[i] * tree.n_outputs;
  const auto n = static_cast<std::int64_t>(tree.feature.size());
  if (all.first_node[i + 1] - node != n) return false;
  const auto same = [](const auto& mine, const auto& theirs, std::int64_t at) {
    return std::equal(mine.begin(), mine.end(), theirs.begin() + at);
  };
  bool ok = same(tree.feature, all.feature, node) && same(tree.right, all.right, node) &&
            same(tree.threshold, all.threshold, node) && same(tree.weight, all.weight, node) &&
            same(tree.gain, all.gain, node) && same(tree.missing_left, all.missing_left, node) &&
            same(tree.value, all.value, leaf);
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(tree.category_set.size()); ++j) {
    const std::int32_t mine = tree.category_set[j], theirs = all.category_set[node + j];
    ok = ok && (mine < 0 ? theirs == mine
                         : all.words[all.first_word[theirs]] == tree.words[tree.first_word[mine]]);
  }
  return ok;
}

void write_forest(std::int64_t n_trees, int n_threads, std::uint32_t seed, bool has_sets) {
  const int n_outputs = 1 + static_cast<int>(seed % 3);
  const auto n_growers = std::min<std::int64_t>(n_trees, n_threads);
  weald::grow::ForestWriter writer(n_trees, n_growers);
  std::vector<weald::tree::Tree> old(static_cast<std::size_t>(n_growers));
  weald::parallel_for(n_trees, n_threads, [&](std::int64_t i, int worker) {
    weald::tree::Tree tree = std::move(old[worker]);
    fill(tree, n_nodes(seed, i), i, n_outputs, has_sets);
    if (mixed(seed ^ static_cast<std::uint32_t>(i)) % 5 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    old[worker] = writer.put(i, std::move(tree));
  });
  const weald::grow::PackedForest all = writer.take();
  const std::string name = std::to_string(n_trees) + " trees by " + std::to_string(n_threads);
  check(all.first_node.size() == static_cast<std::size_t>(n_trees) + 1, name + ": their number");
  for (std::int64_t i = 0; i < n_trees; ++i) {
    weald::tree::Tree tree;
    fill(tree, n_nodes(seed, i), i, n_outputs, has_sets);
    check(is_tree(all, tree, i), name + ": tree " + std::to_string(i));
  }
  for (const weald::tree::Tree& tree : old)
    check(tree.feature.capacity() == 0 || n_trees > n_growers, name + ": memory given back");
}

}  // namespace

int main() {
  for (std::uint32_t seed = 0; seed < 40; ++seed)
    for (const int n_threads : {1, 2, 3, 8})
      for (const std::int64_t n_trees : {1, 2, 7, 60})
        write_forest(n_trees, n_threads, seed, seed % 2 == 1);
  std::printf("%s\n", failed == 0 ? "forest writer: all passed" : "forest writer: FAILED");
  return failed == 0 ? 0 : 1;
}
