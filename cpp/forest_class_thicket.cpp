#include "forest_class_thicket.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "class_judge.hpp"
#include "class_rows.hpp"
#include "small_sort.hpp"
#include "thicket_writer.hpp"
#include "two_valued.hpp"

namespace weald {
namespace {

// As in forest_engine.cpp; there nodes of fewer rows look at all their values.
constexpr double tie = 1e-12;
constexpr int few_rows = static_cast<int>(KeySorter::most_keys) - 1;
constexpr int all_values = SmallCut::all_values;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int payload_bits = KeySorter::payload_bits;
constexpr std::uint32_t payload_mask = (std::uint32_t{1} << payload_bits) - 1;
constexpr int least_few = 64;

template <class Impurity>
std::int64_t most_copies(const Channels& channels) {
  return ClassLayout<ClassJudge<Impurity>::most_words>(channels.n_channels()).most_copies();
}

// T: the table's ranks, or its values where cuts are drawn. As nodes get smaller, counts of classes
// need fewer words: W.
template <class T, class Impurity>
class ClassThicket final : public Thicket {
 public:
  ClassThicket(const RankedTable& table, DrawnColumns& columns, const Channels& channels,
               std::int64_t max_depth)
      : Thicket(few_rows, most_copies<Impurity>(channels)),
        table_(table),
        two_valued_(table.two_valued()),
        others_(two_valued_.others<T>()),
        stride_(two_valued_.stride()),
        columns_(columns),
        channels_(channels),
        n_classes_(channels.n_channels()),
        max_depth_(max_depth > 0 ? max_depth : std::numeric_limits<std::int64_t>::max()),
        judge_(n_classes_),
        out_(table, n_classes_) {}

  Weighed grow(const Root& root, Tree& tree, std::vector<std::uint32_t>* limits) override {
    out_.begin(tree, limits, root.n_rows);
    for (int i = 0; i < root.n_rows; ++i) {
      const Row row = root.rows[i];
      rows_.put(i, row, channels_.values()[row], channels_.target().classes[row],
                two_valued_.any() ? two_valued_.words()[row] : 0);
    }
    const Node node{0, root.n_rows, root.sums[0], root.depth, ~std::uint64_t{0}, root.draws};
    grow_in<most_words>(node, root.known);
    out_.end(tree, limits, !is_drawn);
    return {};
  }

 private:
  static constexpr bool is_drawn = !std::is_same_v<T, Rank>;
  static constexpr int most_words = ClassJudge<Impurity>::most_words;
  using Rows = ClassRows<few_rows, most_words>;

  struct Node {
    int begin, n;
    std::int64_t weight, depth;
    std::uint64_t varied;  // the bits that are not known to be the same in all rows
    Draws draws;
  };
  // The best cut so far, as in ForestEngine.
  struct Best : SmallCut {
    double bar = no_score;
    bool is_perfect = false;
    ClassLeft<most_words> left = {};
  };

  template <int W>
  const ClassLayout<W>& layout() const {
    return judge_.template layout<W>();
  }
  T value(std::uint64_t row, int place) const {
    return others_[std::int64_t{Rows::row_of(row)} * stride_ + place];
  }
  static bool is_missing(T value) {
    if constexpr (is_drawn)
      return value != value;
    else
      return value == 0;
  }

  // ---- growing ----

  // In as few words as the node's copies fit.
  template <int W>
  void grow_in(const Node& node, const Constants& known) {
    if constexpr (W > 1)
      if (node.weight <= layout<W / 2>().most_copies()) return grow_in<W / 2>(node, known);
    const auto total = rows_.lay_counts(layout<W>(), node.begin, node.n);
    grow_node<W>(node, total, known);
  }

