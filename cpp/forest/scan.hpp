// Scans: accumulate the left side of a split row by row (or bin by bin) and score it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "criteria/count_impurities.hpp"
#include "forest/bit_counts.hpp"
#include "forest/counted_sides.hpp"
#include "forest/random_threshold_values.hpp"
#include "split/least_weight.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"
#include "target/labels.hpp"
#include "tree/growing_tree.hpp"

namespace weald::forest {

//
// Interface of a scan. `start` begins a tree, `load` a node. `payload(i)` identifies row i of the
// node, in 15 bits if the node is small. For each column: `empty_left` is an empty left side, `add`
// adds a row by payload, `add_bin` the rows of a bin after `count`, and `add_up_to` the rows with
// values up to a threshold and, on request, missing ones (`prepare_thresholds` must be called
// first). `cell_width` is the cost of a bin in rows; `bin_weight` and `bin_sum` are its weight and
// its sum of a channel (for two classes always the second).
//
// `beats` returns whether the split scores more than `bar`; it never does if a side is too small.
// Scores are comparable within a node only. `keep` stores a left side, `write` returns its integer
// sums. No split beats one that `is_perfect`.
constexpr double no_score = -std::numeric_limits<double>::infinity();

// Two classes with integer weights, the most common case: a row is copies << 1 | class. Benchmark
// rows `forest_100k` and `extra_trees_100k`: with ClassScan instead, 100,000 x 28 take 1.15 (Gini)
// to 1.16 (entropy) times the processor time in random forests and 1.17 times in extra trees.
template <class Impurity>
class PairCounts {
 public:
  using Left = criteria::PairLeft;
  static constexpr std::int64_t most_copies = std::int64_t{1} << 30;

  // Whether the scan applies to the tree.
  static bool fits(const tree::GrowingTree& growing_tree) {
    const target::Channels& channels = growing_tree.channels;
    const target::Target& target = channels.target();
    if (target.n_channels != 2 || !target.classes || target.n_labels > 1 || target.weight)
      return false;
    if (growing_tree.totals_of(0)[0] >= most_copies) return false;
    if (!target.copies) return true;
    const Row* const rows = growing_tree.rows_of(0);
    const std::int64_t n = growing_tree.nodes[0].n_rows();
    return std::all_of(rows, rows + n, [&](Row row) { return target.copies[row] < (1 << 14); });
  }

  void start(const target::Channels& channels, const split::SplitLimits& limits,
             std::int64_t n_rows) {
    least_ = static_cast<std::int64_t>(least_weight(channels, limits) + 0.999999);
    const target::Target& target = channels.target();
    of_row_.resize(static_cast<std::size_t>(n_rows));
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const std::int64_t copies = target.copies ? target.copies[row] : 1;
      of_row_[row] = static_cast<std::uint16_t>(copies << 1 | target.classes[row]);
    }
  }
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
    total_ = {totals[0], totals[2]};
    impurity_.load(total_.w, 2, 1);
    if (static_cast<std::int64_t>(payload_.size()) < padded(n))
      payload_.resize(static_cast<std::size_t>(padded(n)));
    for (std::int64_t i = 0; i < n; ++i) payload_[i] = of_row_[rows[i]];
  }
  void prepare_thresholds(std::int64_t n) {
    std::fill(payload_.begin() + n, payload_.begin() + padded(n), 0);
  }
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(payload_[i]); }

  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    cells_.assign(static_cast<std::size_t>(n_bins) + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t row = payload(i), w = row >> 1;
      cells_[code_of(i)] += w << 32 | (w & (0 - (row & 1)));
    }
  }
  int cell_width() const { return 1; }
  bool is_empty(int bin) const { return cells_[bin] == 0; }
  double bin_weight(int bin) const { return static_cast<double>(cells_[bin] >> 32); }
  double bin_sum(int bin, int) const { return static_cast<double>(cells_[bin] & 0xffffffff); }

  Left empty_left() const { return {}; }
  void add(Left& left, std::uint32_t payload) const {
    const std::int64_t w = payload >> 1;
    left.w += w;
    left.s += w & -static_cast<std::int64_t>(payload & 1);
  }
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) const {
    constexpr std::int64_t block = std::int64_t{1} << 15;  // whose copies fit 31 bits
    for (std::int64_t begin = 0; begin < n; begin += block)
      kernels::active().drawn->of<T>().add_counts(x + begin, std::min(n - begin, block),
                                                  {cut, missing_too}, payload_.data() + begin,
                                                  &left);
  }
  void add_bin(Left& left, int bin) const {
    left.w += static_cast<std::int64_t>(cells_[bin] >> 32);
    left.s += static_cast<std::int64_t>(cells_[bin] & 0xffffffff);
  }
  bool beats(const Left& left, double bar) const {
    if (left.w < least_ || total_.w - left.w < least_) return false;
    return impurity_.pair_beats(left, total_, bar);
  }
  double score(const Left& left) const { return impurity_.pair_score(left, total_); }
  bool is_perfect(const Left& left) const {
    return (left.s == 0 && total_.w - left.w == total_.s) ||
           (left.s == left.w && left.s == total_.s);
  }
  bool left_is_heavier(const Left& left) const { return left.w >= total_.w - left.w; }
  void keep(const Left& left) { kept_ = left; }
  void write(std::vector<std::int64_t>& left) const {
    left.assign({kept_.w, kept_.w - kept_.s, kept_.s});
  }

 private:
  Impurity impurity_;
  Left total_, kept_;
  std::int64_t least_ = 1;
  std::vector<std::uint16_t> of_row_;  // copies << 1 | class
  std::vector<std::int32_t> payload_;  // of the rows of the node
  std::vector<std::uint64_t> cells_;   // [bin] copies << 32 | copies of the second class
};

