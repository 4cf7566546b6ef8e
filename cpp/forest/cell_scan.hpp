// The scan that serves any criterion of sums: a whole cell a side, judged by the criterion itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "forest/scan.hpp"
#include "target/labels.hpp"

namespace weald::forest {

// Any criterion on any cells, through the judge of histograms.
template <criteria::Criterion C>
class CellScan {
 public:
  struct Left {};

  void start(const target::Channels& channels, const split::SplitLimits& limits, std::int64_t) {
    channels_ = &channels;
    limits_ = &limits;
    size_ = channels.cell_size();
    left_.resize(static_cast<std::size_t>(size_));
  }
  void load(const Row* rows, std::int64_t, const std::int64_t* totals) {
    rows_ = rows;
    totals_ = totals;
    judge_.emplace(*channels_, *limits_, totals_, bounds_);
  }
  // What the next node that is loaded must keep to, and the next column.
  void hold(const Bounds& bounds) { bounds_ = bounds; }
  void direct(double direction) { direction_ = direction; }
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(i); }

  // One integer more tells how many rows a bin has: weights may be too small to be seen.
  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    cells_.assign(static_cast<std::size_t>((n_bins + 1) * (size_ + 1)), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t* const cell = cells_.data() + code_of(i) * (size_ + 1);
      add_row(rows_[i], cell);
      ++cell[size_];
    }
  }
  int cell_width() const { return static_cast<int>(size_); }
  bool is_empty(int bin) const { return cells_[bin * (size_ + 1) + size_] == 0; }
  double bin_weight(int bin) const { return static_cast<double>(cells_[bin * (size_ + 1)]); }
  double bin_sum(int bin, int channel) const {
    return static_cast<double>(cells_[bin * (size_ + 1) + 1 + channel]);
  }

  Left nothing() {
    std::fill(left_.begin(), left_.end(), 0);
    return {};
  }
  void add(Left&, std::uint32_t i) { add_row(rows_[i], left_.data()); }
  void expect_cuts(std::int64_t) {}
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i)
      if (x[i] <= cut || (missing_too && x[i] != x[i])) add(left, static_cast<std::uint32_t>(i));
  }
  void add_bin(Left&, int bin) {
    for (std::int64_t c = 0; c < size_; ++c) left_[c] += cells_[bin * (size_ + 1) + c];
  }
  bool beats(const Left&, double bar) {
    const auto judged = judge_->judge(left_.data(), direction_);
    score_ = judged.children;
    return judged.is_admitted && score_ > bar;
  }
  double score(const Left&) const { return score_; }
  bool is_perfect(const Left&) const { return false; }
  bool left_is_heavier(const Left&) const { return left_[0] >= totals_[0] - left_[0]; }
  void keep(const Left&) { kept_ = left_; }
  void write(std::vector<std::int64_t>& left) const { left = kept_; }

 private:
  void add_row(Row row, std::int64_t* cell) const {
    if (channels_->target().classes) return target::AddLabels(*channels_)(cell, row);
    const std::int64_t* const values = channels_->values() + row * size_;
    for (std::int64_t c = 0; c < size_; ++c) cell[c] += values[c];
  }

  const target::Channels* channels_ = nullptr;
  const split::SplitLimits* limits_ = nullptr;
  std::int64_t size_ = 0;
  const Row* rows_ = nullptr;
  const std::int64_t* totals_ = nullptr;
  std::optional<split::SplitEvaluator<C>> judge_;
  std::vector<std::int64_t> left_, kept_, cells_;
  double score_ = 0.0;
  Bounds bounds_;
  double direction_ = 0.0;
};

}  // namespace weald::forest
