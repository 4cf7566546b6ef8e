// The best cut of a small node of several classes.
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
#include "forest/class_judge.hpp"
#include "forest/class_rows.hpp"
#include "forest/random_threshold_values.hpp"
#include "forest/scan.hpp"
#include "forest/small_node_writer.hpp"
#include "forest/small_nodes.hpp"
#include "forest/small_sort.hpp"

namespace weald::forest {

// T: the table's ranks, or its values where cuts are drawn. Rows are here, and sent here; W words
// hold their counts of classes. Columns, cuts and ties are those of ForestEngine.
template <class T, class Impurity>
class ClassSearch {
 public:
  // In ForestEngine nodes of more rows look at bins.
  static constexpr int few_rows = static_cast<int>(KeySorter::most_keys) - 1;
  static constexpr bool is_drawn = !std::is_same_v<T, data::Rank>;
  static constexpr int most_words = ClassJudge<Impurity>::most_words;
  using Rows = ClassRows<few_rows, most_words>;

  // Which columns may have several values in a node: columns of two values first, then others as
  // far as they are remembered, and a bit for all the rest, which always may.
  using Varied = std::array<std::uint64_t, 6>;

  struct Node {
    int begin, n;
    std::int64_t weight, depth;
    Draws draws;
  };
  struct Best : SmallCut {
    double bar = no_score;
    bool is_perfect = false;
    ClassLeft<most_words> left = {};
  };

  ClassSearch(const data::RankedTable& table, data::ColumnSampler& columns,
              const target::Channels& channels)
      : table_(table),
        binary_columns_(table.binary_columns()),
        others_(binary_columns_.others<T>()),
        stride_(binary_columns_.stride()),
        columns_(columns),
        channels_(channels),
        judge_(channels.n_channels()) {
    for (int c = 0; c < table.n_columns(); ++c) {
      const int bit = binary_columns_.bit_of(c), place = 64 + binary_columns_.place_of(c);
      place_among_.push_back(
          static_cast<std::uint16_t>(bit >= 0 ? bit : std::min(place, unremembered)));
    }
    listed_.resize(place_among_.size() + 1);
  }

  const ClassJudge<Impurity>& judge() const { return judge_; }
  ClassJudge<Impurity>& judge() { return judge_; }
  Rows& rows() { return rows_; }
  const Best& best() const { return best_; }

  // Tells what may vary.
  Varied lay_rows(const SmallNodes::Root& root) {
    for (int i = 0; i < root.n_rows; ++i) {
      const Row row = root.rows[i];
      rows_.put(i, row, channels_.values()[row], channels_.target().classes[row],
                binary_columns_.any() ? binary_columns_.words()[row] : 0);
    }
    Varied varied;
    varied.fill(~std::uint64_t{0});
    for (int c = 0; c < table_.n_columns(); ++c)
      if (root.known.has(c)) forget(varied, c);
    return varied;
  }

  // Columns known to be constant are drawn, and passed over: most are, so that those that are not
  // are listed first, without a branch to be guessed.
  template <int W>
  void find(const Node& node, const ClassCounts<W>& total, Varied& varied) {
    best_ = {};
    judge_.load(total, node.weight);
    const int wanted = columns_.wanted();
    int n_listed = 0;
    for (int j = 0; j < wanted; ++j) {
      const int column = columns_.draw(j, node.draws);
      listed_[n_listed] = column;
      n_listed += may_vary(varied, column);
    }
    bool has_looked = false;  // which bits vary
    for (int i = 0; i < n_listed && !best_.is_perfect; ++i)
      try_any<W>(node, total, listed_[i], varied, has_looked);
    for (int j = wanted; j < columns_.most() && best_.column < 0; ++j)
      if (const int column = columns_.draw(j, node.draws); may_vary(varied, column))
        try_any<W>(node, total, column, varied, has_looked);
    columns_.put_back();
  }
  // Two rows, the commonest node of all, are parted by the first column that can: which of them
  // goes left; negative: none can.
  int part_two(const Node& node, SmallCut& cut) {
    const std::uint64_t* const rows = rows_.rows(node.begin);
    const std::uint64_t bits = *rows_.bits(node.begin), varied = rows_.varied(node.begin, 2);
    int first = -1;
    for (int j = 0; j < columns_.most() && first < 0; ++j) {
      cut.column = columns_.draw(j, node.draws);
      const int bit = binary_columns_.bit_of(cut.column);
      if (bit >= 0) {
        if ((varied >> bit & 1) != 0) first = static_cast<int>(bits >> bit & 1);
        continue;
      }
      const int at = binary_columns_.place_of(cut.column);
      const T a = value(rows[0], at), b = value(rows[1], at);
      if (a == b || (is_missing(a) && is_missing(b))) continue;
      first = is_missing(a) || (!is_missing(b) && b < a) ? 1 : 0;
    }
    columns_.put_back();
    if (first < 0) return first;
    const std::uint64_t left = rows[first], right = rows[1 - first];
    cut.missing_left = Rows::copies_of(left) >= Rows::copies_of(right);
    place_between(cut, left, right, node.draws);
    return first;
  }