// Squared error of one sum S with weight W, up to a factor that is constant within a node: S_l^2 /
// W_l + S_r^2 / W_r - S^2 / W = d^2 / (W W_l W_r), without a difference of large squares. Swapping
// left and right only changes the sign of d = S_l W_r - S_r W_l, so that splits of two columns into
// the same two parts tie.
class SquaresOfPair {
 public:
  void load(const criteria::PairLeft& total) {
    total_ = total.w;
    total_s_ = total.s;
  }
  double left_weight(const criteria::PairLeft& left) const { return static_cast<double>(left.w); }
  double right_weight(const criteria::PairLeft& left) const {
    return static_cast<double>(total_ - left.w);
  }
  bool beats(const criteria::PairLeft& left, double bar) const {
    const double wl = left_weight(left), wr = right_weight(left), d = difference(left, wl, wr);
    return d * d > bar * (wl * wr);
  }
  double score(const criteria::PairLeft& left) const {
    const double wl = left_weight(left), wr = right_weight(left), d = difference(left, wl, wr);
    return d * d / (wl * wr);
  }
  bool left_is_heavier(const criteria::PairLeft& left) const { return left.w >= total_ - left.w; }

 private:
  double difference(const criteria::PairLeft& left, double wl, double wr) const {
    return static_cast<double>(left.s) * wr - static_cast<double>(total_s_ - left.s) * wl;
  }

  std::int64_t total_ = 0, total_s_ = 0;
};

// One sum and a weight: squared error of one output, or Gini of two weighted classes, which is
// twice the squared error of the indicator of the second class. Benchmark row
// `extra_trees_california`: with VectorScan instead, 20,640 x 8 take 1.5 times the processor time
// (random forests 1.09 times).
template <bool TwoClasses>
class PairScan {
 public:
  using Left = criteria::PairLeft;

