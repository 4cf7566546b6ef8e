// The loop that grows one tree: take a node, split its rows, look at its children.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "channels.hpp"
#include "histogram.hpp"
#include "memory.hpp"
#include "partition.hpp"
#include "shared.hpp"
#include "splitting.hpp"

namespace weald {

enum class Growth { best_first, depth_wise };

struct TreeParams {
  Growth growth = Growth::best_first;
  std::int64_t max_leaf_nodes = 0;  // 0: no limit
  std::int64_t max_depth = 0;       // 0: no limit
  std::int64_t min_samples_split = 2;
  SplitLimits split;
  Cells cells = Cells::automatic;  // packed where that is fine enough; tests force one
  int n_threads = 1;
};

// One tree as arrays, in pre-order: the left child of a node is the next node.
struct Tree {
  std::vector<std::int32_t> feature;  // -1: a leaf
  std::vector<std::uint8_t> code;     // the highest code that goes left
  std::vector<std::int32_t> right;    // an inner node's right child; a leaf's row in `value`
  std::vector<std::uint8_t> missing_left;
  std::vector<double> weight;  // W of the node's rows
  std::vector<double> gain;    // 0 for leaves
  std::vector<double> value;   // [leaves][outputs]
  int n_outputs = 1;
};

class Grower {
 public:
  Grower(const Codes& codes, std::string_view criterion, const TreeParams& params);

  // Grows a tree on the rows of positive copies and writes, for every row of the table, the leaf it
  // falls into.
  Tree grow(const Target& target, std::int32_t* leaf_of_row);

 private:
  struct Node {
    std::int64_t begin, end;  // its rows in rows_
    int depth;
    int left = -1, right = -1;  // numbers in nodes_
    int histogram = -1;         // slot in the pool; -1: not kept
    int place = -1;             // in the tree's arrays
    int leaf = -1;              // number among the leaves
    Split split;
    std::vector<std::int64_t> left_totals;  // the integer sums of the split's left side
  };
  // Two new nodes: the one whose histogram is counted and the one that is the rest (-1: none).
  struct Pair {
    int counted, rest;
    bool wants_counted, wants_rest;
    bool subtract;  // the rest's histogram still is the parent's
  };

  template <Criterion C>
  void run();
  template <Criterion C>
  void search(const Pair& pair);
  template <Criterion C>
  void search_wide(const Pair& pair);
  void search_packed(const Pair& pair);
  template <Criterion C>
  Tree emit(std::int32_t* leaf_of_row);

  void start();
  int add_node(std::int64_t begin, std::int64_t end, int depth, const std::int64_t* totals);
  std::int64_t* totals_of(int node) {
    return totals_.data() + static_cast<std::int64_t>(node) * channels_.cell_size();
  }
  std::int64_t rows_in(int node) const { return nodes_[node].end - nodes_[node].begin; }
  std::int64_t copies_in(int node);
  bool has_room_below(const Node& node) const;
  bool may_split(int node);
  void push(int node);
  int pop();
  bool comes_before(int a, int b) const;
  Pair look_at_root();
  Pair split_node(int node);
  void subtract_group(int g, const Pair& pair);
  void settle(int node, const Split& found);
  void write_leaves(std::int32_t* leaf_of_row) const;
  std::vector<Int128> exact_totals(const std::int32_t* leaf_of_row) const;
  void send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const;

  int take_slot();
  void give_slot(int slot);
  std::int64_t* cells_of(int slot) { return pool_[slot].data(); }
  int fill_histogram(int node);
  void merge(const std::vector<int>& slots);
  int threads_for(std::int64_t n_rows) const;

  Codes codes_;
  LargeVector<Code> columns_;  // the codes column by column, for sending rows; empty: too large
  std::string_view criterion_;
  TreeParams params_;
  Channels channels_;
  std::optional<HistogramLayout> layout_;  // set when the first tree tells the size of a cell

  Partition rows_;
  std::vector<Node> nodes_;
  std::vector<std::int64_t> totals_;
  std::vector<int> frontier_;  // a heap ordered by comes_before
  std::int64_t n_leaves_ = 0;

  std::vector<std::vector<std::int64_t>> pool_;
  std::vector<int> free_slots_;
};

}  // namespace weald
