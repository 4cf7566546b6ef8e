// The best cut of a small node of numbers or of two classes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "data/column_sampling.hpp"
#include "data/ranks.hpp"
#include "forest/random_threshold_pairs.hpp"
#include "forest/scan.hpp"
#include "forest/small_node_writer.hpp"
#include "forest/small_nodes.hpp"
#include "forest/small_rows.hpp"
#include "forest/small_sort.hpp"

namespace weald::forest {

// T: the table's ranks, or its values where cuts are drawn. Kind: what rows teach, small_rows.hpp.
// Rows are here, and sent here. Columns, cuts and ties are those of ForestEngine.
template <class T, class Kind>
class SmallSearch {
 public:
  static constexpr bool is_drawn = !std::is_same_v<T, data::Rank>;
  static constexpr int most_rows = is_drawn ? 2 * SmallNodes::most_rows : SmallNodes::most_rows;

  // The best cut so far, as in ForestEngine.
  struct Best : SmallCut {
    double bar = no_score;
    bool is_perfect = false;
    criteria::PairLeft left = {};
  };

  SmallSearch(const data::RankedTable& table, const T* values, data::ColumnSampler& columns,
              const target::Channels& channels)
      : values_(values),
        stride_(table.stride()),
        columns_(columns),
        kind_(channels),
        rank_keys_(table.n_rows() * table.stride() < (std::int64_t{1} << 31)
                       ? kernels::active().rank_keys
                       : nullptr) {}

  const Kind& kind() const { return kind_; }
  const Best& best() const { return best_; }

  SmallRow* lay_rows(const SmallNodes::Root& root) {
    for (int i = 0; i < root.n_rows; ++i) rows_[i] = kind_.small_row(root.rows[i]);
    return rows_.data();
  }

  void find(const SmallRow* rows, int n, const criteria::PairLeft& total, const Draws& draws,
            data::ConstantFeatures& known) {
    best_ = {};
    kind_.load(total);
    if constexpr (is_drawn)
      find_drawn(rows, n, draws, known);
    else
      find_ranked(rows, n, draws, known);
  }
  // Two rows, the commonest node of all, are parted by the first column that can: which of them
  // goes left; negative: none can.
  int part_two(const SmallRow* rows, const Draws& draws, SmallCut& cut) {
    int first = -1;
    for (int j = 0; j < columns_.most() && first < 0; ++j) {
      cut.column = columns_.draw(j, draws);
      const T a = value(rows[0], cut.column), b = value(rows[1], cut.column);
      if (a == b || (is_missing(a) && is_missing(b))) continue;
      first = is_missing(a) || (!is_missing(b) && b < a) ? 1 : 0;
    }
    columns_.put_back();
    if (first >= 0) place_between(rows[first], rows[1 - first], draws, cut);
    return first;
  }
  // Sends the rows by the best cut, and tells how many go left.
  int send(SmallRow* rows, int n) {
    if constexpr (is_drawn)
      return send_drawn(rows, n);
    else
      return send_ranked(rows, n);
  }

 private:
  static constexpr int all_values = SmallCut::all_values;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr int payload_bits = KeySorter::payload_bits;
  static constexpr std::uint32_t payload_mask = (std::uint32_t{1} << payload_bits) - 1;

  T value(const SmallRow& row, int column) const {
    return values_[std::int64_t{row.row()} * stride_ + column];
  }
  static bool is_missing(T value) {
    if constexpr (is_drawn)
      return value != value;
    else
      return value == 0;
  }

  void place_between(const SmallRow& of_left, const SmallRow& of_right, const Draws& draws,
                     SmallCut& cut) const {
    criteria::PairLeft left, right;
    kind_.add(left, of_left);
    kind_.add(right, of_right);
    const T low = value(of_left, cut.column), high = value(of_right, cut.column);
    if (is_missing(high)) {
      cut.rank = all_values;
      cut.threshold = infinity;
      return;
    }
    cut.missing_left = left.w >= right.w;
    if constexpr (is_drawn) {
      cut.threshold =
          draw_cut(cut.column, static_cast<double>(low), static_cast<double>(high), draws);
    } else {
      cut.rank = low;
      cut.next = high;
    }
  }

  void find_ranked(const SmallRow* rows, int n, const Draws& draws, data::ConstantFeatures& known) {
    for (int j = 0; j < columns_.most() && (j < columns_.wanted() || best_.column < 0); ++j) {
      const int column = columns_.draw(j, draws);
      if (known.has(column)) continue;
      if (!try_cuts(rows, n, column)) known.add(column);
      if (best_.is_perfect) break;
    }
    columns_.put_back();
  }

  // By value: a scan keeps its sums in registers.
  void take(criteria::PairLeft left, int column, int rank, int next, double threshold,
            bool missing_left) {
    const double score = kind_.score(left);
    best_ = {{column, rank, next, missing_left, threshold},
             bar_after(score),
             kind_.is_perfect(left),
             left};
  }

  // ---- drawn cuts ----

