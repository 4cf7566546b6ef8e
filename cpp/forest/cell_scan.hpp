// Scans whose sides are whole cells of integer sums: squared error of several outputs, and any
// other criterion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "forest/scan.hpp"
#include "target/labels.hpp"

namespace weald::forest {

// The left side and the bins of a column, one cell each. A bin also counts its rows, because
// weights may be too small to be seen in the sums.
class CellSides {
 public:
  struct Left {};  // the left side is a member

  static std::uint32_t payload(std::int64_t i) { return static_cast<std::uint32_t>(i); }
  int cell_width() const { return static_cast<int>(size_); }
  bool is_empty(int bin) const { return cell(bin)[size_] == 0; }
  double bin_weight(int bin) const { return static_cast<double>(cell(bin)[0]); }
  double bin_sum(int bin, int channel) const { return static_cast<double>(cell(bin)[1 + channel]); }

  Left empty_left() {
    std::fill(left_.begin(), left_.end(), 0);
    return {};
  }
  void add_bin(Left&, int bin) { add_cell(cell(bin), left_.data()); }
  void prepare_thresholds(std::int64_t) {}
  bool is_perfect(const Left&) const { return false; }
  bool left_is_heavier(const Left&) const { return left_[0] >= total_weight_ - left_[0]; }
  void keep(const Left&) { kept_ = left_; }
  void write(std::vector<std::int64_t>& left) const { left = kept_; }

 protected:
  void start_sides(const target::Channels& channels) {
    channels_ = &channels;
    size_ = channels.cell_size();
    left_.resize(static_cast<std::size_t>(size_));
  }
  // add_row(i, cell) adds row i of the node to a cell.
  template <class CodeOf, class AddRow>
  void count_rows(std::int64_t n, int n_bins, CodeOf code_of, AddRow add_row) {
    cells_.assign(static_cast<std::size_t>((n_bins + 1) * (size_ + 1)), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t* const to = cells_.data() + code_of(i) * (size_ + 1);
      add_row(i, to);
      ++to[size_];
    }
  }
  void add_cell(const std::int64_t* from, std::int64_t* to) const {
    for (std::int64_t c = 0; c < size_; ++c) to[c] += from[c];
  }

  const target::Channels* channels_ = nullptr;
  std::int64_t size_ = 0, total_weight_ = 0;
  std::vector<std::int64_t> left_;

 private:
  const std::int64_t* cell(int bin) const { return cells_.data() + bin * (size_ + 1); }

  std::vector<std::int64_t> cells_, kept_;
};

// Squared error of several outputs: PairScan with one square per output. Benchmark row
// `forest_outputs`: without it a fit takes 2.4 times the processor time.
class VectorScan : public CellSides {
 public:
  // Whether W and one sum per output are all that a split is scored by.
  static bool fits(const tree::GrowingTree& growing_tree) {
    const target::Channels& channels = growing_tree.channels;
    return !channels.target().classes && channels.cell_size() == 1 + channels.n_channels();
  }

  void start(const target::Channels& channels, const split::SplitLimits& limits, std::int64_t) {
    start_sides(channels);
    least_ = least_weight(channels, limits);
    total_.resize(static_cast<std::size_t>(size_));
  }
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
    total_weight_ = totals[0];
    for (std::int64_t c = 0; c < size_; ++c) total_[c] = static_cast<double>(totals[c]);
    if (static_cast<std::int64_t>(rows_.size()) < n * size_)
      rows_.resize(static_cast<std::size_t>(n * size_));
    for (std::int64_t i = 0; i < n; ++i)
      std::copy_n(channels_->values() + rows[i] * size_, size_, rows_.data() + i * size_);
  }

  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    count_rows(n, n_bins, code_of,
               [&](std::int64_t i, std::int64_t* to) { add_cell(rows_.data() + i * size_, to); });
  }
  void add(Left&, std::uint32_t i) { add_cell(rows_.data() + i * size_, left_.data()); }
  template <class T>
  void add_up_to(Left&, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i) {
      const bool is_left = (x[i] <= cut) | (missing_too & (x[i] != x[i]));
      const std::int64_t mask = -static_cast<std::int64_t>(is_left);
      const std::int64_t* const sums = rows_.data() + i * size_;
      for (std::int64_t c = 0; c < size_; ++c) left_[c] += sums[c] & mask;
    }
  }

  bool beats(const Left&, double bar) const {
    const auto wl = static_cast<double>(left_[0]);
    const auto wr = static_cast<double>(total_weight_ - left_[0]);
    if (!(wl >= least_ && wr >= least_)) return false;
    return squares(wl) > bar * (wl * wr);
  }
  double score(const Left&) const {
    const auto wl = static_cast<double>(left_[0]);
    const auto wr = static_cast<double>(total_weight_ - left_[0]);
    return squares(wl) / (wl * wr);
  }

 private:
  // As in PairScan: no difference of large squares.
  double squares(double wl) const {
    double total = 0.0;
    for (std::int64_t c = 1; c < size_; ++c) {
      const double d = static_cast<double>(left_[c]) * total_[0] - total_[c] * wl;
      total += d * d;
    }
    return total;
  }

  double least_ = 1.0;
  std::vector<double> total_;       // of the node
  std::vector<std::int64_t> rows_;  // [row of the node][cell]
};

// Any criterion, and monotonic constraints: scores through SplitEvaluator as histograms do.
template <criteria::Criterion C>
class CellScan : public CellSides {
 public:
  void start(const target::Channels& channels, const split::SplitLimits& limits, std::int64_t) {
    start_sides(channels);
    limits_ = &limits;
  }
  void load(const Row* rows, std::int64_t, const std::int64_t* totals) {
    rows_ = rows;
    total_weight_ = totals[0];
    judge_.emplace(*channels_, *limits_, totals, bounds_);
  }
  // Bounds of the next node to be loaded; monotonic direction of the next column.
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }
  void set_direction(double direction) { direction_ = direction; }

  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    count_rows(n, n_bins, code_of,
               [&](std::int64_t i, std::int64_t* to) { add_row(rows_[i], to); });
  }
  void add(Left&, std::uint32_t i) { add_row(rows_[i], left_.data()); }
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i)
      if (x[i] <= cut || (missing_too && x[i] != x[i])) add(left, static_cast<std::uint32_t>(i));
  }
  bool beats(const Left&, double bar) {
    const auto judged = judge_->judge(left_.data(), direction_);
    score_ = judged.children;
    return judged.is_admitted && score_ > bar;
  }
  double score(const Left&) const { return score_; }

 private:
  void add_row(Row row, std::int64_t* to) const {
    if (channels_->target().classes) return target::AddLabels(*channels_)(to, row);
    add_cell(channels_->values() + row * size_, to);
  }

  const split::SplitLimits* limits_ = nullptr;
  const Row* rows_ = nullptr;
  std::optional<split::SplitEvaluator<C>> judge_;
  double score_ = 0.0;
  Bounds bounds_;
  double direction_ = 0.0;
};

}  // namespace weald::forest
