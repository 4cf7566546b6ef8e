// Split search in rows sorted by every column: exact splits for any number of distinct values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/table.hpp"
#include "split/sorted_search.hpp"
#include "split/splitting.hpp"
#include "tree/split_engine.hpp"

namespace weald::engine {

// Allowed thresholds: values[first[c]] < ... of column c. Null: between any two neighbouring values
// of a node. A categorical column with levels 0, 1, ... is split into sets instead: n_levels[c] > 0
// is their number (null: no categorical columns).
struct CutsView {
  const double* values = nullptr;
  const std::int64_t* first = nullptr;
  const std::int32_t* n_levels = nullptr;

  int levels_of(std::int64_t column) const { return n_levels ? n_levels[column] : 0; }
};

// Every column has its own order of the rows, and every node owns the same range of all of them.
// Splitting a node partitions its range of every order stably.
template <class T>
class SortedEngine : public tree::SplitEngine {
 public:
  SortedEngine(const data::Table<T>& table, const CutsView& cuts, std::string_view criterion,
               const split::SplitLimits& limits, int n_threads, tree::GrowingTree& growing_tree);

  void start() override;
  std::vector<std::int64_t> send_rows(const std::vector<tree::Announced>& nodes) override;
  void search(const std::vector<tree::Siblings>& siblings) override;
  void search_again(const std::vector<tree::Siblings>& nodes) override;
  std::vector<int> search_level(const std::vector<int>& nodes,
                                data::CandidateColumns columns) override;
  void send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const override;

 private:
  void sort_columns();
  std::int64_t send_rows(int node);
  void search(const tree::Siblings& siblings);
  void start_from_some_rows();
  template <criteria::Criterion C>
  void search_by(const tree::Siblings& siblings);
  struct Found {
    split::Split split;
    bool any_admitted = false;

    void take(const Found& other) {
      if (other.split.gain > split.gain) split = other.split;
      any_admitted |= other.any_admitted;
    }
  };
  template <class Search>
  void search_with(const tree::Siblings& siblings);
  template <class Search>
  void search_column(Search& search, int node, int column, Found& best) const;
  template <class Search>
  void search_further(int node, data::CandidateColumns columns, Found& best) const;
  template <class Search>
  Search search_of(int node) const {
    return Search(channels_, limits_, growing_tree_.totals_of(node),
                  growing_tree_.nodes[node].bounds);
  }
  void divide(const tree::Siblings& siblings, int column, std::vector<split::Place>& spare);
  void settle(int node, const split::Split& found);

  const split::Place* places_of(int node, int column) const;
  std::int64_t n_missing(const split::Place* places, std::int64_t n, int column) const;
  double threshold_at(const split::Place* places, std::int64_t n, int column,
                      std::int64_t place) const;
  T value_at(split::Place place, int column) const {
    return table_.at(split::row_of(place), column);
  }
  std::int64_t level_at(split::Place place, int column) const {
    return static_cast<std::int64_t>(value_at(place, column));
  }
  // Call each(place, goes_left) for the node's entries of the column of its split.
  template <class Each>
  void send_places(int node, Each&& each) const;

  data::Table<T> table_;
  CutsView cuts_;
  std::string_view criterion_;
  const split::SplitLimits& limits_;
  int n_threads_;
  tree::GrowingTree& growing_tree_;
  const target::Channels& channels_;

  std::vector<int> columns_;  // columns with more than one value
  std::vector<char> has_missing_;
  LargeVector<split::Place> order_;   // [column][row]: all rows of the table
  LargeVector<split::Place> work_;    // [column][row]: the rows of the nodes
  bool root_in_order_ = true;         // the root's rows are order_
  std::vector<std::int64_t> cut_of_;  // of each node, the number of entries before the split
  std::vector<Code> side_;            // of each row being partitioned: 0 left, 1 right
  std::vector<std::vector<split::Place>> spare_;  // of each worker
};

}  // namespace weald::engine
