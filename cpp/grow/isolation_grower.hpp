// Isolation trees: random columns and random thresholds, until rows are alone (Liu, Ting and Zhou).
#pragma once

#include <cstdint>
#include <vector>

#include "base/draws.hpp"
#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "data/categories.hpp"
#include "data/row_draws.hpp"
#include "data/table.hpp"
#include "grow/forest_writer.hpp"
#include "tree/tree.hpp"

namespace weald::grow {

struct IsolationParams {
  int max_features = 1;  // columns drawn for each tree
  int max_depth = 8;
  std::vector<int> n_levels;  // of each column, 0: numerical; empty: all are
  std::uint64_t seed = 0;
};

// Expected path length of a random tree that isolates n rows: 2 H(n - 1) - 2 (n - 1) / n, with the
// harmonic number H approximated as in the paper. A multiple of 2^-24, so that sums of path lengths
// are exact: rows that no tree can tell apart get the same score in any forest.
inline double mean_path_length(double n) {
  if (n <= 2.0) return n < 2.0 ? 0.0 : 1.0;
  constexpr double euler_gamma = 0.5772156649015329;
  const double length = 2.0 * (elementary::log(n - 1.0) + euler_gamma) - 2.0 * (n - 1.0) / n;
  return static_cast<double>(static_cast<std::int64_t>(length * 0x1p24 + 0.5)) * 0x1p-24;
}

// Grows one tree after another. The value of a leaf is the path length of its rows: its depth, and
// the mean path length of as many rows as are left in it.
template <class T>
class IsolationGrower {
 public:
  // All arguments must outlive the grower. index[place] is the row at a place in the order of
  // content.
  IsolationGrower(const data::Table<T>& table, const std::int64_t* index,
                  const data::RowDraws& rows, const IsolationParams& params);

  tree::Tree grow(std::uint64_t member);

 private:
  struct Split {
    int column = -1;  // -1: no column has two values
    double threshold = 0.0;
    data::LevelSet levels;
    bool missing_left = false;
  };
  struct Drawn {
    std::int64_t row;
    std::uint32_t copies;
  };

  void start(std::uint64_t member);
  void grow_node(std::size_t begin, std::size_t end, int depth, const Draws& draws,
                 std::size_t n_constant);
  void add_leaf(double n_rows, int depth);
  Split draw_split(std::size_t begin, std::size_t end, const Draws& draws, std::size_t& n_constant);
  bool cut_numbers(std::size_t begin, std::size_t end, const Draws& draws, Split& split) const;
  bool cut_levels(std::size_t begin, std::size_t end, const Draws& draws, Split& split);
  std::size_t part(std::size_t begin, std::size_t end, const Split& split);
  void draw_column(std::size_t place, const Draws& draws);
  void put_back(std::size_t first, std::size_t end, const Draws& draws);
  bool draws_left(std::size_t begin, std::size_t end, const Draws& draws, const Split& split) const;
  bool goes_left(std::int64_t row, const Split& split) const;
  double copies_of(std::size_t begin, std::size_t end) const;
  bool is_category(int column) const {
    return !params_.n_levels.empty() && params_.n_levels[column];
  }

  data::Table<T> table_;
  const std::int64_t* index_;
  const data::RowDraws& rows_;
  const IsolationParams& params_;
  std::vector<int> columns_;  // of the tree; those known to be constant in a node come first
  std::vector<Drawn> drawn_;  // rows of the tree: every node owns a range
  data::LevelSet present_;    // levels in a node
  tree::Tree tree_;
  InterruptSteps steps_;
};

// Trees first .. first + n_trees - 1.
template <class T>
PackedForest grow_isolation_trees(const data::Table<T>& table, const std::int64_t* index,
                                  const data::RowDraws& rows, const IsolationParams& params,
                                  std::uint64_t first, std::int64_t n_trees, int n_threads);

}  // namespace weald::grow
