// Split search of random forests and extremely randomised trees.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/draws.hpp"
#include "base/parallel.hpp"
#include "data/column_sampling.hpp"
#include "data/ranks.hpp"
#include "forest/cell_scan.hpp"
#include "forest/forest_categories.hpp"
#include "forest/median_scan.hpp"
#include "forest/random_threshold_values.hpp"
#include "forest/scan.hpp"
#include "forest/small_sort.hpp"
#include "split/splitting.hpp"
#include "tree/split_engine.hpp"
#include "tree/tree_params.hpp"

namespace weald::forest {

// The score that a split must exceed to replace one of this score. Relative differences below `tie`
// are rounding: the split tried first stays.
inline double bar_after(double score) {
  constexpr double tie = 1e-12;
  return score + tie * std::abs(score);
}

// All scans: specialised ones, and a generic one per criterion.
template <class Criteria>
struct ScansOf;
template <criteria::Criterion... Cs>
struct ScansOf<NamedList<Cs...>> {
  using type =
      std::variant<PairCounts<criteria::GiniOfCounts>, PairCounts<criteria::EntropyOfCounts>,
                   PairScan<false>, PairScan<true>, ClassScan<criteria::GiniOfCounts>,
                   ClassScan<criteria::EntropyOfCounts>, ClassScan<criteria::GiniOfCounts, true>,
                   ClassScan<criteria::EntropyOfCounts, true>, VectorScan, CellScan<Cs>...,
                   MedianScan>;
};

// Columns are drawn per node. Large nodes are searched by bins; smaller ones sort their rows by
// rank, so that every pair of adjacent values is a candidate. Random thresholds need neither.
class ForestEngine : public tree::SplitEngine {
 public:
  ForestEngine(std::shared_ptr<const data::RankedTable> table, const tree::TreeParams& params,
               std::string_view criterion, tree::GrowingTree& growing_tree);

  void start() override;
  // Serves a branch of the tree for which `other` was started; `other` may be working on other rows
  // of that tree meanwhile.
  void start_beside(const ForestEngine& other);
  // Starts a tree on a subset of the rows of another's tree, with the limits of that tree.
  void start_within(const ForestEngine& whole);
  std::vector<std::int64_t> send_rows(const std::vector<tree::Announced>& nodes) override;
  void search(const std::vector<tree::Siblings>& siblings) override;
  void search_again(const std::vector<tree::Siblings>& nodes) override;
  std::vector<int> search_level(const std::vector<int>& nodes,
                                data::CandidateColumns columns) override;
  void send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const override;

  // Node-level API for growers that store their own nodes. `find` searches the best split of rows
  // [begin, end), whose integer sums are `totals`; `found` and `left_sums` then describe it, and
  // newly found constant columns are added to `known`. With monotonic constraints leaf values stay
  // within `bounds`. `send` partitions the rows and returns where the right ones begin.
  bool find(std::int64_t begin, std::int64_t end, const std::int64_t* totals, const Draws& draws,
            data::ConstantFeatures& known, const Bounds& bounds = {});
  const split::Split& found() const { return split_; }
  const std::vector<std::int64_t>& left_sums() const { return best_left_; }
  std::int64_t send(std::int64_t begin, std::int64_t end, const split::Split& split);
  Draws root_draws() const;
  // Whether the scan of the started tree is `Scan`.
  template <class Scan>
  bool uses_scan() const {
    return std::holds_alternative<Scan>(scan_);
  }
  const split::SplitLimits& limits() const { return limits_; }
  data::ColumnSampler& columns() { return columns_; }
  // Finds the leaves of out-of-bag rows in a tree whose splits have these limits.
  void send_unseen_rows(const tree::Tree& tree, const std::vector<std::uint32_t>& limits,
                        std::int32_t* leaf_of_row) const;
  // The last rank that goes left; unused by random thresholds, which compare values.
  std::uint32_t limit_of(const split::Split& split) const;

 private:
  // The best split so far: ranks up to `rank` go left; `next` is the next rank present.
  struct Best {
    double bar = no_score;  // the score to exceed, see bar_after
    int column = -1, rank = 0, next = 0;
    bool missing_left = false, is_perfect = false;
    double threshold = 0.0;  // of a random threshold
  };
  static constexpr int all_values =
      data::most_ranks + 1;  // as a rank: only missing values go right

  // The rows of the current node.
  struct Rows {
    const Row* rows;
    std::int64_t n;
  };
  // Whether a node is searched by bins. Counts copies, so that a row of weight 2 and a repeated row
  // are searched alike.
  bool is_large(const Rows& rows, const std::int64_t* totals) const;
  // The ranks present in a node, without missing values.
  struct Span {
    std::uint32_t least, most;
    std::int64_t n_present;
  };

