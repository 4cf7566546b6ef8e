// The best split of a small node.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/binary_columns.hpp"
#include "data/column_sampling.hpp"
#include "data/ranks.hpp"
#include "forest/scan.hpp"
#include "forest/small_node_writer.hpp"
#include "forest/small_sort.hpp"
#include "forest/small_thresholds.hpp"

namespace weald::forest {

template <class Constants>
struct SmallRange {
  int begin, n;  // of the rows
  std::int64_t weight, depth;
  Draws draws;
  Constants constants;
};
template <class SumsOfRows, class Constants>
struct SmallNode : SmallRange<Constants> {
  using Sums = SumsOfRows;
  Sums sums;
};

// One search for all targets. T: the table's ranks, or its values where thresholds are random.
// Columns, candidate splits and tie rules are those of ForestEngine.
//
// Kind holds the rows of a node and scores its splits (small_pair_rows.hpp: regression and two
// classes; small_class_rows.hpp: more classes). `Sums` are what rows add up to, `left_of(sums)` a
// left side that can be scored. A key is rank << 15 | payload; `payload` identifies a row of a node
// and `add_payload` adds that row to a left side. `part` moves rows that go left to the front. Only
// random thresholds (small_thresholds.hpp) depend on how a kind stores its rows.
template <class T, class Kind>
class SmallSearch {
 public:
  static constexpr bool is_random = !std::is_same_v<T, data::Rank>;

  struct Best : SmallCut {
    double bar = no_score;  // the score to exceed, see bar_after
    bool is_perfect = false;
  };

  SmallSearch(const data::RankedTable& table, const T* values, data::ColumnSampler& columns,
              const target::Channels& channels)
      : table_(table),
        values_(values),
        stride_(table.stride()),
        columns_(columns),
        kind_(table, channels) {
    if constexpr (Kind::uses_bits) {
      binary_ = &table.binary_columns();
      values_ = binary_->others<T>();
      stride_ = binary_->stride();
    }
    tried_.resize(static_cast<std::size_t>(table.n_columns()) + 1);
  }

  Kind& kind() { return kind_; }
  const Best& best() const { return best_; }
  int wanted() const { return columns_.wanted(); }
  const T* values() const { return values_; }
  std::int64_t stride() const { return stride_; }
  bool has_missing(int column) const { return table_.has_missing(column); }
  // A function that returns the value of row begin + i. Holds all it needs by value, so that loops
  // that move rows do not reload it.
  auto values_of(int begin, int column) const {
    return [=, rows = kind_.rows(begin), values = values_ + place_of(column), stride = stride_](
               int i) { return values[std::int64_t{Kind::row_of(rows[i])} * stride]; };
  }

  // Columns are drawn in batches; more than max_features only while no column can be split.
  // Constant columns are added to those of the node.
  template <class Node>
  void find(Node& node) {
    best_ = {};
    has_bits_ = false;
    kind_.load(node.sums, node.weight);
    const int most = columns_.most(), wanted = columns_.wanted(), batch = batch_of(wanted);
    for (int j = 0; j < most && (j < wanted || best_.column < 0);) {
      int n = 0;
      for (const int end = std::max(j + 1, wanted); j < end && n < batch; ++j) {
        tried_[n] = columns_.draw(j, node.draws);
        n += !kind_.is_constant(node.constants, tried_[n]);
      }
      if (n > 0) try_columns(node, n);
      if (best_.is_perfect) break;
    }
    columns_.put_back();
  }

  // Two rows are split by the first column that can. Returns which of them goes left; -1: no
  // column can.
  template <class Node>
  int part_two(const Node& node, SmallCut& cut) {
    int first = -1;
    for (int j = 0; j < columns_.most() && first < 0; ++j) {
      cut.column = columns_.draw(j, node.draws);
      first = lower_of_two(node.begin, cut.column);
    }
    columns_.put_back();
    if (first >= 0) place_between(node.begin + first, node.begin + 1 - first, node.draws, cut);
    return first;
  }

  // Partitions the rows by the best split; returns the number of rows on the left.
  template <class Node>
  int send(const Node& node) {
    const auto part = [&](auto goes_left) {
      return kind_.template part<typename Node::Sums>(node.begin, node.n, goes_left);
    };
    if constexpr (Kind::uses_bits)
      if (const int bit = bit_of(best_.column); bit >= 0)
        return part(kind_.without_bit(node.begin, bit));
    if constexpr (is_random) {
      return thresholds_.send(*this, node);
    } else {
      // Unsigned: a missing value is rank 0, and wraps to the far right unless it goes left.
      const std::uint32_t offset = best_.missing_left ? 0 : 1;
      const std::uint32_t limit = static_cast<std::uint32_t>(best_.rank) - offset;
      return part([=, rank = values_of(node.begin, best_.column)](int i) {
        return static_cast<std::uint32_t>(rank(i)) - offset <= limit;
      });
    }
  }

