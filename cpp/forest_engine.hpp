// Splits of a few columns drawn for every node: random forests and extremely randomised trees.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "draws.hpp"
#include "forest_scan.hpp"
#include "ranks.hpp"
#include "small_sort.hpp"
#include "split_engine.hpp"
#include "splitting.hpp"

namespace weald {

struct ForestParams {
  std::uint64_t seed = 0;
  int max_features = 1;           // columns a node looks at
  bool columns_of_tree = false;   // drawn once for the whole tree
  bool random_cuts = false;       // one cut a column, drawn between its least and largest value
  double min_decrease = 0.0;      // of the impurity, as a share of the tree's weight
  double min_weight_share = 0.0;  // of each child, of the tree's weight
};

// Nodes of many rows count them in bins; small ones sort their rows by rank, so that every two
// neighbouring values can be cut apart.
class ForestEngine : public SplitEngine {
 public:
  ForestEngine(std::shared_ptr<const RankedTable> table, const ForestParams& forest,
               std::string_view criterion, const SplitLimits& limits, Sapling& sapling);

  void start() override;
  std::int64_t send_rows(int node, bool looks_on) override;
  void search(const Siblings& siblings) override;
  std::vector<int> search_level(const std::vector<int>& nodes, ColumnLook columns) override;
  void send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const override;

 private:
  // The best cut so far: values up to `rank` go left, the next one in the node is `next`.
  struct Best {
    double bar = no_score;  // what a cut must score more than: with the share that is a tie
    int column = -1, rank = 0, next = 0;
    bool missing_left = false, is_perfect = false;
    double threshold = 0.0;  // of a drawn cut
  };
  static constexpr int all_values = most_ranks + 1;  // as a rank: only missing values go right

  // The rows of the node that is searched.
  struct Rows {
    const Row* rows;
    std::int64_t n;
  };
  // Which ranks of a column they have, without missing ones.
  struct Span {
    std::uint32_t least, most;
    std::int64_t n_present;
  };

  void choose_scan();
  template <class Scan>
  void search_node(Scan& scan, int node);
  template <class Scan>
  void try_column(Scan& scan, int column, const Rows& rows, const Draws& draws);
  template <class Scan, class CodeOf>
  void try_bins(Scan& scan, int column, const Rows& rows, CodeOf code_of);
  template <class Scan>
  void try_sorted(Scan& scan, int column, const Rows& rows);
  template <class Scan>
  void try_cuts(Scan& scan, int column, const std::uint32_t* keys, std::int64_t n_missing,
                const std::uint32_t* sorted, std::int64_t n);
  template <class Scan>
  void try_drawn(Scan& scan, int column, const Rows& rows, const Draws& draws);
  template <class Scan>
  Span gather(const Scan& scan, int column, const Rows& rows);
  Span span_by_codes(int column, const Rows& rows) const;
  std::pair<int, double> draw_cut(int column, const Span& span, const Draws& draws) const;
  template <class Scan>
  void take(Scan& scan, const typename Scan::Left& left, int column, int rank, int next,
            bool missing_left, bool has_missing, double threshold = 0.0);
  template <class Judge>
  void settle(int node, Judge&& judge);
  void draw_columns_of_tree(const Draws& draws);

  std::shared_ptr<const RankedTable> table_;
  ForestParams forest_;
  std::string_view criterion_;
  SplitLimits limits_;
  Sapling& sapling_;

  std::variant<PairCounts, PairScan<false>, PairScan<true>, ClassScan, CellScan<Variance>,
               CellScan<Gini>, CellScan<Entropy>>
      scan_;
  std::vector<Draws> draws_;  // of every node
  std::vector<int> order_;    // all columns; those drawn come to the front
  std::vector<int> swaps_;    // to put them back
  Best best_;
  std::vector<std::int64_t> best_left_;
  std::vector<std::uint32_t> keys_, spare_;  // rank and payload of each row of a small node
  KeySorter sorter_;
};

}  // namespace weald
