// ForestEngine: partitions rows by sets of categories.
#include "forest/forest_engine.hpp"

namespace weald::forest {
namespace {

bool is_in(const std::uint64_t* words, int level, bool missing_left) {
  return level > 0 ? data::in_set(words, level - 1) : missing_left;
}

}  // namespace

std::int64_t ForestEngine::send_levels(std::int64_t begin, std::int64_t end,
                                       const split::Split& split) {
  return table_->with_levels(split.column, end - begin >= KeySorter::most_keys, [&](auto level_of) {
    const std::uint64_t* const words = split.left_set.data();
    return growing_tree_->rows.split_by(begin, end, [=, to_left = split.missing_left](Row row) {
      return is_in(words, level_of(row), to_left);
    });
  });
}

bool ForestEngine::goes_left(const tree::Tree& tree, std::int32_t node, Row row,
                             const std::vector<std::uint32_t>& limits) const {
  const int column = tree.feature[node];
  const bool missing_left = tree.missing_left[node] != 0;
  if (const std::int32_t set = tree.category_set[node]; set >= 0)
    return table_->with_levels(column, false, [&](auto level_of) {
      return is_in(tree.words_of(set), level_of(row), missing_left);
    });
  if (params_.random_cuts)
    return table_->with_values([&](const auto* values) {
      const auto x = static_cast<double>(values[row * table_->stride() + column]);
      return x == x ? x <= tree.threshold[node] : missing_left;
    });
  const std::uint32_t offset = missing_left ? 0 : 1;
  return std::uint32_t{table_->rank(row, column)} - offset <= limits[node] - offset;
}

void ForestEngine::send_unseen_by_levels(const tree::Tree& tree,
                                         const std::vector<std::uint32_t>& limits,
                                         std::int32_t* leaf_of_row) const {
  walk_unseen_rows(tree, growing_tree_->channels.target(), table_->n_rows(), 1, leaf_of_row,
                   [&](Row row, std::int32_t node) { return goes_left(tree, node, row, limits); });
}

}  // namespace weald::forest