  void begin();
  template <class Scan>
  void choose();
  template <criteria::Criterion C>
  void choose_scan_of();
  template <class Impurity>
  bool choose_counts();
  bool choose_squares();
  void search_node(int node);
  template <class Scan>
  void try_columns(Scan& scan, const Rows& rows, const Draws& draws, data::ConstantFeatures& known);
  template <class Scan>
  bool find_by(Scan& scan, const Rows& rows, const std::int64_t* totals, const Draws& draws,
               data::ConstantFeatures& known);
  // The try_ functions return whether the column is constant.
  template <class Scan>
  bool try_column(Scan& scan, int column, const Rows& rows, const Draws& draws);
  template <class Scan, class CodeOf>
  bool try_bins(Scan& scan, int column, const Rows& rows, CodeOf code_of);
  template <class Scan>
  bool try_sorted(Scan& scan, int column, const Rows& rows);
  template <class Scan>
  void try_cuts(Scan& scan, int column, const std::uint32_t* keys, std::int64_t n_missing,
                const std::uint32_t* sorted, std::int64_t n);
  template <class Scan>
  Span gather(const Scan& scan, int column, const Rows& rows);
  template <class Scan, class T>
  void try_random_thresholds(Scan& scan, RandomThresholdValues<T>& drawn, const T* values,
                             const Rows& rows, const Draws& draws, data::ConstantFeatures& known);
  template <class Scan, class T>
  bool try_random_threshold(Scan& scan, const RandomThresholdValues<T>& drawn, int slot, int column,
                            std::int64_t n, const Draws& draws);
  template <class T>
  std::int64_t send_by_value(const RandomThresholdValues<T>& drawn, const T* values,
                             std::int64_t begin, std::int64_t end, const split::Split& split);
  // Binary columns: binary_search.hpp.
  template <class Scan, class TryOther>
  void try_bits_and_others(Scan& scan, const Rows& rows, const Draws& draws,
                           data::ConstantFeatures& known, TryOther&& try_other);
  template <class Scan>
  bool try_bit(Scan& scan, int column, int bit, const Draws& draws);
  template <class Scan, class T>
  void try_binary_and_random(Scan& scan, RandomThresholdValues<T>& drawn, const Rows& rows,
                             const Draws& draws, data::ConstantFeatures& known);
  // Categorical columns: forest_category_search.hpp.
  template <class Scan>
  bool try_levels(Scan& scan, int column, const Rows& rows, const Draws& draws);
  template <class Scan>
  void try_ordered_levels(Scan& scan, int column, double smooth);
  template <class Scan>
  void try_first_levels(Scan& scan, int column, int from, int end);
  std::int64_t send_levels(std::int64_t begin, std::int64_t end, const split::Split& split);
  void send_unseen_by_levels(const tree::Tree& tree, const std::vector<std::uint32_t>& limits,
                             std::int32_t* leaf_of_row) const;
  bool goes_left(const tree::Tree& tree, std::int32_t node, Row row,
                 const std::vector<std::uint32_t>& limits) const;
  template <class Scan>
  void take(Scan& scan, const typename Scan::Left& left, int column, int rank, int next,
            bool missing_left, bool has_missing, double threshold = 0.0);
  // Whether separating missing values from all others beats the best split; monotonic constraints
  // do not apply to it.
  template <class Scan>
  bool parts_missing(Scan& scan, const typename Scan::Left& left, int column) const;
  template <class Judge>
  bool settle(Judge&& judge);
  template <criteria::Criterion C>
  bool settle_by(const std::int64_t* totals);

  std::shared_ptr<const data::RankedTable> table_;
  tree::TreeParams params_;
  split::SplitLimits limits_;
  tree::GrowingTree* growing_tree_;

  ScansOf<criteria::ForestCriteria>::type scan_;
  // By criterion; absolute error is scored by its scan.
  void (ForestEngine::*choose_scan_)() = nullptr;
  bool (ForestEngine::*settle_)(const std::int64_t* totals) = nullptr;
  std::vector<Draws> draws_;  // [node]
  std::vector<data::ConstantFeatures> constants_;
  data::ColumnSampler columns_;
  InterruptSteps steps_;
  bool is_large_ = false;  // the current node
  Best best_;
  split::Split split_;
  std::vector<std::int64_t> best_left_;
  std::vector<std::uint32_t> keys_, spare_;  // rank << 15 | payload, by row of a small node
  KeySorter sorter_;
  RandomThresholdValues<float> random_floats_;  // values of the tried columns
  RandomThresholdValues<double> random_doubles_;
  const Row* threshold_rows_ = nullptr;  // the node whose values are held
  int best_slot_ = -1;                   // slot of the best column; -1: overwritten
  NodeLevels levels_;
  const data::BinaryColumns* binary_columns_ = nullptr;  // null: not used
  std::vector<int> sampled_columns_, bits_tried_;        // of a node
};

}  // namespace weald::forest
