// The loop that grows one tree: take a node, split its rows, look at its children.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "channels.hpp"
#include "column_choice.hpp"
#include "forest_engine.hpp"
#include "histogram_engine.hpp"
#include "sapling.hpp"
#include "shared.hpp"
#include "shared_roots.hpp"
#include "sorted_engine.hpp"
#include "split_engine.hpp"
#include "splitting.hpp"
#include "tree.hpp"

namespace weald {

// Which nodes are split first: those that gain most, or those nearest to the root; or all of a
// level by one test.
enum class Growth { best_first, depth_wise, symmetric };

struct TreeParams {
  Growth growth = Growth::best_first;
  std::int64_t max_leaf_nodes = 0;  // 0: no limit
  std::int64_t max_depth = 0;       // 0: no limit
  std::int64_t min_samples_split = 2;
  SplitLimits split;
  ColumnParams columns;
  double prune_gain = 0.0;  // afterwards splits that gain no more are taken back, leaves first
  Cells cells = Cells::automatic;  // packed where that is fine enough; tests force one
  bool sends_unseen_rows = true;   // leaves of rows without copies are wanted
  int n_threads = 1;
};

class Grower {
 public:
  // On histograms of codes, or on values sorted by every column.
  Grower(std::shared_ptr<const HistogramTable> table, std::string_view criterion,
         const TreeParams& params);
  template <class T>
  Grower(const Table<T>& table, const CutsView& cuts, std::string_view criterion,
         const TreeParams& params);
  // On ranks, with columns drawn for every node.
  Grower(std::shared_ptr<const RankedTable> table, const ForestParams& forest,
         std::string_view criterion, const TreeParams& params);
  Grower(const Grower&) = delete;  // the engine refers to its sapling
  Grower& operator=(const Grower&) = delete;

  // Grows a tree on the rows of positive copies and writes, for every row of the table, the leaf it
  // falls into.
  Tree grow(const Target& target, std::int32_t* leaf_of_row);

  // The same in two steps: first what several trees on the same copies of rows start from, then,
  // by this grower or another one on the table, a tree.
  void prepare(const Target* targets, std::vector<Seedling>& seedlings);
  Tree grow(Seedling& seedling, std::int32_t* leaf_of_row);
  // The rows of the trees last prepared or grown.
  const Partition& rows() const { return sapling_.rows; }

 private:
  Grower(std::int64_t n_rows, int n_columns, std::string_view criterion, const TreeParams& params);
  void prepare(const Target& target, Channels& channels) const;
  void start_rows(const Target& target, std::int32_t* leaf_of_row);
  Tree grow_prepared(std::int32_t* leaf_of_row);
  void run_node_by_node();
  void run_level_by_level();
  std::vector<int> batch();
  void expand(const std::vector<int>& nodes);
  void look_below(int node);
  void divide(int node, bool looks_on);
  ColumnLook columns_of(int node) const;
  void bound_children(int node);
  void prune();
  template <class Visit>
  void in_order(Visit&& visit) const;
  void write_medians(Tree& tree) const;
  void write_rest(Tree& tree) const;
  bool has_room_below(int node) const;
  bool may_split(int node) const;
  bool comes_before(int a, int b) const;
  void push_if_split(int node);
  void pop();

  std::int64_t n_rows_;
  int n_columns_;
  std::string_view criterion_;
  TreeParams params_;
  ColumnChoice choice_;
  std::vector<ColumnChoice::Path> paths_;  // of each node, where not all columns are looked at
  Sapling sapling_;
  std::unique_ptr<SplitEngine> engine_;
  bool weighs_rest_ = false;   // a forest's leaves of numbers say what is left to gain
  std::vector<int> frontier_;  // a heap ordered by comes_before
};

}  // namespace weald
