// For each leaf of a tree, which columns of its path a row meets.
#pragma once

#include <cstdint>
#include <vector>

#include "data/table.hpp"
#include "explain/shap_layout.hpp"
#include "tree/forest.hpp"

namespace weald::explain {

// Some rows of a table, column after column, for the columns that a forest uses.
class RowColumns {
 public:
  RowColumns() = default;
  template <class T>
  RowColumns(const data::Table<T>& table, std::int64_t begin, std::int64_t n,
             const ShapColumns& columns)
      : n_rows_(n), x_(static_cast<std::size_t>(n) * columns.columns.size()) {
    for (std::size_t slot = 0; slot < columns.columns.size(); ++slot)
      for (std::int64_t i = 0; i < n; ++i)
        x_[slot * n + i] = static_cast<double>(table.at(begin + i, columns.columns[slot]));
  }

  std::int64_t n_rows() const { return n_rows_; }
  const double* of(std::int64_t slot) const { return x_.data() + slot * n_rows_; }
  // The same values, row after row.
  std::vector<double> by_row(std::int64_t n_slots) const {
    std::vector<double> rows(x_.size());
    for (std::int64_t i = 0; i < n_rows_; ++i)
      for (std::int64_t slot = 0; slot < n_slots; ++slot) rows[i * n_slots + slot] = of(slot)[i];
    return rows;
  }

 private:
  std::int64_t n_rows_ = 0;
  std::vector<double> x_;
};

// Whether each row goes left at a node.
void find_sides(const tree::Forest& forest, std::int64_t node, const RowColumns& rows,
                std::int32_t slot, std::uint8_t* left);

// The leaves of one tree, from left to right. A pattern has a bit for each different player of the
// path to a leaf, in the order of their first splits: whether the row meets all its conditions.
class PatternWalk {
 public:
  static constexpr int most_bits = 12;

  PatternWalk(const tree::Forest& forest, const ShapColumns& columns)
      : forest_(forest), columns_(columns) {}

  // Calls visit(leaf, players, patterns) for each leaf (relative to the tree's first): the players
  // of the bits, and a pattern for each row. No path may have more players than `most_bits`.
  template <class Visit>
  void walk(std::int64_t tree, const RowColumns& rows, Visit&& visit);

 private:
  struct Level {
    std::int64_t node;
    std::int32_t player;
    int bit;
    bool is_new;  // whether it is the first split of its player
    std::vector<std::uint8_t> left;
    std::vector<std::uint16_t> patterns;  // of the node
  };
  void enter(std::int64_t node, const RowColumns& rows);
  void follow(bool to_left, const RowColumns& rows);
  void pop();

  const tree::Forest& forest_;
  const ShapColumns& columns_;
  std::vector<Level> levels_;  // kept for reuse; those of the path are the first depth_
  std::size_t depth_ = 0;
  std::vector<std::int32_t> players_;  // of the bits of the current path
  std::vector<int> bit_of_player_;     // -1: not on the path
};

template <class Visit>
void PatternWalk::walk(std::int64_t tree, const RowColumns& rows, Visit&& visit) {
  const std::int64_t begin = forest_.first_node[tree], end = forest_.first_node[tree + 1];
  const auto n_rows = static_cast<std::size_t>(rows.n_rows());
  depth_ = 0;
  players_.clear();
  bit_of_player_.assign(columns_.players.size(), -1);
  if (levels_.empty()) levels_.resize(1);
  levels_[0].patterns.assign(n_rows, 0);
  for (std::int64_t i = begin; i < end; ++i) {
    if (depth_ > 0) {
      const bool to_left = i == levels_[depth_ - 1].node + 1;
      if (!to_left)
        while (begin + forest_.right[levels_[depth_ - 1].node] != i) pop();
      follow(to_left, rows);
    }
    if (forest_.feature[i] >= 0)
      enter(i, rows);
    else
      visit(forest_.right[i], players_, levels_[depth_].patterns);
  }
}

}  // namespace weald::explain
