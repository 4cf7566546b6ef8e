// Prediction: rows and trees to scores and leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "data/table.hpp"
#include "predict/row_masks.hpp"
#include "tree/forest.hpp"

namespace weald::predict {

// A forest prepared for prediction: 16 bytes per node and, if all trees are small or symmetric, a
// second form over bin codes (row_masks.hpp). Large batches with large trees use batch_walk.hpp.
// All give the same bits; `Engine` lets tests choose.
class Predictor {
 public:
  enum class Engine { automatic, walk, masks, batch };

  // The forest must be valid (forest.hpp: is_sound) and outlive the predictor.
  Predictor(const tree::Forest& forest, std::int64_t n_columns);

  // scores[row][output] = base score + the trees' values, added in the order of the trees.
  template <class T>
  void predict(const data::Table<T>& table, double* scores, int n_threads,
               Engine engine = Engine::automatic) const;

  // leaves[row][tree]: the leaf of a row, relative to the tree's first leaf.
  template <class T>
  void apply(const data::Table<T>& table, std::int32_t* leaves, int n_threads) const;

  bool has_masks() const { return masks_.fits(); }
  // Whether tables of floats and of doubles can be traversed in batches.
  bool has_batch() const;

 private:
  // A leaf sends every row to itself: its threshold is a NaN with the leaf index as payload. That
  // of a node with a category set is a negative NaN with the set index.
  struct WalkNode {
    double threshold;
    std::int32_t feature;  // twice the column, plus one if missing values go left
    std::int32_t right;    // relative to the tree's first node
  };

  template <class T>
  bool pays_as_batch(const data::Table<T>& table) const;
  template <class T>
  void predict_batch(const data::Table<T>& table, double* scores, int n_threads) const;
  template <class T>
  void predict_walk(const data::Table<T>& table, std::int64_t begin, std::int64_t end,
                    double* scores) const;
  template <bool has_sets, class T, class Visit>
  void walk(const data::Table<T>& table, std::int64_t begin, std::int64_t end, Visit&& visit) const;
  template <bool has_sets, class T, class Visit>
  void walk_row(const data::Table<T>& table, std::int64_t row, Visit&& visit) const;
  template <class T, class Visit>
  void walk_any(const data::Table<T>& table, std::int64_t begin, std::int64_t end,
                Visit&& visit) const;

  tree::Forest forest_;
  std::int64_t n_columns_;
  std::vector<WalkNode> nodes_;
  std::vector<double> values_;  // times the tree weights
  RowMasks masks_;
};

}  // namespace weald::predict