  // As many columns are cut at once as lie side by side in a vector: eight, where a node draws more
  // than two of them and there is such a vector.
  void find_drawn(const SmallRow* rows, int n, const Draws& draws, data::ConstantFeatures& known) {
    cuts_.key = draws.key();
    const bool are_eight = kernels_ != nullptr && columns_.wanted() > 2;
    const int most = are_eight ? kernels::RandomThresholds::most : 2;
    for (int j = 0; j < columns_.most() && (j < columns_.wanted() || best_.column < 0);) {
      int n_cuts = 0;
      cuts_.columns_as_bytes = 0;
      for (const int end = std::max(j + 1, columns_.wanted()); j < end && n_cuts < most; ++j) {
        const int column = columns_.draw(j, draws);
        if (known.has(column)) continue;
        cuts_.columns_as_bytes |= static_cast<std::uint64_t>(column) << (8 * n_cuts);
        cuts_.column[n_cuts++] = column;
      }
      if (n_cuts == 0) continue;
      if (are_eight)
        kernels_->of<T>().cut_columns(values_, stride_, &rows->row_and_more, n, n_cuts, &cuts_,
                                      room_.data());
      else
        cut_pair(rows, n, n_cuts);
      judge_drawn(n_cuts, are_eight, known);
      if (best_.is_perfect) break;
    }
    columns_.put_back();
  }
  void cut_pair(const SmallRow* rows, int n, int n_cuts) {
    if (n_cuts == 1) cuts_.column[1] = cuts_.column[0];
    cut_two_columns(values_, stride_, &rows->row_and_more, n, &cuts_, room_.data());
  }

  void judge_drawn(int n_cuts, bool are_eight, data::ConstantFeatures& known) {
    const int clear = are_eight ? kind_.clear_best(*kernels_, cuts_, n_cuts) : -1;
    if (clear >= 0) {
      judge_drawn(clear);
      for (unsigned rest = ~cuts_.vary & ((1u << n_cuts) - 1); rest != 0; rest &= rest - 1)
        known.add(cuts_.column[std::countr_zero(rest)]);
      return;
    }
    for (int c = 0; c < n_cuts && !best_.is_perfect; ++c)
      if (!judge_drawn(c)) known.add(cuts_.column[c]);
  }
  // Missing values are tried on the right, then on the left. Tells whether there is more than one
  // value, or one that is missing beside others.
  bool judge_drawn(int c) {
    const bool varies = cuts_.varies(c), misses_some = cuts_.misses_some(c);
    if (!varies && !(misses_some && cuts_.least[c] == cuts_.largest[c])) return false;
    criteria::PairLeft left = kind_.side_of(cuts_.left[0][c], cuts_.left[1][c]);
    if (kind_.beats(left, best_.bar)) {
      take(left, cuts_.column[c], varies ? 0 : all_values, 0, cuts_.cut[c],
           !misses_some && kind_.left_is_heavier(left));
    }
    if (!misses_some || !varies) return true;
    const criteria::PairLeft missing = kind_.side_of(cuts_.missing[0][c], cuts_.missing[1][c]);
    left.w += missing.w;
    left.s += missing.s;
    if (kind_.beats(left, best_.bar)) take(left, cuts_.column[c], 0, 0, cuts_.cut[c], true);
    return true;
  }

  // ---- cuts between all neighbours ----

  // Tells whether the column has more than one value, or one that is missing beside others.
  bool try_cuts(const SmallRow* rows, int n, int column) {
    const auto [least, most] = write_keys(rows, n, column);
    if (least == most) return false;
    if (least == 0) {
      try_beside_missing(rows, n, column, most);
    } else if (most - least < static_cast<std::uint32_t>(n)) {
      try_counted(rows, n, column, least, most);
    } else {
      const auto* const sorted = sorter_.sort(keys_.data(), spare_.data(), n, least, most);
      try_sorted<false>(rows, n, column, sorted, {}, false);
    }
    return true;
  }

  kernels::KeyRange write_keys(const SmallRow* rows, int n, int column) {
    if (rank_keys_ && n > few)
      return rank_keys_(values_ + column, stride_, &rows->row_and_more, n, Kind::are_numbered,
                        keys_.data());
    kernels::KeyRange range{data::most_ranks, 0};
    for (int i = 0; i < n; ++i) {
      const std::uint32_t rank = value(rows[i], column);
      keys_[i] = rank << payload_bits | Kind::payload(rows[i], i);
      range.most = std::max(range.most, rank);
      range.least = std::min(range.least, rank);
    }
    return range;
  }