  // Depth first: the left child is the next node.
  template <int W>
  void grow_node(Node node, const ClassCounts<W>& total, Constants known) {
    if constexpr (W > 1)
      if (node.weight <= layout<W / 2>().most_copies()) return grow_in<W / 2>(node, known);
    const int place = out_.open();
    const int first = Rows::class_of(*rows_.rows(node.begin));
    if (layout<W>().count(total, layout<W>().word_of(first), layout<W>().shift_of(first)) ==
        node.weight)
      return write_pure_leaf(place, first, node.weight);
    if (node.depth >= max_depth_) return write_leaf<W>(place, total, node.weight);
    if (node.n == 2) return grow_pair<W>(place, node, total);
    find<W>(node, total, known);
    if (best_.column < 0) return write_leaf<W>(place, total, node.weight);
    ClassLeft<W> left{{}, best_.left.weight, best_.left.left_terms, best_.left.right_terms};
    std::copy_n(best_.left.counts.words.begin(), W, left.counts.words.begin());
    ClassCounts<W> right = total;
    right -= left.counts;
    out_.split(place, best_, node.weight);
    out_.gain(place) = judge_.gain(left, total);
    const std::int64_t depth = node.depth + 1;
    const int n_left = send<W>(node);
    grow_node<W>({node.begin, n_left, left.weight, depth, node.varied, node.draws.child(false)},
                 left.counts, known);
    out_.right_is_next(place);
    grow_node<W>({node.begin + n_left, node.n - n_left, node.weight - left.weight, depth,
                  node.varied, node.draws.child(true)},
                 right, known);
  }

  // Two rows, the commonest node of all, are parted by the first column that can.
  template <int W>
  void grow_pair(int place, const Node& node, const ClassCounts<W>& total) {
    const std::uint64_t* const rows = rows_.rows(node.begin);
    const std::uint64_t bits = *rows_.bits(node.begin), varied = rows_.varied(node.begin, 2);
    SmallCut cut;
    int first = -1;  // the row that goes left
    for (int j = 0; j < columns_.most() && first < 0; ++j) {
      cut.column = columns_.draw(j, node.draws);
      const int bit = two_valued_.bit_of(cut.column);
      if (bit >= 0) {
        if ((varied >> bit & 1) != 0) first = static_cast<int>(bits >> bit & 1);
        continue;
      }
      const int at = two_valued_.place_of(cut.column);
      const T a = value(rows[0], at), b = value(rows[1], at);
      if (a == b || (is_missing(a) && is_missing(b))) continue;
      first = is_missing(a) || (!is_missing(b) && b < a) ? 1 : 0;
    }
    columns_.put_back();
    if (first < 0) return write_leaf<W>(place, total, node.weight);
    const std::uint64_t left = rows[first], right = rows[1 - first];
    const std::int64_t n_left = Rows::copies_of(left), n_right = Rows::copies_of(right);
    cut.missing_left = n_left >= n_right;
    place_between(cut, left, right, node.draws);
    out_.split(place, cut, node.weight);
    out_.gain(place) = judge_.gain_of_pair(n_left, n_right, total);
    write_pure_leaf(out_.open(), Rows::class_of(left), n_left);
    out_.right_is_next(place);
    write_pure_leaf(out_.open(), Rows::class_of(right), n_right);
  }
  void place_between(SmallCut& cut, std::uint64_t left, std::uint64_t right,
                     const Draws& draws) const {
    const int bit = two_valued_.bit_of(cut.column);
    if (bit >= 0) return cut_two_values(cut, bit, draws);
    const int at = two_valued_.place_of(cut.column);
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
      cut.threshold = draw_cut(cut.column, two_valued_.low(bit), two_valued_.high(bit), draws);
    } else {
      cut.rank = 1;
      cut.next = 2;
    }
  }

  void write_pure_leaf(int place, int k, std::int64_t weight) {
    double* const value = out_.leaf(place, weight);
    std::fill_n(value, n_classes_, 0.0);
    value[k] = 1.0;
  }
  template <int W>
  void write_leaf(int place, const ClassCounts<W>& total, std::int64_t weight) {
    double* const value = out_.leaf(place, weight);
    layout<W>().each(total, n_classes_, [&](int k, std::int64_t n) {
      value[k] = static_cast<double>(n) / static_cast<double>(weight);
    });
  }

  // ---- searching ----

  // Columns known to be constant are drawn, and passed over.
  template <int W>
  void find(Node& node, const ClassCounts<W>& total, Constants& known) {
    best_ = {};
    judge_.load(total, node.weight);
    bool has_looked = false;  // which bits vary
    for (int j = 0; j < columns_.most() && (j < columns_.wanted() || best_.column < 0); ++j) {
      const int column = columns_.draw(j, node.draws), bit = two_valued_.bit_of(column);
      if (bit >= 0) {
        if ((node.varied >> bit & 1) == 0) continue;
        if (!std::exchange(has_looked, true)) {
          node.varied = rows_.varied(node.begin, node.n);
          if ((node.varied >> bit & 1) == 0) continue;
        }
        try_bit<W>(node, column, bit);
      } else {
        if (known.has(column)) continue;
        if (!try_column<W>(node, total, column)) known.add(column);
      }
      if (best_.is_perfect) break;
    }
    columns_.put_back();
  }