  void start(const target::Channels& channels, const split::SplitLimits& limits, std::int64_t) {
    channels_ = &channels;
    least_ = least_weight(channels, limits);
  }
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
    const target::Channels& channels = *channels_;
    squares_.load({totals[0], totals[TwoClasses ? 2 : 1]});
    are_two_ = n == 2;
    if (static_cast<std::int64_t>(pairs_.size()) < padded(n))
      pairs_.resize(static_cast<std::size_t>(padded(n)));
    const std::int64_t* const values = channels.values();
    if constexpr (TwoClasses) {
      const std::int32_t* const classes = channels.target().classes;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t w = values[rows[i]];
        pairs_[i] = {w, w & -static_cast<std::int64_t>(classes[rows[i]])};
      }
    } else {
      const std::int64_t size = channels.cell_size();
      for (std::int64_t i = 0; i < n; ++i)
        pairs_[i] = {values[rows[i] * size], values[rows[i] * size + 1]};
    }
  }
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(i); }

  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    cells_.assign(static_cast<std::size_t>(n_bins) + 1, {});
    for (std::int64_t i = 0; i < n; ++i) {
      Cell& cell = cells_[code_of(i)];
      cell.w += pairs_[i].w;
      cell.s += pairs_[i].s;
      ++cell.rows;
    }
  }
  int cell_width() const { return 1; }
  // Weights may be too small to be seen, so rows are counted.
  bool is_empty(int bin) const { return cells_[bin].rows == 0; }
  double bin_weight(int bin) const { return static_cast<double>(cells_[bin].w); }
  double bin_sum(int bin, int) const { return static_cast<double>(cells_[bin].s); }

  Left empty_left() const { return {}; }
  void add(Left& left, std::uint32_t i) const {
    left.w += pairs_[i].w;
    left.s += pairs_[i].s;
  }
  void prepare_thresholds(std::int64_t n) {
    std::fill(pairs_.begin() + n, pairs_.begin() + padded(n), criteria::PairLeft{});
  }
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) const {
    std::int64_t sum[2] = {};
    kernels::active().drawn->of<T>().add_words(x, n, {cut, missing_too}, &pairs_.data()->w, sum);
    left.w += sum[0];
    left.s += sum[1];
  }
  void add_bin(Left& left, int bin) const {
    left.w += cells_[bin].w;
    left.s += cells_[bin].s;
  }
  bool beats(const Left& left, double bar) const {
    return squares_.left_weight(left) >= least_ && squares_.right_weight(left) >= least_ &&
           squares_.beats(left, bar);
  }
  double score(const Left& left) const { return squares_.score(left); }
  // All splits of two rows are the same.
  bool is_perfect(const Left&) const { return are_two_; }
  bool left_is_heavier(const Left& left) const { return squares_.left_is_heavier(left); }
  void keep(const Left& left) { kept_ = left; }
  void write(std::vector<std::int64_t>& left) const {
    left.assign({kept_.w});
    if (TwoClasses) left.push_back(kept_.w - kept_.s);
    left.push_back(kept_.s);
  }

 private:
  struct Cell : criteria::PairLeft {
    std::int64_t rows = 0;
  };
  const target::Channels* channels_ = nullptr;
  std::vector<criteria::PairLeft> pairs_;
  std::vector<Cell> cells_;
  Left kept_;
  SquaresOfPair squares_;
  bool are_two_ = false;
  double least_ = 1.0;
};

// Any number of classes with integer weights: the impurity terms of both sides are updated row by
// row. With several outputs (has_labels) the terms of all outputs are added up; about 8 times as
// fast as CellScan for three outputs, which no benchmark row has.
template <class Impurity, bool has_labels = false>
class ClassScan : public CountedSides<Impurity> {
  using Sides = CountedSides<Impurity>;
  using Sides::channels_, Sides::left_, Sides::n_classes_, Sides::totals_, Sides::weight_;

 public:
  using typename Sides::Left;

  // Whether the scan applies to the tree, and sums of terms fit 62 bits.
  static bool fits(const tree::GrowingTree& growing_tree) {
    const target::Target& target = growing_tree.channels.target();
    return target.classes && !target.weight && (target.n_labels > 1) == has_labels &&
           growing_tree.totals_of(0)[0] * target.n_labels < criteria::most_counted;
  }

