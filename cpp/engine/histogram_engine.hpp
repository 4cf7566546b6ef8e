// Split search in histograms of codes: one child is counted, its sibling obtained by subtraction.
// Small tables with many bins use ordered_search.hpp instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "engine/histogram_pool.hpp"
#include "engine/ordered_search.hpp"
#include "split/histogram.hpp"
#include "split/histogram_table.hpp"
#include "split/splitting.hpp"
#include "split/word_blocks.hpp"
#include "tree/split_engine.hpp"

namespace weald::engine {

// Size limit of the histograms kept for subtraction; beyond it a node's histogram is computed from
// its rows. Sums are integers, so the tree is the same either way.
inline constexpr std::int64_t pool_bytes = std::int64_t{256} << 20;

class HistogramEngine : public tree::SplitEngine {
 public:
  HistogramEngine(std::shared_ptr<const split::HistogramTable> table, std::string_view criterion,
                  const split::SplitLimits& limits, int n_threads, tree::GrowingTree& growing_tree,
                  target::Cells cells);

  void start() override;
  bool shares_nodes() const override { return !bundles_.any() && !in_order_; }
  std::vector<std::int64_t> send_rows(const std::vector<tree::Announced>& nodes) override;
  void search(const std::vector<tree::Siblings>& siblings) override;
  void search_again(const std::vector<tree::Siblings>& nodes) override;
  void keep(const std::vector<tree::Siblings>& siblings) override;
  std::vector<int> search_level(const std::vector<int>& nodes,
                                data::CandidateColumns columns) override;
  void send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const override;

 private:
  // Two siblings: the one whose histogram is counted and the other.
  struct Pair {
    int counted, rest;
    bool wants_counted, wants_rest;
    bool subtract;  // the other's histogram is still the parent's
    data::CandidateColumns counted_columns = {}, rest_columns = {};
  };
  // The child of a node that is counted (-1: none), and whether it is the left one.
  struct Lighter {
    int child;
    bool is_left;
  };
  // The histograms of the threads that count a node, by thread; later those to be added to the
  // node's own.
  struct Counts {
    std::vector<int> slots = {};  // -1: none
    bool by_lists = false;

    void begin(int n_threads, bool counts_by_lists) {
      slots.assign(static_cast<std::size_t>(n_threads), -1);
      by_lists = counts_by_lists;
    }
  };
  struct Found {
    split::Split split;
    bool any_admitted = false;
  };

  Pair take_histograms(const tree::Siblings& siblings);
  void search_pairs(const std::vector<Pair>& pairs);
  template <class FoundInPart, class SearchPart, class Decide>
  void search_parts(const std::vector<Pair>& pairs, SearchPart search_part, Decide decide);
  split::PackedSearch packed_search(int node) const;
  split::CountedRows rows_to_count(int node);
  using CopiesByCode = decltype(split::CountedRows::by_code);
  CopiesByCode copies_in_lists(const Row* rows, std::int64_t n);
  void count_copies(bool by_lists, const Row* rows, std::int64_t n, std::int64_t* cells);
  template <criteria::Criterion C>
  Found best_of_part(int node, int part, const data::CandidateColumns& columns);
  template <criteria::Criterion C>
  split::Split joined(int node, const std::vector<Found>& found, data::CandidateColumns columns);
  split::Split decided(int node, std::vector<kernels::LaneBests> found,
                       data::CandidateColumns columns);
  void make_part(int part, const Pair& pair);
  void expand(const Pair& pair);
  void settle(int node, const split::Split& found);
  bool has_room();

  bool is_left_lighter(int parent) const;
  tree::Partition::Test test_of(const split::Split& split, std::vector<std::uint8_t>& sides) const;
  std::int64_t* cells_of_node(int node) { return cells_of(slot_of_[node]); }
  const std::int64_t* columns_of_node(int node);
  std::int64_t* cells_of(int slot) { return pool_.cells_of(slot); }
  void count_rows(int node);
  std::int64_t* own_cells(int node, int worker);
  void begin_sums(const std::vector<int>& nodes);
  void sum_cells(int node, std::int64_t begin, std::int64_t end);
  void sum_part(int part, int node);
  void sum_first(const std::vector<int>& nodes);
  void end_sum(int node);
  std::vector<std::int64_t> divide_elsewhere(const std::vector<tree::Announced>& nodes);
  bool counts_by_lists(std::int64_t n_rows) const;
  void count(int node, int worker, const Row* rows, std::int64_t begin, std::int64_t n);
  void count(const split::HistogramLayout& layout, bool by_lists, const Row* rows,
             std::int64_t begin, std::int64_t n, std::int64_t* cells) const;
  int threads_for(std::int64_t n_rows) const;
  int threads_to_search(std::size_t n_nodes) const;

  std::shared_ptr<const split::HistogramTable> table_;
  const Codes &codes_, &counted_;
  const data::Categories &categories_, &counted_categories_;
  const split::FeatureBundles& bundles_;
  std::string_view criterion_;
  const split::SplitLimits& limits_;
  int n_threads_;
  target::Cells cells_;
  tree::GrowingTree& growing_tree_;
  const target::Channels& channels_;
  // Set when the first tree determines the cell size: of `counted`, and of the columns.
  std::optional<split::HistogramLayout> layout_, column_layout_;

  split::WordBlocks word_blocks_;
  HistogramPool pool_;
  std::vector<int> slot_of_;    // histogram slot of each node; -1: not kept
  std::vector<Counts> counts_;  // of each node, until its histogram is complete
  struct Expanded {
    int node = -1;
    std::vector<std::int64_t> cells;
  };
  Expanded expanded_[2];  // with bundles: the columns' cells of the nodes being searched
  OrderedSearch ordered_;
  bool in_order_ = false;  // ordered search: no histograms for this tree
};

}  // namespace weald::engine
