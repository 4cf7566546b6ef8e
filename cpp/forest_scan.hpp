// Splits of one column judged one after another: what lies left is added up row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "channels.hpp"
#include "sapling.hpp"
#include "splitting.hpp"

namespace weald {

// A scan loads the rows of a node; then, column after column, `clear` empties the left side, `add`
// puts a row there (`add_bin` all rows of a bin) and `score` is what the two sides reach, or minus
// infinity if one is too small. Scores are compared within a node only. `write` tells the left
// side's integer sums. Histogram cells are `width` integers.
constexpr double no_score = -std::numeric_limits<double>::infinity();

// The least integer weight of a side, as a number that weights are compared with.
inline double least_weight(const Channels& channels, const SplitLimits& limits) {
  const std::int64_t one = 1;
  double least = std::max(1.0, limits.min_child_weight / channels.weight_of(&one));
  if (channels.count_index() == 0)
    least = std::max(least, static_cast<double>(limits.min_samples_leaf));
  return least;
}

// One sum beside the weight: squared error; or Gini of two classes, which is twice the squared
// error of the second one's share.
template <bool TwoClasses>
class PairScan {
 public:
  static constexpr int width = 2;

  void load(const Sapling& sapling, const SplitLimits& limits, int node) {
    const Channels& channels = sapling.channels;
    const Row* const rows = sapling.rows_of(node);
    const std::int64_t n = sapling.nodes[node].n_rows();
    const std::int64_t* const totals = sapling.totals_of(node);
    total_ = totals[0];
    total_w_ = static_cast<double>(totals[0]);
    total_s_ = static_cast<double>(totals[TwoClasses ? 2 : 1]);
    least_ = least_weight(channels, limits);
    pairs_.resize(static_cast<std::size_t>(n));
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
  int cell_width() const { return width; }
  void count(std::int64_t i, std::int64_t* cell) const {
    cell[0] += pairs_[i].w;
    cell[1] += pairs_[i].s;
  }
  void clear() { left_ = {0, 0}; }
  void add(std::int64_t i) { left_ = {left_.w + pairs_[i].w, left_.s + pairs_[i].s}; }
  void add_if(std::int64_t i, bool is_left) {
    const std::int64_t mask = -static_cast<std::int64_t>(is_left);
    left_ = {left_.w + (pairs_[i].w & mask), left_.s + (pairs_[i].s & mask)};
  }
  void add_bin(const std::int64_t* cell) { left_ = {left_.w + cell[0], left_.s + cell[1]}; }
  bool left_is_heavier() const { return left_.w >= total_ - left_.w; }

  double score() const {
    const auto wl = static_cast<double>(left_.w), wr = static_cast<double>(total_ - left_.w);
    if (!(wl >= least_ && wr >= least_)) return no_score;
    // S_l^2 / W_l + S_r^2 / W_r - S^2 / W = d^2 / (W W_l W_r): no difference of large squares.
    const double d = static_cast<double>(left_.s) * total_w_ - total_s_ * wl;
    return d * d / (wl * wr);
  }
  void write(std::vector<std::int64_t>& left) const {
    left.assign({left_.w});
    if (TwoClasses) left.push_back(left_.w - left_.s);
    left.push_back(left_.s);
  }

 private:
  struct Pair {
    std::int64_t w, s;
  };
  std::vector<Pair> pairs_;
  Pair left_{};
  std::int64_t total_ = 0;
  double total_w_ = 0.0, total_s_ = 0.0, least_ = 1.0;
};

// Gini of any number of classes where weights count copies: the sums of squares follow each row.
class ClassScan {
 public:
  // Squares of counts must fit 62 bits.
  static constexpr std::int64_t most_copies = std::int64_t{1} << 30;