  void start(const target::Channels& channels, const split::SplitLimits& limits,
             std::int64_t n_rows) {
    Sides::start_sides(channels, limits);
    if constexpr (has_labels) {
      n_labels_ = channels.target().n_labels;
      return;
    }
    const std::int64_t* const copies = channels.target().copies;
    most_copies_ = copies ? *std::max_element(copies, copies + n_rows) : 1;
    of_row_.clear();
    if (most_copies_ >> 16 != 0 || n_classes_ >> 16 != 0) return;
    of_row_.resize(static_cast<std::size_t>(n_rows));
    for (std::int64_t row = 0; row < n_rows; ++row)
      of_row_[row] = static_cast<std::uint32_t>(channels.target().classes[row]) << 16 |
                     static_cast<std::uint32_t>(copies ? copies[row] : 1);
  }
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
    const target::Channels& channels = *channels_;
    Sides::load_sides(totals, n_labels());
    const std::int64_t size = n * n_labels();
    if (static_cast<std::int64_t>(rows_.size()) < size)
      rows_.resize(static_cast<std::size_t>(size));
    if (!of_row_.empty()) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::uint32_t one = of_row_[rows[i]];
        rows_[i] = {static_cast<std::int32_t>(one >> 16), static_cast<std::int32_t>(one & 0xffff)};
      }
      return;
    }
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n_labels(); ++j)
        rows_[i * n_labels() + j] = {channels.target().classes[rows[i] * n_labels() + j],
                                     static_cast<std::int32_t>(channels.values()[rows[i]])};
  }
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(i); }

  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    const std::int64_t stride = n_classes_ + 1;
    std::int32_t* const cells = Sides::clear_cells(n_bins);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int32_t* const cell = cells + code_of(i) * stride;
      const One* const one = rows_.data() + i * n_labels();
      cell[0] += one->w;
      for (std::int64_t j = 0; j < n_labels(); ++j) cell[1 + one[j].k] += one[j].w;
    }
  }
  void add(Left&, std::uint32_t i) {
    const One* const one = rows_.data() + i * n_labels();
    for (std::int64_t j = 0; j < n_labels(); ++j) Sides::put(one[j].k, one[j].w);
    weight_ += one->w;
  }
  // Counts of several classes share a word, so that a row adds one word, or a few of which all but
  // one are zero. Fields are as wide as a block of rows needs, which may be all rows.
  void prepare_thresholds(std::int64_t n) {
    if (has_labels) return;
    const int together = std::min(n_classes_, most_together);
    bits_ = std::min(64 / together, 32);
    n_words_ = (n_classes_ + together - 1) / together;
    if (n_words_ > most_words) return;
    block_ = std::max<std::int64_t>(1, ((std::int64_t{1} << bits_) - 1) / most_copies_);
    if (static_cast<std::int64_t>(words_.size()) < n_words_ * n)
      words_.resize(static_cast<std::size_t>(n_words_ * n));
    if (n_words_ > 1) std::fill_n(words_.begin(), n_words_ * n, 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const int word = n_words_ > 1 ? rows_[i].k / together : 0;
      words_[word * n + i] = static_cast<std::uint64_t>(rows_[i].w)
                             << bits_ * (rows_[i].k - word * together);
    }
  }
  template <class T>
  void add_up_to(Left&, const T* x, std::int64_t n, T cut, bool missing_too) {
    if (has_labels || n_words_ > most_words || most_copies_ >> bits_ != 0) {
      for (std::int64_t i = 0; i < n; ++i) {
        const bool is_left = (x[i] <= cut) | (missing_too & (x[i] != x[i]));
        const One* const one = rows_.data() + i * n_labels();
        for (std::int64_t j = 0; j < n_labels(); ++j)
          left_[one[j].k] += one[j].w & -std::int64_t{is_left};
      }
    } else if (missing_too) {
      add_words(n, [=](std::int64_t i) { return (x[i] <= cut) | (x[i] != x[i]); });
    } else {
      add_words(n, [=](std::int64_t i) { return x[i] <= cut; });
    }
    weight_ = Sides::compute_terms() / n_labels();
  }

  // Class counts by bit: bit_counts.hpp. put_rows_without makes the left side the rows without the
  // bit; returns false if one side is empty.
  void count_bits(const std::uint64_t* words, const Row* rows, std::int64_t n,
                  const std::vector<int>& bits) {
    bit_counts_.count(words, rows, n, bits, n_classes_,
                      [of_row = rows_.data()](std::int64_t i) { return of_row[i]; });
  }
  bool put_rows_without(int bit)
    requires(!has_labels)
  {
    const std::int64_t* const ones = bit_counts_.ones(bit);
    for (int k = 0; k < n_classes_; ++k) left_[k] = totals_[1 + k] - ones[k];
    weight_ = Sides::compute_terms();
    return weight_ > 0 && weight_ < totals_[0];
  }

 private:
  template <class GoesLeft>
  void add_words(std::int64_t n, GoesLeft goes_left) {
    const int together = std::min(n_classes_, most_together);
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    for (int word = 0; word < n_words_; ++word) {
      const std::uint64_t* const words = words_.data() + word * n;
      const int first = word * together, some = std::min(together, n_classes_ - first);
      for (std::int64_t begin = 0; begin < n; begin += block_) {
        const std::int64_t end = std::min(n, begin + block_);
        std::uint64_t sum = 0;
        for (std::int64_t i = begin; i < end; ++i)
          sum += words[i] & -static_cast<std::uint64_t>(goes_left(i));
        for (int k = 0; k < some; ++k, sum >>= bits_) left_[first + k] += sum & mask;
      }
    }
  }

  std::int64_t n_labels() const { return has_labels ? n_labels_ : 1; }

  struct One {
    std::int32_t k, w;
  };
  std::vector<std::uint32_t> of_row_;  // class << 16 | copies; empty: does not fit
  std::vector<One> rows_;              // [row of the node][output]
  std::int64_t n_labels_ = 1;
  static constexpr int most_words = 4, most_together = 8;
  int bits_ = 0, n_words_ = 0;
  std::int64_t most_copies_ = 1, block_ = 1;  // per row; rows whose copies fit a field
  std::vector<std::uint64_t> words_;          // [word][row], for random thresholds
  BitCounts bit_counts_;
};

}  // namespace weald::forest
