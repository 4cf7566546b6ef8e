// Prediction of many rows with large trees.
//
// Benchmark row `forest_200k` (default settings). predict_proba of RandomForestClassifier (100 full
// trees, seven classes) on 50,000 x 54 rows, one thread: 0.095 s of processor time instead of
// 0.68 s of plain traversal (7x).
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "data/table.hpp"
#include "tree/forest.hpp"

namespace weald::predict {

// Whether a forest can be traversed in batches; not with category sets.
template <class T>
bool fits_batch(const tree::Forest& forest, std::int64_t n_columns);

// Adds the trees' values to scores[row][output], in the order of the trees. `values` are the leaf
// values times the tree weights.
template <class T>
void walk_batch(const tree::Forest& forest, const double* values, const data::Table<T>& table,
                double* scores, int n_threads);

// A forest laid out for one batch of rows: 8 bytes per node if the table holds floats and trees
// have less than 65,535 nodes (`Index`). Siblings are adjacent, so a step is one comparison and one
// addition. A block of rows traverses tree after tree and stays in cache with the tree, sixteen
// rows at a time to hide memory latency.
template <class T, class Index>
class BatchWalk {
 public:
  static bool fits(const tree::Forest& forest, std::int64_t n_columns);

  // All arguments must outlive the walk.
  BatchWalk(const tree::Forest& forest, const double* values, const data::Table<T>& table,
            int n_threads);

  void add(double* scores, int n_threads) const;

 private:
  // Left if x <= threshold. `left` is the slot of the left child, `column` is 16 times the column
  // plus, if the table has missing values, one if they go left. A leaf points to itself: its
  // threshold is a NaN whose payload locates its values, and rows go right of the slot before it.
  struct Node {
    T threshold;
    Index left, column;
  };

  void lay_out(std::int64_t tree);
  T mark(std::int64_t tree, std::int32_t leaf) const;
  void fill(std::int64_t begin, std::int64_t n, T* block) const;
  template <bool has_missing>
  void walk(std::int64_t tree, const T* block, std::int64_t n, double* scores) const;
  void add_leaf(std::int64_t tree, const Node& leaf, double* score) const;

  tree::Forest forest_;
  const double* values_;
  data::Table<T> table_;
  bool has_missing_;   // of the table
  bool marks_purity_;  // leaves of a single class are encoded in the marker
  LargeVector<Node> nodes_;
  std::vector<std::uint8_t> depth_;  // of each tree, at most `shallow` + 1
};

}  // namespace weald::predict