  template <int W>
  void take(const ClassLeft<W>& left, const SmallCut& cut) {
    const double score = judge_.score(left);
    static_cast<SmallCut&>(best_) = cut;
    best_.bar = score + tie * std::abs(score);
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
      return try_drawn_cut<W>(node, column);
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
  bool try_drawn_cut(const Node& node, int column) {
    const int trial = 1 - kept_, place = two_valued_.place_of(column), n = node.n;
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
      const auto goes_left = [=](int i) {
        return (x[i] <= last) | (missing_left & (x[i] != x[i]));
      };
      const auto left = judge_.left_of(rows_.template sum<W>(node.begin, n, goes_left));
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
    const int place = two_valued_.place_of(column), n = node.n;
    std::uint32_t least = most_ranks, most = 0;
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

  // ---- sending ----

  template <int W>
  int send(const Node& node) {
    const int bit = two_valued_.bit_of(best_.column);
    const std::uint64_t* const rows = rows_.rows(node.begin);
    const auto part = [&](auto goes_left) {
      return rows_.template part<W>(node.begin, node.n, goes_left);
    };
    if (bit >= 0)
      return part([=, bits = rows_.bits(node.begin)](int i) { return (bits[i] >> bit & 1) == 0; });
    if constexpr (is_drawn) {
      const T last = at_most<T>(best_.threshold);
      return part([=, x = x_[kept_].data(), missing_left = best_.missing_left](int i) {
        return (x[i] <= last) | (missing_left & (x[i] != x[i]));
      });
    } else {
      // Without sign: what is missing is rank 0, and far to the right if it does not go left.
      const std::uint32_t offset = best_.missing_left ? 0 : 1;
      const std::uint32_t limit = static_cast<std::uint32_t>(best_.rank) - offset;
      const int place = two_valued_.place_of(best_.column);
      return part([=, this](int i) {
        return static_cast<std::uint32_t>(value(rows[i], place)) - offset <= limit;
      });
    }
  }
  static constexpr std::uint32_t rows_a_rank = 2;

  const RankedTable& table_;
  const TwoValued& two_valued_;
  const T* others_;  // row after row
  std::int64_t stride_;
  DrawnColumns& columns_;
  const Channels& channels_;
  int n_classes_;
  std::int64_t max_depth_;

  ClassJudge<Impurity> judge_;
  Best best_;
  Rows rows_;
  std::array<std::array<std::uint64_t, few_rows>, most_words> cells_;
  std::array<T, few_rows + 2> x_[2];  // of the column that is tried, and of the best one
  int kept_ = 0;
  std::array<std::uint32_t, few_rows + 1 + KeySorter::slack> keys_, spare_;
  KeySorter sorter_;
  ThicketWriter<few_rows> out_;
};

}  // namespace

template <class Impurity>
std::unique_ptr<Thicket> make_class_thicket(const RankedTable& table, DrawnColumns& columns,
                                            const Channels& channels, std::int64_t max_depth) {
  if (most_copies<Impurity>(channels) < least_few) return nullptr;
  const auto over = [&](const auto* values) -> std::unique_ptr<Thicket> {
    using T = std::remove_cvref_t<decltype(*values)>;
    return std::make_unique<ClassThicket<T, Impurity>>(table, columns, channels, max_depth);
  };
  return table.keeps_values() ? table.with_values(over) : over(table.ranks());
}
template std::unique_ptr<Thicket> make_class_thicket<GiniOfCounts>(const RankedTable&,
                                                                   DrawnColumns&, const Channels&,
                                                                   std::int64_t);
template std::unique_ptr<Thicket> make_class_thicket<EntropyOfCounts>(const RankedTable&,
                                                                      DrawnColumns&,
                                                                      const Channels&,
                                                                      std::int64_t);

}  // namespace weald