  // Sends the rows by the best cut, and tells how many go left.
  template <int W>
  int send(const Node& node) {
    const int bit = binary_columns_.bit_of(best_.column);
    const std::uint64_t* const rows = rows_.rows(node.begin);
    const auto part = [&](auto goes_left) {
      return rows_.template part<W>(node.begin, node.n, goes_left);
    };
    if (bit >= 0)
      return part([=, bits = rows_.bits(node.begin)](int i) { return (bits[i] >> bit & 1) == 0; });
    if constexpr (is_drawn) {
      const T last = at_most<T>(best_.threshold);
      const T* const x = x_[kept_].data();
      return best_.missing_left && table_.has_missing(best_.column) ? part(or_missing(x, last))
                                                                    : part(up_to(x, last));
    } else {
      // Without sign: what is missing is rank 0, and far to the right if it does not go left.
      const std::uint32_t offset = best_.missing_left ? 0 : 1;
      const std::uint32_t limit = static_cast<std::uint32_t>(best_.rank) - offset;
      const int place = binary_columns_.place_of(best_.column);
      return part([=, this](int i) {
        return static_cast<std::uint32_t>(value(rows[i], place)) - offset <= limit;
      });
    }
  }

 private:
  static constexpr int all_values = SmallCut::all_values;
  static constexpr int payload_bits = KeySorter::payload_bits;
  static constexpr std::uint32_t payload_mask = (std::uint32_t{1} << payload_bits) - 1;

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr int unremembered = 64 * 5;
  static constexpr std::uint32_t rows_a_rank = 2;

  T value(std::uint64_t row, int place) const {
    return others_[std::int64_t{Rows::row_of(row)} * stride_ + place];
  }
  static auto up_to(const T* x, T last) {
    return [=](int i) { return x[i] <= last; };
  }
  static auto or_missing(const T* x, T last) {
    return [=](int i) { return (x[i] <= last) | (x[i] != x[i]); };
  }
  static bool is_missing(T value) {
    if constexpr (is_drawn)
      return value != value;
    else
      return value == 0;
  }

  void place_between(SmallCut& cut, std::uint64_t left, std::uint64_t right,
                     const Draws& draws) const {
    const int bit = binary_columns_.bit_of(cut.column);
    if (bit >= 0) return cut_two_values(cut, bit, draws);
    const int at = binary_columns_.place_of(cut.column);
    const T low = value(left, at), high = value(right, at);
    if (is_missing(high)) {
      cut.missing_left = false;
      cut.rank = all_values;
      cut.threshold = infinity;
    } else if constexpr (is_drawn) {
      cut.threshold =
          draw_cut(cut.column, static_cast<double>(low), static_cast<double>(high), draws);
    } else {
      cut.rank = low;
      cut.next = high;
    }
  }
  void cut_two_values(SmallCut& cut, int bit, const Draws& draws) const {
    if constexpr (is_drawn) {
      cut.threshold =
          draw_cut(cut.column, binary_columns_.low(bit), binary_columns_.high(bit), draws);
    } else {
      cut.rank = 1;
      cut.next = 2;
    }
  }

  bool may_vary(const Varied& varied, int column) const {
    const unsigned place = place_among_[column];
    return (varied[place / 64] >> place % 64 & 1) != 0;
  }
  void forget(Varied& varied, int column) const {
    const unsigned place = place_among_[column];
    if (place < unremembered) varied[place / 64] &= ~(std::uint64_t{1} << place % 64);
  }

  template <int W>
  void try_any(const Node& node, const ClassCounts<W>& total, int column, Varied& varied,
               bool& has_looked) {
    const int bit = binary_columns_.bit_of(column);
    if (bit < 0) {
      if (!try_column<W>(node, total, column)) forget(varied, column);
      return;
    }
    if (!std::exchange(has_looked, true)) varied[0] = rows_.varied(node.begin, node.n);
    if (may_vary(varied, column)) try_bit<W>(node, column, bit);
  }

