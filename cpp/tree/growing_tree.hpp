// A tree under construction: its nodes, their rows and sums.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "split/splitting.hpp"
#include "target/channels.hpp"
#include "tree/partition.hpp"
#include "tree/parts.hpp"

namespace weald::tree {

struct Node {
  std::int64_t begin, end;  // its rows in the partition
  int depth;
  int turn;                   // order of insertion into the tree, counted from the root
  int left = -1, right = -1;  // indices of its children; -1: a leaf
  int unit = 0;               // the gain of its split is in units of 2^unit
  int ahead = -1;             // index of children created speculatively
  split::Split split{};       // the best split, if any
  Bounds bounds{};            // of its leaf values
  std::vector<std::int64_t> left_totals = {};  // the integer sums of the split's left side

  std::int64_t n_rows() const { return end - begin; }
};

struct GrowingTree {
  target::Channels channels;
  Partition rows;
  Parts* parts = nullptr;   // not null: the rows lie there, and `rows` and `channels` have none
  std::vector<Node> nodes;  // root first, children after their parent; see `ahead`
  std::vector<std::int64_t> totals;  // [node][cell]
  std::int64_t n_leaves = 1;

  // Create a root that holds all rows: those of the partition, or so many in parts.
  void start() { start(rows.size()); }
  void start(std::int64_t n_rows) {
    nodes.clear();
    totals.clear();
    n_leaves = 1;
    counted_ = -1;
    add(0, n_rows, 0, channels.totals());
  }

  // Create a node's children with their sums. Their row ranges are set after partitioning, and they
  // are not part of the tree before `join`.
  void make_children(int node) {
    const std::vector<std::int64_t> left = std::move(nodes[node].left_totals);
    const std::int64_t begin = nodes[node].begin, end = nodes[node].end;
    const int depth = nodes[node].depth + 1;
    nodes[node].ahead = add(begin, end, depth, left.data());
    const int right = add(begin, end, depth, left.data());
    std::int64_t* const rest = totals.data() + std::int64_t{right} * channels.cell_size();
    for (int c = 0; c < channels.cell_size(); ++c) rest[c] = totals_of(node)[c] - rest[c];
  }

  // Assign the rows of a node before `middle` to its left child and the rest to the right one.
  void part_rows(int node, std::int64_t middle) {
    const int left = nodes[node].ahead;
    nodes[left].end = nodes[left + 1].begin = middle;
  }

  // Recompute a node's sums and clear its split, after the integers of its rows were rescaled.
  void sum_again(int node) {
    std::int64_t* const sums = totals.data() + std::int64_t{node} * channels.cell_size();
    channels.add_values(rows_of(node), nodes[node].n_rows(), sums);
    nodes[node].split = {};
    nodes[node].left_totals.clear();
  }

  // Number of rows of a node in parts by each code of each of some columns. The parts are asked for
  // all columns at once, and the answer is kept for the next question about the same node.
  std::vector<std::vector<std::int64_t>> copies_elsewhere(int node, const std::vector<int>& columns,
                                                          const split::HistogramLayout& layout) {
    if (std::exchange(counted_, node) != node) copies_ = parts->copies_by_code(node);
    std::vector<std::vector<std::int64_t>> counts;
    for (const int column : columns) {
      std::int64_t begin = 0;
      for (int before = 0; before < column; ++before) begin += layout.levels_of(before) + 1;
      const auto first = copies_.begin() + begin;
      counts.emplace_back(first, first + layout.levels_of(column) + 1);
    }
    return counts;
  }

  // Attach the children created for the node.
  void join(int i) {
    Node& node = nodes[i];
    node.unit = channels.unit();
    node.left = node.ahead;
    node.right = node.ahead + 1;
    nodes[node.left].turn = static_cast<int>(2 * n_leaves - 1);
    nodes[node.right].turn = static_cast<int>(2 * n_leaves);
    ++n_leaves;
  }

  const std::int64_t* totals_of(int node) const {
    return totals.data() + static_cast<std::int64_t>(node) * channels.cell_size();
  }
  const Row* rows_of(int node) const { return rows.at(nodes[node].begin); }
  // S of a channel of a node from its exact totals, for its value as a leaf.
  double exact_sum_of(int node, const Int128* sums, int channel) const {
    return parts ? channels.exact_sum(sums, channel)
                 : channels.leaf_sum(rows_of(node), nodes[node].n_rows(), sums, channel);
  }

  std::int64_t copies_in(int node) const {
    if (const int count = channels.count_index(); count >= 0) return totals_of(node)[count];
    if (parts) return nodes[node].n_rows();
    return channels.count(rows_of(node), nodes[node].n_rows());
  }

 private:
  int counted_ = -1;                  // the node whose copies were asked for last
  std::vector<std::int64_t> copies_;  // and the answer

  int add(std::int64_t begin, std::int64_t end, int depth, const std::int64_t* sums) {
    nodes.push_back({begin, end, depth, 0});
    totals.insert(totals.end(), sums, sums + channels.cell_size());
    return static_cast<int>(nodes.size()) - 1;
  }
};

}  // namespace weald::tree
