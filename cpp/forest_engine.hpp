// Splits of a few columns drawn for every node: random forests and extremely randomised trees.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cell_scan.hpp"
#include "drawn_columns.hpp"
#include "drawn_values.hpp"
#include "draws.hpp"
#include "forest_categories.hpp"
#include "forest_scan.hpp"
#include "label_scan.hpp"
#include "median_scan.hpp"
#include "parallel.hpp"
#include "ranks.hpp"
#include "small_sort.hpp"
#include "split_engine.hpp"
#include "splitting.hpp"
#include "vector_scan.hpp"

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
// neighbouring values can be cut apart. Drawn cuts need neither.
class ForestEngine : public SplitEngine {
 public:
  ForestEngine(std::shared_ptr<const RankedTable> table, const ForestParams& forest,
               std::string_view criterion, const SplitLimits& limits, Sapling& sapling);

  void start() override;
  // Serves a branch of the tree that another engine was started for. It may be at work meanwhile,
  // on other rows of the tree.
  void start_beside(const ForestEngine& other);
  std::int64_t send_rows(int node, bool looks_on) override;
  void search(const Siblings& siblings) override;
  std::vector<int> search_level(const std::vector<int>& nodes, ColumnLook columns) override;
  void send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const override;

  // The same for whoever keeps nodes himself. `find` looks for the best split of the rows at
  // [begin, end), whose integer sums are `totals`, by the draws of the node; `found` then is what
  // it is and `left_sums` what it sends left; columns found constant are added to those known.
  // Children of a column that has a direction answer within the bounds. `send` tells where the
  // right rows begin.
  bool find(std::int64_t begin, std::int64_t end, const std::int64_t* totals, const Draws& draws,
            Constants& known, const Bounds& bounds = {});
  const Split& found() const { return split_; }
  const std::vector<std::int64_t>& left_sums() const { return best_left_; }
  std::int64_t send(std::int64_t begin, std::int64_t end, const Split& split);
  Draws root_draws() const;
  // Of the tree that was started: whether its cuts are judged by this scan, and what else whoever
  // judges them himself needs to know.
  template <class Scan>
  bool judges_by() const {
    return std::holds_alternative<Scan>(scan_);
  }
  const SplitLimits& limits() const { return limits_; }
  DrawnColumns& columns() { return columns_; }
  // Sends the rows of no copies down a tree whose splits have these limits.
  void send_unseen_rows(const Tree& tree, const std::vector<std::uint32_t>& limits,
                        std::int32_t* leaf_of_row) const;
  // The last rank that goes left; of drawn cuts, which are compared with values, nothing.
  std::uint32_t limit_of(const Split& split) const;

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
  // Whether so many rows were drawn that a node is searched by bins. Rows count as often as they
  // were drawn: a row of weight 2 and a repeated row are searched alike.
  bool is_large(const Rows& rows, const std::int64_t* totals) const;
  // Which ranks of a column they have, without missing ones.
  struct Span {
    std::uint32_t least, most;
    std::int64_t n_present;
  };

