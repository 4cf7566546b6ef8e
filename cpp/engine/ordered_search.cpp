#include "engine/ordered_search.hpp"

#include <algorithm>

#include "kernels/kernels.hpp"

namespace weald::engine {

bool OrderedSearch::suits() const {
  const target::Channels& channels = growing_tree_.channels;
  if (!order_.any() || !channels.has_packed_cells() || !channels.is_plain()) return false;
  return !limits_.is_directed() && limits_.penalty.l1 == 0.0;
}

void OrderedSearch::start() {
  const std::size_t size = order_.columns().size() * static_cast<std::size_t>(order_.n_rows());
  for (auto& rows : work_) rows.resize(size + data::RowOrder::slack);
  if (growing_tree_.rows.holds_all_rows()) return;
  kernels::OrderedSides seen{};
  for (std::int64_t i = 0; i < growing_tree_.rows.size(); ++i) {
    const Row row = *growing_tree_.rows.at(i);
    seen.words[row / 32] |= std::uint32_t{1} << (row % 32);
  }
  for (std::size_t k = 0; k < order_.columns().size(); ++k)
    kernels::active().part_ordered(order_.rows_of(k), order_.n_rows(), seen, own(0, k), nullptr);
}

std::int64_t OrderedSearch::send_rows(int i) {
  const tree::Node& node = growing_tree_.nodes[i];
  const Code* const codes = codes_.columns + node.split.column * order_.n_rows();
  const auto bin = static_cast<Code>(node.split.bin);
  return growing_tree_.rows.split_by(node.begin, node.end,
                                     [&](Row row) { return codes[row] <= bin; });
}

void OrderedSearch::search(const tree::Siblings& siblings) {
  if (siblings.parent >= 0) divide(siblings);
  if (siblings.wants_left) find(siblings.left, siblings.left_columns);
  if (siblings.wants_right) find(siblings.right, siblings.right_columns);
}

// Partition the rows of a node in every column's order.
void OrderedSearch::divide(const tree::Siblings& siblings) {
  if (!siblings.wants_left && !siblings.wants_right) return;
  const tree::Node& parent = growing_tree_.nodes[siblings.parent];
  kernels::OrderedSides sides{};
  kernels::active().mark_ordered(codes_.columns + parent.split.column * order_.n_rows(),
                                 order_.n_rows(), static_cast<Code>(parent.split.bin), sides);
  for (std::size_t k = 0; k < order_.columns().size(); ++k)
    kernels::active().part_ordered(rows_of(siblings.parent, k), parent.n_rows(), sides,
                                   siblings.wants_left ? own(siblings.left, k) : nullptr,
                                   siblings.wants_right ? own(siblings.right, k) : nullptr);
}

// Ties go to the lowest column, then to the lowest code. If no drawn column can be split, further
// ones are tried one at a time.
void OrderedSearch::find(int i, data::CandidateColumns columns) {
  tree::Node& node = growing_tree_.nodes[i];
  const target::Channels& channels = growing_tree_.channels;
  const std::int64_t total = *growing_tree_.totals_of(i);
  const kernels::PackedNode packed = packed_node(channels, limits_, &total, node.bounds);
  const std::int64_t side = std::max<std::int64_t>(1, limits_.min_samples_leaf);
  if (node.n_rows() < 2 * side) return;
  const kernels::OrderedNode what{total, packed.l2, std::max(packed.min_weight, 1.0), side - 1,
                                  node.n_rows() - side};
  kernels::OrderedCut best;
  std::size_t found = 0;
  const auto search_column = [&] {
    for (std::size_t k = 0; k < order_.columns().size(); ++k)
      if (columns.takes(order_.columns()[k]) &&
          kernels::active().search_ordered(rows_of(i, k), channels.values(), what, best))
        found = k;
  };
  search_column();
  while (best.place < 0 && columns.next_column() >= 0) search_column();
  if (best.place < 0) return;
  split::Split split;
  split.column = order_.columns()[found];
  split.bin = kernels::code_of_ordered(rows_of(i, found)[best.place]);
  // No missing values in this node: at prediction time they go to the heavier child.
  split.missing_left = kernels::packed_h(best.left) >= kernels::packed_h(total - best.left);
  node.split = if_worth_it(split, best.score, packed, channels, limits_);
  if (node.split.found()) node.left_totals.assign(1, best.left);
}

kernels::Ordered* OrderedSearch::own(int i, std::size_t k) {
  const tree::Node& node = growing_tree_.nodes[i];
  return work_[node.depth % 2].data() + static_cast<std::int64_t>(k) * order_.n_rows() + node.begin;
}

const kernels::Ordered* OrderedSearch::rows_of(int i, std::size_t k) {
  const bool is_whole = growing_tree_.nodes[i].depth == 0 && growing_tree_.rows.holds_all_rows();
  return is_whole ? order_.rows_of(k) : own(i, k);
}

}  // namespace weald::engine
