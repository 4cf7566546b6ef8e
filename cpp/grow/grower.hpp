// Grows one tree leaf-wise, level-wise or obliviously, on any split engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/parallel.hpp"
#include "base/types.hpp"
#include "data/column_choice.hpp"
#include "engine/histogram_engine.hpp"
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
  // On histograms of codes, or on values sorted by column.
  Grower(std::shared_ptr<const split::HistogramTable> table, std::string_view criterion,
         const tree::TreeParams& params);
  template <class T>
  Grower(const data::Table<T>& table, const engine::CutsView& cuts, std::string_view criterion,
         const tree::TreeParams& params);
  // On ranks, with column sampling per node.
  Grower(std::shared_ptr<const data::RankedTable> table, std::string_view criterion,
         const tree::TreeParams& params);
  Grower(const Grower&) = delete;  // the engine refers to growing_tree_
  Grower& operator=(const Grower&) = delete;

  // Grows a tree on the rows with positive copies; writes the leaf of every row of the table.
  tree::Tree grow(const target::Target& target, std::int32_t* leaf_of_row);

  // The same on rows that lie in parts; the grower's table has none (split/histogram_table.hpp).
  // `member` keys the draws of the tree. Only for one gradient per row.
  tree::Tree grow(tree::Parts& parts, std::uint64_t member);

 private:
  Grower(std::int64_t n_rows, int n_columns, std::string_view criterion,
         const tree::TreeParams& params, const data::ColumnParams& columns);
  void prepare(const target::Target& target, const Row* rows, std::int64_t n);
  void prepare_parts(std::uint64_t member);
  void run();
  void run_node_by_node();
  void run_level_by_level();
  void divide(const std::vector<int>& nodes, bool looks_on);
  void split_frontier();
  bool search_small_targets();
  void rescale(const std::vector<int>& nodes);
  bool is_small(int node) const;
  bool shares_nodes() const;
  std::vector<int> batch();
  std::int64_t most_ahead(bool asks) const;
  void expand(const std::vector<int>& nodes);
  void partition(const std::vector<tree::Announced>& nodes);
  data::CandidateColumns columns_of(int node) const;
  void bound_children(const std::vector<tree::Announced>& nodes);
  std::vector<double> middles_of(const std::vector<int>& nodes) const;
  std::vector<double> exact_middles_of(const std::vector<int>& nodes) const;
  void prune();
  template <class Visit>
  void in_order(Visit&& visit) const;
  void write_medians(tree::Tree& tree) const;
  void write_impurity(tree::Tree& tree) const;
  bool may_split_below(int node) const;
  bool may_split(int node) const;
  bool comes_before(int a, int b) const;
  void push_if_split(int node);
  void pop();

  std::int64_t n_rows_;
  int n_columns_;
  std::string_view criterion_;
  tree::TreeParams params_;
  data::ColumnChoice choice_;
  std::vector<data::ColumnChoice::Path> paths_;  // [node], with column constraints
  tree::GrowingTree growing_tree_;
  std::unique_ptr<tree::SplitEngine> engine_;
  bool writes_impurity_ = false;  // forests: gain of a leaf is its impurity
  std::vector<int> frontier_;     // heap ordered by comes_before
  InterruptSteps steps_;          // cells that were summed and searched
  std::vector<int> small_;        // nodes of small targets (channels.hpp), split last
  std::optional<target::Channels>
      all_;  // of all rows, while growing_tree_ has those of small targets
};

}  // namespace weald::grow
