// Trees in pre-order: right children, which follow from where the leaves are, and sums over leaves.
#pragma once

#include <cstdint>
#include <vector>

namespace weald::tree {

// Writes the array `right` of a Forest whose leaves are numbered from left to right: after a leaf
// comes the right child of the nearest node that has none yet. Where nodes do not form a whole tree
// the result is 0: for the check of the forest (is_sound) to find.
inline void write_right(const std::uint8_t* is_inner, const std::int64_t* first_node,
                        std::int64_t n_trees, std::int32_t* right) {
  std::vector<std::int64_t> waiting;
  for (std::int64_t tree = 0; tree < n_trees; ++tree) {
    const std::int64_t begin = first_node[tree], end = first_node[tree + 1];
    std::int32_t n_leaves = 0;
    waiting.clear();
    for (std::int64_t node = begin; node < end; ++node) {
      right[node] = 0;
      if (is_inner[node]) {
        waiting.push_back(node);
        continue;
      }
      right[node] = n_leaves++;
      if (waiting.empty()) continue;
      right[waiting.back()] = static_cast<std::int32_t>(node + 1 - begin);
      waiting.pop_back();
    }
  }
}

// Writes the sum of the leaves' weights below each node. `right` as in a Forest: of a leaf its
// number. Children come after their parent.
inline void write_weights(const std::int32_t* feature, const std::int32_t* right,
                          std::int64_t n_nodes, const double* leaf_weight, double* weight) {
  for (std::int64_t node = n_nodes; node-- > 0;)
    weight[node] =
        feature[node] < 0 ? leaf_weight[right[node]] : weight[node + 1] + weight[right[node]];
}

}  // namespace weald::tree
