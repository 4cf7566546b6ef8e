// Many rows walk down large trees.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "data/table.hpp"
#include "tree/forest.hpp"

namespace weald::predict {

// Whether a forest can be walked as a batch of rows; no set of levels can.
template <class T>
bool fits_batch(const tree::Forest& forest, std::int64_t n_columns);

// Adds the trees' values to scores[row][output], in the order of the trees. `values` are those of
// the leaves, times the weights of their trees.
template <class T>
void walk_batch(const tree::Forest& forest, const double* values, const data::Table<T>& table,
                double* scores, int n_threads);

// A forest laid out for one batch of rows: 8 bytes a node where the table holds floats and trees
// have less than 65,535 nodes (`Index`). Siblings lie side by side, so that a step is one
// comparison and one addition. Tree after tree a block of rows walks down, which stays in the cache
// with the tree, sixteen side by side: one waits for memory while others go on.
template <class T, class Index>
class BatchWalk {
 public:
  static bool fits(const tree::Forest& forest, std::int64_t n_columns);

  // All must outlive the walk.
  BatchWalk(const tree::Forest& forest, const double* values, const data::Table<T>& table,
            int n_threads);

  void add(double* scores, int n_threads) const;

 private:
  // Left if x <= threshold. `left` is the place of the left child, `column` 16 times the column
  // and, where the table has missing values, one more if they go left. A leaf leads to itself: its
  // threshold is a NaN, which carries where its values are, so that rows go right of the place
  // before it.
  struct Node {
    T threshold;
    Index left, column;
  };

  void lay_out(std::int64_t tree);
  T mark(std::int64_t tree, std::int32_t leaf) const;
  void fill(std::int64_t begin, std::int64_t n, T* block) const;
  template <bool has_missing>
  void walk(std::int64_t tree, const T* block, std::int64_t n, double* scores) const;
  void answer(std::int64_t tree, const Node& leaf, double* score) const;

  tree::Forest forest_;
  const double* values_;
  data::Table<T> table_;
  bool has_missing_;   // the table
  bool marks_purity_;  // a leaf of one class needs no look at its values
  LargeVector<Node> nodes_;
};

}  // namespace weald::predict
