// Splits found in histograms of codes: one child is counted, the other is what is left. In small
// tables of many bins these are searched row by row instead (ordered_search.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "categories.hpp"
#include "histogram.hpp"
#include "histogram_table.hpp"
#include "ordered_search.hpp"
#include "shared.hpp"
#include "split_engine.hpp"
#include "splitting.hpp"

namespace weald {

class HistogramEngine : public SplitEngine {
 public:
  HistogramEngine(std::shared_ptr<const HistogramTable> table, std::string_view criterion,
                  const SplitLimits& limits, int n_threads, Sapling& sapling, Cells cells);

  void start() override;
  bool works_side_by_side() const override { return !bundles_.any() && !in_order_; }
  void expect(const std::vector<int>& nodes) override;
  std::int64_t send_rows(int node, bool looks_on) override;
  void search(const Siblings& siblings) override;
  std::vector<int> search_level(const std::vector<int>& nodes, ColumnLook columns) override;
  void send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const override;

 private:
  // Two new nodes: the one whose histogram is counted and the one that is the rest.
  struct Pair {
    int counted, rest;
    bool wants_counted, wants_rest;
    bool subtract;  // the rest's histogram still is the parent's
    ColumnLook counted_columns = {}, rest_columns = {};
  };
  struct Found {
    Split split;
    bool any_admitted = false;
  };

  Pair take_histograms(const Siblings& siblings);
  template <Criterion C>
  void search_wide(const Pair& pair);
  void search_packed(const Pair& pair);
  void search_packed_by_parts(const Pair& pair);
  Split best_packed(int node, const ColumnLook& columns);
  PackedSearch packed_search(int node) const;
  template <Criterion C>
  Found best_of_part(int node, int part, const ColumnLook& columns);
  template <Criterion C>
  Split joined(int node, const std::vector<Found>& found, ColumnLook columns);
  Split decided(int node, std::vector<LaneBests> found, ColumnLook columns);
  int part_of(int column) const;
  void subtract_part(int part, const Pair& pair);
  void make_ready(const Pair& pair);
  void settle(int node, const Split& found);

  bool is_left_lighter(int parent) const;
  Partition::Test test_of(const Split& split, std::vector<std::uint8_t>& sides) const;
  std::int64_t* cells_of_node(int node) { return cells_of(slot_of_[node]); }
  const std::int64_t* columns_of_node(int node);
  std::int64_t* cells_of(int slot) { return pool_[slot].data(); }
  int take_slot();
  void give_slot(int slot);
  std::size_t slots_in_use();
  int fill_histogram(int node);
  int root_histogram(int root);
  bool counts_by_lists(std::int64_t n_rows) const;
  void count(bool by_lists, const Row* rows, std::int64_t begin, std::int64_t n,
             std::int64_t* cells) const;
  void complete(int node, int slot);
  void merge(const std::vector<int>& slots);
  int threads_for(std::int64_t n_rows) const;

  std::shared_ptr<const HistogramTable> table_;
  const Codes &codes_, &counted_;
  const Categories &categories_, &counted_categories_;
  const Bundles& bundles_;
  std::string_view criterion_;
  const SplitLimits& limits_;
  int n_threads_;
  Cells cells_;
  Sapling& sapling_;
  const Channels& channels_;
  // Set when the first tree tells the size of a cell: of what is counted, and of the columns.
  std::optional<HistogramLayout> layout_, column_layout_;

  std::vector<std::vector<std::int64_t>> pool_, level_cells_;
  std::vector<int> free_slots_;
  std::mutex slots_lock_;     // of the two above, while nodes are worked on side by side
  std::vector<int> slot_of_;  // of each node's histogram in the pool; -1: not kept
  struct Expanded {
    int node = -1;
    std::vector<std::int64_t> cells;
  };
  Expanded expanded_[2];  // with bundles: the columns' cells of the nodes being searched
  OrderedSearch ordered_;
  bool in_order_ = false;  // no histograms are made for this tree
};

}  // namespace weald
