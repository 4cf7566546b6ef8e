// The loop that grows one tree: take a node, split its rows, look at its children.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "data/column_choice.hpp"
#include "engine/histogram_engine.hpp"
#include "engine/shared_roots.hpp"
#include "engine/sorted_engine.hpp"
#include "forest/forest_engine.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"
#include "tree/growing_tree.hpp"
#include "tree/split_engine.hpp"
#include "tree/tree.hpp"
#include "tree/tree_params.hpp"

namespace weald::grow {

class Grower {
 public:
  // On histograms of codes, or on values sorted by every column.
  Grower(std::shared_ptr<const split::HistogramTable> table, std::string_view criterion,
         const tree::TreeParams& params);
  template <class T>
  Grower(const data::Table<T>& table, const engine::CutsView& cuts, std::string_view criterion,
         const tree::TreeParams& params);
  // On ranks, with columns drawn for every node.
  Grower(std::shared_ptr<const data::RankedTable> table, std::string_view criterion,
         const tree::TreeParams& params);
  Grower(const Grower&) = delete;  // the engine refers to its growing_tree
  Grower& operator=(const Grower&) = delete;

  // Grows a tree on the rows of positive copies and writes, for every row of the table, the leaf it
  // falls into.
  tree::Tree grow(const target::Target& target, std::int32_t* leaf_of_row);

  // The same in two steps: first what several trees on the same copies of rows start from, then,
  // by this grower or another one on the table, a tree.
  void prepare(const target::Target* targets, std::vector<engine::RootState>& root_states);
  tree::Tree grow(engine::RootState& root_state, std::int32_t* leaf_of_row);
  // The rows of the trees last prepared or grown.
  const tree::Partition& rows() const { return growing_tree_.rows; }

 private:
  Grower(std::int64_t n_rows, int n_columns, std::string_view criterion,
         const tree::TreeParams& params, const data::ColumnParams& columns);
  void prepare(const target::Target& target, const Row* rows, std::int64_t n,
               target::Channels& channels) const;
  void start_rows(const target::Target& target, std::int32_t* leaf_of_row);
  tree::Tree grow_prepared(std::int32_t* leaf_of_row);
  void run_node_by_node();
  void run_level_by_level();
  void split_in_turn();
  bool turn_to_small_nodes();
  void scale_by_themselves(const std::vector<int>& nodes);
  bool is_small(int node) const;
  std::vector<int> batch();
  void expand(const std::vector<int>& nodes);
  void look_below(int node);
  void divide(int node, bool looks_on);
  data::CandidateColumns columns_of(int node) const;
  void bound_children(int node);
  void prune();
  template <class Visit>
  void in_order(Visit&& visit) const;
  void write_medians(tree::Tree& tree) const;
  void write_rest(tree::Tree& tree) const;
  bool has_room_below(int node) const;
  bool may_split(int node) const;
  bool comes_before(int a, int b) const;
  void push_if_split(int node);
  void pop();

  std::int64_t n_rows_;
  int n_columns_;
  std::string_view criterion_;
  tree::TreeParams params_;
  data::ColumnChoice choice_;
  std::vector<data::ColumnChoice::Path>
      paths_;  // of each node, where not all columns are looked at
  tree::GrowingTree growing_tree_;
  std::unique_ptr<tree::SplitEngine> engine_;
  bool weighs_rest_ = false;   // a forest's leaves of numbers say what is left to gain
  std::vector<int> frontier_;  // a heap ordered by comes_before
  std::vector<int> small_;     // nodes of small rows (channels.hpp), which wait for their turn
  std::optional<target::Channels>
      all_;  // of all rows, while the growing_tree's are those of small ones
};

}  // namespace weald::grow