  // Missing values are tried on both sides, and all others beside them.
  void try_beside_missing(const SmallRow* rows, int n, int column, std::uint32_t most) {
    criteria::PairLeft missing;
    std::uint32_t least = most;
    int n_present = 0;
    for (int i = 0; i < n; ++i) {
      const std::uint32_t key = keys_[i], rank = key >> payload_bits;
      if (rank == 0) {
        kind_.add(missing, rows[i]);
        continue;
      }
      keys_[n_present++] = key;
      least = std::min(least, rank);
    }
    const std::uint32_t* sorted = keys_.data();
    if (least < most) sorted = sorter_.sort(keys_.data(), spare_.data(), n_present, least, most);
    criteria::PairLeft left = try_sorted<true>(rows, n_present, column, sorted, {}, false);
    Kind::add_payload(left, rows, sorted[n_present - 1] & payload_mask);
    if (kind_.beats(left, best_.bar)) take(left, column, all_values, 0, infinity, false);
    try_sorted<true>(rows, n_present, column, sorted, missing, true);
  }

  // Returns what lies left of the last cut.
  template <bool has_missing>
  criteria::PairLeft try_sorted(const SmallRow* rows, int n, int column,
                                const std::uint32_t* sorted, criteria::PairLeft left,
                                bool missing_left) {
    double bar = best_.bar;
    for (int i = 0; i + 1 < n; ++i) {
      Kind::add_payload(left, rows, sorted[i] & payload_mask);
      const std::uint32_t rank = sorted[i] >> payload_bits, next = sorted[i + 1] >> payload_bits;
      // One branch, seldom taken, instead of two.
      if (!((rank != next) & kind_.beats(left, bar))) continue;
      take(left, column, static_cast<int>(rank), static_cast<int>(next), 0.0,
           has_missing ? missing_left : kind_.left_is_heavier(left));
      bar = best_.bar;
    }
    return left;
  }

  // Ranks that lie close need not be sorted.
  void try_counted(const SmallRow* rows, int n, int column, std::uint32_t least,
                   std::uint32_t most) {
    std::fill_n(cells_.begin(), most - least + 1, criteria::PairLeft{});
    for (int i = 0; i < n; ++i) kind_.add(cells_[(keys_[i] >> payload_bits) - least], rows[i]);
    criteria::PairLeft left = cells_[0];
    std::uint32_t last = least;
    for (std::uint32_t rank = least + 1; rank <= most; ++rank) {
      const criteria::PairLeft& cell = cells_[rank - least];
      if (cell.w == 0) continue;
      if (kind_.beats(left, best_.bar))
        take(left, column, static_cast<int>(last), static_cast<int>(rank), 0.0,
             kind_.left_is_heavier(left));
      left.w += cell.w;
      left.s += cell.s;
      last = rank;
    }
  }

  int send_drawn(SmallRow* rows, int n) {
    const kernels::RandomThresholdTest<double> test{best_.threshold, best_.missing_left};
    const auto x = [&](int i) { return static_cast<double>(value(rows[i], best_.column)); };
    if (kernels_ == nullptr || n <= few)
      return send_by(rows, n, [&](int i) { return test.goes_left(x(i)); });
    for (int i = 0; i < n; ++i) room_[i] = x(i);
    return static_cast<int>(kernels_->doubles.part_words(room_.data(), n, test, &rows->row_and_more,
                                                         &sent_.data()->row_and_more));
  }
  int send_ranked(SmallRow* rows, int n) {
    // Without sign: what is missing is rank 0, and far to the right if it does not go left.
    const std::uint32_t offset = best_.missing_left ? 0 : 1;
    const std::uint32_t limit = static_cast<std::uint32_t>(best_.rank) - offset;
    return send_by(rows, n, [&](int i) {
      return static_cast<std::uint32_t>(value(rows[i], best_.column)) - offset <= limit;
    });
  }
  // No branch to be guessed.
  template <class GoesLeft>
  int send_by(SmallRow* rows, int n, GoesLeft goes_left) {
    int n_left = 0, n_right = 0;
    for (int i = 0; i < n; ++i) {
      const SmallRow row = rows[i];
      const bool is_left = goes_left(i);
      rows[n_left] = row;
      sent_[n_right] = row;
      n_left += is_left;
      n_right += !is_left;
    }
    for (int i = 0; i < n_right; ++i) rows[n_left + i] = sent_[i];
    return n_left;
  }

  const T* values_;  // row after row
  std::int64_t stride_;
  data::ColumnSampler& columns_;
  Kind kind_;
  Best best_;
  static constexpr int slack = is_drawn ? 0 : 16;  // rank_keys may read so many rows more
  std::array<SmallRow, most_rows + slack> rows_, sent_;
  // Of drawn cuts: the kernels, null where plain code is all there is.
  static constexpr int n_drawn = is_drawn ? most_rows : 0, n_ranked = is_drawn ? 0 : most_rows;
  const kernels::RandomThresholdKernels* kernels_ = is_drawn ? kernels::active().drawn : nullptr;
  kernels::RandomThresholds cuts_;
  alignas(64) std::array<double, kernels::RandomThresholds::most * n_drawn> room_;
  // Of others.
  std::array<std::uint32_t, n_ranked + KeySorter::slack> keys_, spare_;
  std::array<criteria::PairLeft, n_ranked> cells_;
  decltype(kernels::Kernels::rank_keys) rank_keys_;
  KeySorter sorter_;
};

}  // namespace weald::forest
