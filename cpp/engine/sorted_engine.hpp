// Splits found in rows kept sorted by every column: any number of distinct values.
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

// Where the values of a table may be cut: values[first[c]] < ... of column c. None (null): between
// any two values that are neighbours in a node. A column of levels 0, 1, ... is never cut, but
// parted in sets: n_levels[c] > 0 says how many there are (null: there is no such column).
struct CutsView {
  const double* values = nullptr;
  const std::int64_t* first = nullptr;
  const std::int32_t* n_levels = nullptr;

  int levels_of(std::int64_t column) const { return n_levels ? n_levels[column] : 0; }
};

// Every column has its own order of the rows, and every node owns the same range of all of them.
// When a node is split the rows of its range are sent left and right in every order, and keep it.
template <class T>
class SortedEngine : public tree::SplitEngine {
 public:
  SortedEngine(const data::Table<T>& table, const CutsView& cuts, std::string_view criterion,
               const split::SplitLimits& limits, int n_threads, tree::GrowingTree& growing_tree);

  void start() override;
  std::int64_t send_rows(int node, bool looks_on) override;
  void search(const tree::Siblings& siblings) override;
  void search_again(const std::vector<tree::Siblings>& nodes) override;
  std::vector<int> search_level(const std::vector<int>& nodes, data::ColumnLook columns) override;
  void send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const override;

 private:
  void sort_columns();
  void start_from_some_rows();
  template <criteria::Criterion C>
  void search_by(const tree::Siblings& siblings);
  template <class Search>
  void search_with(const tree::Siblings& siblings);
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
  // Calls each(place, goes_left) for the node's places of the column that its split asks.
  template <class Each>
  void send_places(int node, Each&& each) const;

  data::Table<T> table_;
  CutsView cuts_;
  std::string_view criterion_;
  const split::SplitLimits& limits_;
  int n_threads_;
  tree::GrowingTree& growing_tree_;
  const target::Channels& channels_;

  std::vector<int> columns_;  // those of more than one value; the others are left out
  std::vector<char> has_missing_;
  LargeVector<split::Place> order_;   // [column][row]: all rows of the table
  LargeVector<split::Place> work_;    // [column][row]: the rows of the nodes
  bool root_in_order_ = true;         // the root's rows are those of order_
  std::vector<std::int64_t> cut_of_;  // of each node, how many of its places are before the cut
  std::vector<Code> side_;            // of each row that is being sent: 0 left, 1 right
  std::vector<std::vector<split::Place>> spare_;  // of each worker
};

}  // namespace weald::engine