  // Takes the split if it beats the best one. A value missing only when predicting goes to the
  // heavier child. By value: a scan keeps its sums in registers.
  template <class Left>
  bool offer(Left left, const SmallCut& cut, bool has_missing) {
    if (!kind_.beats(left, best_.bar)) return false;
    take(left, cut, has_missing);
    return true;
  }

 private:
  static constexpr int all_values = SmallCut::all_values;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr int payload_bits = KeySorter::payload_bits;
  static constexpr std::uint32_t payload_mask = (std::uint32_t{1} << payload_bits) - 1;

  static bool is_missing(T value) {
    if constexpr (is_random)
      return value != value;
    else
      return value == 0;
  }
  int bit_of(int column) const {
    if constexpr (Kind::uses_bits)
      return binary_->bit_of(column);
    else
      return -1;
  }
  int place_of(int column) const {
    if constexpr (Kind::uses_bits)
      return binary_->place_of(column);
    else
      return column;
  }
  int batch_of(int wanted) const {
    if constexpr (is_random && Kind::are_pairs)
      return thresholds_.batch(wanted);
    else
      return Kind::batch(wanted);
  }

  template <class Left>
  void take(Left left, const SmallCut& cut, bool has_missing) {
    const double score = kind_.score(left);
    static_cast<SmallCut&>(best_) = cut;
    if (!has_missing) best_.missing_left = kind_.left_is_heavier(left);
    best_.bar = bar_after(score);
    best_.is_perfect = kind_.is_perfect(left);
    kind_.keep(left);
  }

  // ---- nodes of two rows ----

  int lower_of_two(int i, int column) const {
    if constexpr (Kind::uses_bits)
      if (const int bit = binary_->bit_of(column); bit >= 0) {
        const auto without_bit = kind_.without_bit(i, bit);
        return without_bit(0) == without_bit(1) ? -1 : without_bit(1);
      }
    const auto value = values_of(i, column);
    const T a = value(0), b = value(1);
    if (a == b || (is_missing(a) && is_missing(b))) return -1;
    return is_missing(a) || (!is_missing(b) && b < a);
  }
  void place_between(int left, int right, const Draws& draws, SmallCut& cut) const {
    const auto value = values_of(0, cut.column);
    cut.missing_left = kind_.copies(left) >= kind_.copies(right);
    if (const int bit = bit_of(cut.column); bit >= 0) return cut_two_values(cut, bit, draws);
    const T low = value(left), high = value(right);
    if (is_missing(high)) {
      cut.missing_left = false;
      cut.rank = all_values;
      cut.threshold = infinity;
    } else if constexpr (is_random) {
      cut.threshold =
          draw_cut(cut.column, static_cast<double>(low), static_cast<double>(high), draws);
    } else {
      cut.rank = low;
      cut.next = high;
    }
  }
  void cut_two_values([[maybe_unused]] SmallCut& cut, [[maybe_unused]] int bit,
                      [[maybe_unused]] const Draws& draws) const {
    if constexpr (is_random && Kind::uses_bits) {
      cut.threshold = draw_cut(cut.column, binary_->low(bit), binary_->high(bit), draws);
    } else {
      cut.rank = 1;
      cut.next = 2;
    }
  }

  // ---- columns ----

  template <class Node>
  void try_columns(Node& node, int n) {
    if constexpr (is_random && Kind::are_pairs) {
      thresholds_.try_columns(*this, node, tried_.data(), n);
    } else {
      for (int i = 0; i < n && !best_.is_perfect; ++i)
        if (!try_column(node, tried_[i])) kind_.set_constant(node.constants, tried_[i]);
    }
  }
  // Returns whether the column varies; one value beside missing ones does.
  template <class Node>
  bool try_column(Node& node, int column) {
    if constexpr (Kind::uses_bits)
      if (const int bit = binary_->bit_of(column); bit >= 0) {
        if (!std::exchange(has_bits_, true))
          kind_.find_varied_bits(node.begin, node.n, node.constants);
        if (!kind_.is_constant(node.constants, column)) try_bit(node, column, bit);
        return true;  // constant bits are known already
      }
    if constexpr (is_random)
      return thresholds_.try_column(*this, node, column);
    else
      return try_ranks(node, column);
  }

  // Rows without the bit go left.
  template <class Node>
  void try_bit(const Node& node, int column, int bit) {
    const auto left = kind_.left_of(kind_.template sum_of<typename Node::Sums>(
        node.begin, node.n, kind_.without_bit(node.begin, bit)));
    if (!kind_.beats(left, best_.bar)) return;
    SmallCut cut{.column = column};
    cut_two_values(cut, bit, node.draws);
    take(left, cut, false);
  }

