// Shapley values of trees against a table of background rows (interventional): a column that is not
// in a coalition has the value of a background row, and values are averaged over these rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/table.hpp"
#include "explain/pattern_tables.hpp"
#include "explain/quadrature.hpp"
#include "explain/row_patterns.hpp"
#include "explain/shap_layout.hpp"
#include "tree/forest.hpp"

namespace weald::explain {

class PairWalk;

class BackgroundShap {
 public:
  // How a tree is explained. By patterns: background rows are counted by the conditions of each
  // leaf that they meet, and a table has the values for each pattern of an explained row, so that
  // the time is that of the rows plus that of the background. By pairs: each row is compared with
  // each background row, for large trees and for few rows.
  enum class Engine { automatic, patterns, pairs };

  // The forest must be valid (forest.hpp: is_sound); player_of_column[n_columns] in [0, n_players).
  // All arrays must outlive this object.
  BackgroundShap(const tree::Forest& forest, const std::int32_t* player_of_column,
                 std::int64_t n_columns, std::int64_t n_players);

  // Whether no path has more players than a pattern has bits.
  bool has_patterns() const;

  // phi[row][player][i]: values of outputs[i]; zeros before the call. Their sum over the players is
  // the score of the row minus the mean score of the background rows.
  template <class T>
  void explain(const data::Table<T>& table, const data::Table<double>& background,
               const std::vector<int>& outputs, double* phi, int n_threads,
               Engine engine = Engine::automatic) const;

 private:
  struct TreeSize {
    int most_players = 0;     // of a path
    double n_steps = 0.0;     // splits on the longest path
    double table_size = 0.0;  // numbers in the tables of all leaves
  };
  struct Background {
    RowColumns columns;
    std::vector<double> by_row;
  };
  // The trees [first, end), and the tables of those explained by patterns.
  struct Batch {
    std::int64_t first, end;
    std::vector<std::unique_ptr<PatternTables>> tables;
  };

  bool uses_patterns(std::int64_t tree, double n_rows, double n_background, Engine engine) const;
  void add_patterns(std::int64_t tree, const PatternTables& tables, const RowColumns& rows,
                    const std::vector<int>& outputs, PatternWalk& walk, double* phi) const;
  void add_pairs(std::int64_t tree, const std::vector<double>& rows, const Background& background,
                 const std::vector<int>& outputs, PairWalk& walk, double* phi) const;

  tree::Forest forest_;
  std::int64_t n_players_;
  ShapColumns columns_;
  std::vector<TreeSize> sizes_;
  std::vector<Quadrature> rules_;
};

}  // namespace weald::explain