  template <int W>
  void take(const ClassLeft<W>& left, const SmallCut& cut) {
    const double score = judge_.score(left);
    static_cast<SmallCut&>(best_) = cut;
    best_.bar = bar_after(score);
    best_.is_perfect = judge_.is_perfect(left);
    best_.left = {{}, left.weight, left.left_terms, left.right_terms};
    std::copy_n(left.counts.words.begin(), W, best_.left.counts.words.begin());
  }

  // Rows without the bit go left.
  template <int W>
  void try_bit(const Node& node, int column, int bit) {
    const auto left = judge_.left_of(rows_.template sum<W>(
        node.begin, node.n,
        [=, bits = rows_.bits(node.begin)](int i) { return (bits[i] >> bit & 1) == 0; }));
    if (!judge_.beats(left, best_.bar)) return;
    SmallCut cut{.column = column, .missing_left = judge_.left_is_heavier(left)};
    cut_two_values(cut, bit, node.draws);
    take<W>(left, cut);
  }

  // Tells whether the column has more than one value, or one that is missing beside others.
  template <int W>
  bool try_column(const Node& node, const ClassCounts<W>& total, int column) {
    if constexpr (is_drawn)
      return try_random_threshold<W>(node, column);
    else
      return try_cuts<W>(node, total, column);
  }

  // ---- drawn cuts ----

  struct Range {
    T least, most;
    int n_present;
  };

  // Copies the values of a column. Two of each bound, so that none waits for the last.
  Range range_of(const std::uint64_t* rows, int n, int place, T* x) const {
    T least = value(rows[0], place), most = least, least2 = least, most2 = least;
    x[0] = least;
    for (int i = 1; i < n; i += 2) {
      const T a = x[i] = value(rows[i], place), b = x[i + 1] = value(rows[i + 1], place);
      least = a < least ? a : least;
      least2 = b < least2 ? b : least2;
      most = a > most ? a : most;
      most2 = b > most2 ? b : most2;
    }
    return {least2 < least ? least2 : least, most2 > most ? most2 : most, n};
  }
  Range range_of_present(const std::uint64_t* rows, int n, int place, T* x) const {
    Range range{std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), 0};
    for (int i = 0; i < n; ++i) {
      const T a = x[i] = value(rows[i], place);
      range.least = a < range.least ? a : range.least;
      range.most = a > range.most ? a : range.most;
      range.n_present += a == a;
    }
    return range;
  }

  template <int W>
  bool try_random_threshold(const Node& node, int column) {
    const int trial = 1 - kept_, place = binary_columns_.place_of(column), n = node.n;
    T* const x = x_[trial].data();
    std::uint64_t* const rows = rows_.rows(node.begin);
    Range range;
    if (table_.has_missing(column)) {
      range = range_of_present(rows, n, place, x);
    } else {
      const std::uint64_t behind = std::exchange(rows[n], rows[0]);
      range = range_of(rows, n, place, x);
      rows[n] = behind;
    }
    const bool has_missing = range.n_present < n, is_constant = !(range.least < range.most);
    if (range.n_present == 0 || (is_constant && !has_missing)) return false;
    const double cut = is_constant ? infinity
                                   : draw_cut(column, static_cast<double>(range.least),
                                              static_cast<double>(range.most), node.draws);
    const T last = at_most<T>(cut);
    for (const bool missing_left : {false, true}) {
      if (missing_left && (!has_missing || is_constant)) break;
      const auto here = missing_left ? rows_.template sum<W>(node.begin, n, or_missing(x, last))
                                     : rows_.template sum<W>(node.begin, n, up_to(x, last));
      const auto left = judge_.left_of(here);
      if (!judge_.beats(left, best_.bar)) continue;
      take<W>(left, {column, is_constant ? all_values : 0, 0,
                     has_missing ? missing_left : judge_.left_is_heavier(left), cut});
      kept_ = trial;
    }
    return true;
  }

  // ---- cuts between all neighbours ----

  template <int W>
  bool try_cuts(const Node& node, const ClassCounts<W>& total, int column) {
    const std::uint64_t* const rows = rows_.rows(node.begin);
    const int place = binary_columns_.place_of(column), n = node.n;
    std::uint32_t least = data::most_ranks, most = 0;
    for (int i = 0; i < n; ++i) {
      const std::uint32_t rank = value(rows[i], place);
      keys_[i] = rank << payload_bits | static_cast<std::uint32_t>(i);
      most = std::max(most, rank);
      least = std::min(least, rank);
    }
    if (least == most) return false;
    if (least == 0) {
      try_beside_missing<W>(node, total, column, most);
    } else if (rows_a_rank * (most - least) < static_cast<std::uint32_t>(n)) {
      try_counted<W>(node, column, least, most);
    } else {
      const auto* const sorted = sorter_.sort(keys_.data(), spare_.data(), n, least, most);
      try_sorted<W>(node, n, column, sorted, {}, false, false);
    }
    return true;
  }