  void choose_scan();
  void begin();
  template <class Scan>
  void choose();
  template <class Impurity>
  bool choose_counts();
  void choose_general_scan();
  void search_node(int node);
  template <class Scan>
  void try_columns(Scan& scan, const Rows& rows, const Draws& draws, Constants& known);
  template <class Scan>
  bool find_by(Scan& scan, const Rows& rows, const std::int64_t* totals, const Draws& draws,
               Constants& known);
  // These tell whether the column has but one value.
  template <class Scan>
  bool try_column(Scan& scan, int column, const Rows& rows, const Draws& draws);
  template <class Scan, class CodeOf>
  bool try_bins(Scan& scan, int column, const Rows& rows, CodeOf code_of);
  template <class Scan>
  bool try_two(Scan& scan, int column, Rank first, Rank second);
  template <class Scan>
  bool try_sorted(Scan& scan, int column, const Rows& rows);
  template <class Scan>
  void try_cuts(Scan& scan, int column, const std::uint32_t* keys, std::int64_t n_missing,
                const std::uint32_t* sorted, std::int64_t n);
  template <class Scan>
  Span gather(const Scan& scan, int column, const Rows& rows);
  template <class Scan, class T>
  void try_drawn_cuts(Scan& scan, DrawnValues<T>& drawn, const T* values, const Rows& rows,
                      const Draws& draws, Constants& known);
  template <class Scan, class T>
  bool try_drawn_cut_of_few(Scan& scan, const T* values, int column, const Rows& rows,
                            const Draws& draws);
  template <class Scan, class T>
  bool try_drawn_cut(Scan& scan, const DrawnValues<T>& drawn, int slot, int column, std::int64_t n,
                     const Draws& draws);
  template <class T>
  std::int64_t send_by_value(const DrawnValues<T>& drawn, const T* values, std::int64_t begin,
                             std::int64_t end, const Split& split);
  // Columns of two values: forest_bit_search.hpp.
  template <class Scan, class TryOther>
  void try_bits_and_others(Scan& scan, const Rows& rows, const Draws& draws, Constants& known,
                           TryOther&& try_other);
  template <class Scan>
  bool try_bit(Scan& scan, int column, int bit, const Draws& draws);
  template <class Scan, class T>
  void try_bits_and_drawn_cuts(Scan& scan, DrawnValues<T>& drawn, const Rows& rows,
                               const Draws& draws, Constants& known);
  // Columns of levels: forest_categories.hpp.
  template <class Scan>
  bool try_levels(Scan& scan, int column, const Rows& rows, const Draws& draws);
  template <class Scan>
  void try_ordered_levels(Scan& scan, int column, double smooth);
  template <class Scan>
  void try_first_levels(Scan& scan, int column, int from, int end);
  std::int64_t send_levels(std::int64_t begin, std::int64_t end, const Split& split);
  void send_unseen_by_levels(const Tree& tree, const std::vector<std::uint32_t>& limits,
                             std::int32_t* leaf_of_row) const;
  bool goes_left(const Tree& tree, std::int32_t node, Row row,
                 const std::vector<std::uint32_t>& limits) const;
  template <class Scan>
  void take(Scan& scan, const typename Scan::Left& left, int column, int rank, int next,
            bool missing_left, bool has_missing, double threshold = 0.0);
  // Whether to part all values, on the left, from missing ones: no direction is about that.
  template <class Scan>
  bool parts_missing(Scan& scan, const typename Scan::Left& left, int column) const;
  template <class Judge>
  bool settle(Judge&& judge);

  std::shared_ptr<const RankedTable> table_;
  ForestParams forest_;
  std::string_view criterion_;
  bool is_entropy_, is_poisson_;
  SplitLimits limits_;
  Sapling* sapling_;

  std::variant<PairCounts<GiniOfCounts>, PairCounts<EntropyOfCounts>, PairScan<false>,
               PairScan<true>, ClassScan<GiniOfCounts>, ClassScan<EntropyOfCounts>,
               LabelScan<GiniOfCounts>, LabelScan<EntropyOfCounts>, VectorScan, CellScan<Variance>,
               CellScan<Gini>, CellScan<Entropy>, CellScan<PoissonDeviance>, MedianScan>
      scan_;
  std::vector<Draws> draws_;  // of every node
  std::vector<Constants> constants_;
  DrawnColumns columns_;
  InterruptSteps steps_;
  bool is_large_ = false;  // the node that is searched
  Best best_;
  Split split_;
  std::vector<std::int64_t> best_left_;
  std::vector<std::uint32_t> keys_, spare_;  // rank and payload of each row of a small node
  KeySorter sorter_;
  DrawnValues<float> drawn_floats_;  // for drawn cuts: one of these
  DrawnValues<double> drawn_doubles_;
  const Row* drawn_rows_ = nullptr;  // of the node whose values they hold,
  int best_slot_ = -1;               // those of its best cut here, if they are still there
  NodeLevels levels_;
  const TwoValued* two_valued_ = nullptr;        // where bits are asked; null: they are not
  std::vector<int> drawn_columns_, bits_asked_;  // of a node
};

}  // namespace weald
