// Many rows walk down large trees.
#pragma once

#include <cstdint>
#include <vector>

#include "forest.hpp"
#include "memory.hpp"
#include "table.hpp"

namespace weald {

// A forest laid out for one batch of rows: 8 bytes a node where the table holds floats, 16 where it
// holds doubles. Siblings lie side by side, so that a step is one comparison and one addition. Tree
// after tree a block of rows walks down, which stays in the cache with the tree, sixteen side by
// side: one waits for memory while others go on.
template <class T>
class BatchWalk {
 public:
  // Whether the numbers of a node fit into its bytes; no set of levels does.
  static bool fits(const Forest& forest, std::int64_t n_columns);

  // `values` are those of the leaves, times the weights of their trees. All must outlive the walk.
  BatchWalk(const Forest& forest, const double* values, std::int64_t n_columns, int n_threads);

  // Adds the trees' values to scores[row][output], in the order of the trees.
  void add(const Table<T>& table, double* scores, int n_threads) const;

 private:
  // Left if x <= threshold. `way`: the place of the left child, 16 times the column, and a bit that
  // is set if missing values go left. A leaf leads to itself: its threshold is a NaN, which carries
  // where its values are, so that rows go right of the place before it.
  struct Node {
    T threshold;
    std::uint32_t way;
  };

  void lay_out(std::int64_t tree);
  T mark(std::int64_t tree, std::int32_t leaf) const;
  bool fill(const Table<T>& table, std::int64_t begin, std::int64_t n, T* block) const;
  template <bool has_missing>
  void walk(std::int64_t tree, const T* block, std::int64_t n, double* scores) const;
  void answer(std::int64_t tree, const Node& leaf, double* score) const;

  Forest forest_;
  const double* values_;
  std::int64_t n_columns_;
  int shift_;          // of the child's place in `way`
  bool marks_purity_;  // a leaf of one class needs no look at its values
  LargeVector<Node> nodes_;
};

}  // namespace weald