  // Missing values are tried on both sides, and all others beside them.
  template <int W>
  void try_beside_missing(const Node& node, const ClassCounts<W>& total, int column,
                          std::uint32_t most) {
    ClassCounts<W> missing;
    std::uint32_t least = most;
    int n_present = 0;
    for (int i = 0; i < node.n; ++i) {
      const std::uint32_t key = keys_[i], rank = key >> payload_bits;
      if (rank == 0) {
        for (int w = 0; w < W; ++w) missing.words[w] += rows_.counts(w, node.begin)[i];
        continue;
      }
      keys_[n_present++] = key;
      least = std::min(least, rank);
    }
    const std::uint32_t* sorted = keys_.data();
    if (least < most) sorted = sorter_.sort(keys_.data(), spare_.data(), n_present, least, most);
    ClassCounts<W> present = total;
    present -= missing;
    try_sorted<W>(node, n_present, column, sorted, {}, true, false);
    const auto all = judge_.left_of(present);
    if (judge_.beats(all, best_.bar)) take<W>(all, {column, all_values, 0, false, infinity});
    try_sorted<W>(node, n_present, column, sorted, missing, true, true);
  }
  // `from` lies left from the first.
  template <int W>
  void try_sorted(const Node& node, int n, int column, const std::uint32_t* sorted,
                  const ClassCounts<W>& from, bool has_missing, bool missing_left) {
    const std::uint64_t* const rows = rows_.rows(node.begin);
    auto left = judge_.left_of(from);
    double bar = best_.bar;
    for (int i = 0; i + 1 < n; ++i) {
      const std::uint64_t row = rows[sorted[i] & payload_mask];
      judge_.add(left, Rows::class_of(row), Rows::copies_of(row));
      const std::uint32_t rank = sorted[i] >> payload_bits, next = sorted[i + 1] >> payload_bits;
      // One branch, seldom taken, instead of two.
      if (!((rank != next) & judge_.beats(left, bar))) continue;
      take<W>(left, {column, static_cast<int>(rank), static_cast<int>(next),
                     has_missing ? missing_left : judge_.left_is_heavier(left), 0.0});
      bar = best_.bar;
    }
  }

  // Many rows of few ranks that lie close need not be sorted.
  template <int W>
  void try_counted(const Node& node, int column, std::uint32_t least, std::uint32_t most) {
    const int n_cells = static_cast<int>(most - least) + 1;
    for (int w = 0; w < W; ++w) {
      std::uint64_t* const cells = cells_[w].data();
      const std::uint64_t* const of_row = rows_.counts(w, node.begin);
      std::fill_n(cells, n_cells, std::uint64_t{0});
      for (int i = 0; i < node.n; ++i) cells[(keys_[i] >> payload_bits) - least] += of_row[i];
    }
    ClassCounts<W> here;
    for (int cell = 0, last = -1; cell < n_cells; ++cell) {
      ClassCounts<W> more;
      std::uint64_t any = 0;
      for (int w = 0; w < W; ++w) any |= more.words[w] = cells_[w][cell];
      if (any == 0) continue;
      if (last >= 0) {
        const auto left = judge_.left_of(here);
        if (judge_.beats(left, best_.bar))
          take<W>(left, {column, static_cast<int>(least) + last, static_cast<int>(least) + cell,
                         judge_.left_is_heavier(left), 0.0});
      }
      here += more;
      last = cell;
    }
  }

  const data::RankedTable& table_;
  const data::BinaryColumns& binary_columns_;
  const T* others_;  // row after row
  std::int64_t stride_;
  data::ColumnSampler& columns_;
  const target::Channels& channels_;

  ClassJudge<Impurity> judge_;
  Best best_;
  std::vector<std::uint16_t> place_among_;  // of a column among those that may vary
  std::vector<int> listed_;
  Rows rows_;
  std::array<std::array<std::uint64_t, few_rows>, most_words> cells_;
  std::array<T, few_rows + 2> x_[2];  // of the column that is tried, and of the best one
  int kept_ = 0;
  std::array<std::uint32_t, few_rows + 1 + KeySorter::slack> keys_, spare_;
  KeySorter sorter_;
};

}  // namespace weald::forest
