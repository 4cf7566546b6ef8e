// ForestEngine: leaves of out-of-bag rows.
#include "forest/forest_engine.hpp"

namespace weald::forest {

// Ranks are compared instead of values: up to the last rank below the threshold, which need not
// occur in the node.
std::uint32_t ForestEngine::limit_of(const split::Split& split) const {
  if (params_.random_cuts || split.bin == all_values) return static_cast<std::uint32_t>(split.bin);
  return static_cast<std::uint32_t>(table_->last_up_to(split.column, split.bin, split.threshold));
}

// The nodes of the tree are those of growing_tree_ in pre-order.
void ForestEngine::send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const {
  std::vector<std::uint32_t> limits;
  std::vector<int> stack{0};
  while (!stack.empty()) {
    const tree::Node& node = growing_tree_->nodes[stack.back()];
    stack.pop_back();
    limits.push_back(node.left < 0 ? 0 : limit_of(node.split));
    if (node.left < 0) continue;
    stack.push_back(node.right);
    stack.push_back(node.left);
  }
  send_unseen_rows(tree, limits, leaf_of_row);
}

void ForestEngine::send_unseen_rows(const tree::Tree& tree,
                                    const std::vector<std::uint32_t>& limits,
                                    std::int32_t* leaf_of_row) const {
  if (tree.first_word.size() > 1) return send_unseen_by_levels(tree, limits, leaf_of_row);
  const target::Target& target = growing_tree_->channels.target();
  if (params_.random_cuts)
    return table_->with_values([&](const auto* values) {
      walk_unseen_rows(
          tree, target, table_->n_rows(), 1, leaf_of_row, [&](Row row, std::int32_t node) {
            const auto x = static_cast<double>(values[row * table_->stride() + tree.feature[node]]);
            return x == x ? x <= tree.threshold[node] : tree.missing_left[node] != 0;
          });
    });
  walk_unseen_rows(tree, target, table_->n_rows(), 1, leaf_of_row, [&](Row row, std::int32_t node) {
    const std::uint32_t offset = tree.missing_left[node] ? 0 : 1;
    const std::uint32_t rank = table_->rank(row, tree.feature[node]);
    return rank - offset <= limits[node] - offset;
  });
}

}  // namespace weald::forest