  template <class Node>
  bool try_ranks(const Node& node, int column) {
    const auto [least, most] = write_keys(node, column);
    if (least == most) return false;
    if (least == 0) {
      try_beside_missing(node, column, most);
    } else if (Kind::rows_per_rank * (most - least) < static_cast<std::uint32_t>(node.n)) {
      try_cells(node, column, least, most);
    } else {
      const auto* const sorted = sorter_.sort(keys_.data(), spare_.data(), node.n, least, most);
      try_sorted<false>(node, node.n, column, sorted, {}, false);
    }
    return true;
  }

  // The smallest and the largest rank among the keys.
  struct KeyRange {
    std::uint32_t least, most;
  };
  template <class Node>
  KeyRange write_keys(const Node& node, int column) {
    KeyRange range{data::most_ranks, 0};
    const auto rank_of = values_of(node.begin, column);
    for (int i = 0; i < node.n; ++i) {
      const std::uint32_t rank = rank_of(i);
      keys_[i] = rank << payload_bits | kind_.payload(node.begin, node.begin + i);
      range.most = std::max(range.most, rank);
      range.least = std::min(range.least, rank);
    }
    return range;
  }

  // Missing values are tried on both sides, and all other values against them.
  template <class Node>
  void try_beside_missing(const Node& node, int column, std::uint32_t most) {
    typename Node::Sums missing, present = node.sums;
    std::uint32_t least = most;
    int n_present = 0;
    for (int i = 0; i < node.n; ++i) {
      const std::uint32_t key = keys_[i], rank = key >> payload_bits;
      if (rank == 0) {
        kind_.add_row(missing, node.begin + i);
        continue;
      }
      keys_[n_present++] = key;
      least = std::min(least, rank);
    }
    present -= missing;
    const std::uint32_t* sorted = keys_.data();
    if (least < most) sorted = sorter_.sort(keys_.data(), spare_.data(), n_present, least, most);
    try_sorted<true>(node, n_present, column, sorted, {}, false);
    offer(kind_.left_of(present), {column, all_values, 0, false, infinity}, true);
    try_sorted<true>(node, n_present, column, sorted, missing, true);
  }

  // `sums` are on the left from the start.
  template <bool has_missing, class Node>
  void try_sorted(const Node& node, int n, int column, const std::uint32_t* sorted,
                  const typename Node::Sums& sums, bool missing_left) {
    auto left = kind_.left_of(sums);
    double bar = best_.bar;
    for (int i = 0; i + 1 < n; ++i) {
      kind_.add_payload(left, node.begin, sorted[i] & payload_mask);
      const std::uint32_t rank = sorted[i] >> payload_bits, next = sorted[i + 1] >> payload_bits;
      // One rarely taken branch instead of two.
      if (!((rank != next) & kind_.beats(left, bar))) continue;
      take(left, {column, static_cast<int>(rank), static_cast<int>(next), missing_left, 0.0},
           has_missing);
      bar = best_.bar;
    }
  }

  // Many rows of few neighbouring ranks are counted instead of sorted: 1.2x (Gini) to 1.27x
  // (entropy) in random forests on digits.
  template <class Node>
  void try_cells(const Node& node, int column, std::uint32_t least, std::uint32_t most) {
    using Sums = typename Node::Sums;
    const int n_cells = static_cast<int>(most - least) + 1, first = static_cast<int>(least);
    Sums* const cells = kind_.template cells<Sums>();
    std::fill_n(cells, n_cells, Sums{});
    for (int i = 0; i < node.n; ++i)
      kind_.add_row(cells[(keys_[i] >> payload_bits) - least], node.begin + i);
    Sums sums = cells[0];
    for (int cell = 1, last = 0; cell < n_cells; ++cell) {
      const Sums& more = cells[cell];
      if (kind_.is_empty(more)) continue;
      offer(kind_.left_of(sums), {column, first + last, first + cell, false, 0.0}, false);
      sums += more;
      last = cell;
    }
  }

  struct None {};
  using Thresholds =
      std::conditional_t<!is_random, None,
                         std::conditional_t<Kind::are_pairs, ThresholdsByBatch<T, Kind::most_rows>,
                                            ThresholdByColumn<T, Kind::most_rows>>>;

  const data::RankedTable& table_;
  const data::BinaryColumns* binary_ = nullptr;
  const T* values_;  // row-major
  std::int64_t stride_;
  data::ColumnSampler& columns_;
  Kind kind_;
  Best best_;
  bool has_bits_ = false;   // whether find_varied_bits was called for the node
  std::vector<int> tried_;  // the batch of columns
  Thresholds thresholds_;
  static constexpr int n_keys = is_random ? 0 : Kind::most_rows + 1;
  std::array<std::uint32_t, n_keys + KeySorter::slack> keys_, spare_;
  KeySorter sorter_;
};

}  // namespace weald::forest