  void load(const Sapling& sapling, const SplitLimits& limits, int node) {
    const Channels& channels = sapling.channels;
    const Row* const rows = sapling.rows_of(node);
    const std::int64_t n = sapling.nodes[node].n_rows();
    n_classes_ = channels.n_channels();
    totals_ = sapling.totals_of(node);
    least_ = least_weight(channels, limits);
    squares_ = 0;
    for (int k = 0; k < n_classes_; ++k) squares_ += totals_[1 + k] * totals_[1 + k];
    rows_.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
      rows_[i] = {channels.target().classes[rows[i]],
                  static_cast<std::int32_t>(channels.values()[rows[i]])};
    left_.resize(static_cast<std::size_t>(n_classes_));
  }
  int cell_width() const { return n_classes_; }
  void count(std::int64_t i, std::int64_t* cell) const { cell[rows_[i].k] += rows_[i].w; }
  void clear() {
    std::fill(left_.begin(), left_.end(), 0);
    weight_ = left_squares_ = 0;
    right_squares_ = squares_;
  }
  void add(std::int64_t i) { put(rows_[i].k, rows_[i].w); }
  void add_if(std::int64_t i, bool is_left) {
    if (is_left) add(i);
  }
  void add_bin(const std::int64_t* cell) {
    for (int k = 0; k < n_classes_; ++k)
      if (cell[k]) put(k, cell[k]);
  }
  bool left_is_heavier() const { return weight_ >= totals_[0] - weight_; }

  double score() const {
    const auto wl = static_cast<double>(weight_), wr = static_cast<double>(totals_[0] - weight_);
    if (!(wl >= least_ && wr >= least_)) return no_score;
    return static_cast<double>(left_squares_) / wl + static_cast<double>(right_squares_) / wr;
  }
  void write(std::vector<std::int64_t>& left) const {
    left.assign({weight_});
    left.insert(left.end(), left_.begin(), left_.end());
  }

 private:
  void put(int k, std::int64_t w) {
    const std::int64_t before = left_[k], right = totals_[1 + k] - before;
    left_squares_ += w * (2 * before + w);
    right_squares_ -= w * (2 * right - w);
    left_[k] = before + w;
    weight_ += w;
  }

  struct One {
    std::int32_t k, w;
  };
  int n_classes_ = 0;
  const std::int64_t* totals_ = nullptr;
  double least_ = 1.0;
  std::vector<One> rows_;
  std::vector<std::int64_t> left_;
  std::int64_t squares_ = 0, weight_ = 0, left_squares_ = 0, right_squares_ = 0;
};

// Any criterion on any cells, through the judge of histograms.
template <Criterion C>
class CellScan {
 public:
  void load(const Sapling& sapling, const SplitLimits& limits, int node) {
    channels_ = &sapling.channels;
    rows_ = sapling.rows_of(node);
    totals_ = sapling.totals_of(node);
    judge_.emplace(*channels_, limits, totals_);
    left_.resize(static_cast<std::size_t>(channels_->cell_size()));
  }
  int cell_width() const { return channels_->cell_size(); }
  void count(std::int64_t i, std::int64_t* cell) const {
    const Row row = rows_[i];
    const int size = channels_->cell_size();
    if (const std::int32_t* const classes = channels_->target().classes) {
      const std::int64_t w = channels_->values()[row];
      cell[0] += w;
      cell[1 + classes[row]] += w;
      if (channels_->count_index() > 0) cell[size - 1] += copies_of(row);
      return;
    }
    for (int c = 0; c < size; ++c) cell[c] += channels_->values()[std::int64_t{row} * size + c];
  }
  void clear() { std::fill(left_.begin(), left_.end(), 0); }
  void add(std::int64_t i) { count(i, left_.data()); }
  void add_if(std::int64_t i, bool is_left) {
    if (is_left) add(i);
  }
  void add_bin(const std::int64_t* cell) {
    for (std::size_t c = 0; c < left_.size(); ++c) left_[c] += cell[c];
  }
  bool left_is_heavier() const { return left_[0] >= totals_[0] - left_[0]; }
  double score() {
    const auto judged = judge_->judge(left_.data());
    return judged.is_admitted ? judged.children : no_score;
  }
  void write(std::vector<std::int64_t>& left) const { left = left_; }

 private:
  std::int64_t copies_of(Row row) const {
    const std::int64_t* const copies = channels_->target().copies;
    return copies ? copies[row] : 1;
  }

  const Channels* channels_ = nullptr;
  const Row* rows_ = nullptr;
  const std::int64_t* totals_ = nullptr;
  std::optional<SplitJudge<C>> judge_;
  std::vector<std::int64_t> left_;
};

}  // namespace weald
