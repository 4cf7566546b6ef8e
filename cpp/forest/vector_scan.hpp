// Squared error of several outputs at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest/scan.hpp"

namespace weald::forest {

// PairScan for rows that have a number for each of several outputs: the squares of all are added
// up.
class VectorScan {
 public:
  struct Left {};  // the left side is kept here

  // Whether the tree's rows are such, and W and the sums are all that a split is judged by.
  static bool fits(const tree::GrowingTree& growing_tree) {
    const target::Channels& channels = growing_tree.channels;
    return !channels.target().classes && channels.cell_size() == 1 + channels.n_channels();
  }

  void start(const target::Channels& channels, const split::SplitLimits& limits, std::int64_t) {
    channels_ = &channels;
    size_ = channels.cell_size();
    least_ = least_weight(channels, limits);
    left_.resize(static_cast<std::size_t>(size_));
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
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(i); }

  // One integer more tells how many rows a bin has: weights may be too small to be seen.
  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    const std::int64_t stride = size_ + 1;
    cells_.assign(static_cast<std::size_t>((n_bins + 1) * stride), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t* const cell = cells_.data() + code_of(i) * stride;
      add_to(cell, rows_.data() + i * size_);
      ++cell[size_];
    }
  }
  int cell_width() const { return static_cast<int>(size_); }
  bool is_empty(int bin) const { return cells_[bin * (size_ + 1) + size_] == 0; }
  double bin_weight(int bin) const { return static_cast<double>(cells_[bin * (size_ + 1)]); }
  double bin_sum(int bin, int k) const {
    return static_cast<double>(cells_[bin * (size_ + 1) + 1 + k]);
  }

  Left nothing() {
    std::fill(left_.begin(), left_.end(), 0);
    return {};
  }
  void add(Left&, std::uint32_t i) { add_to(left_.data(), rows_.data() + i * size_); }
  void add_if(Left&, std::uint32_t i, bool is_left) {
    const std::int64_t mask = -static_cast<std::int64_t>(is_left);
    const std::int64_t* const sums = rows_.data() + i * size_;
    for (std::int64_t c = 0; c < size_; ++c) left_[c] += sums[c] & mask;
  }
  void expect_cuts(std::int64_t) {}
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i)
      add_if(left, static_cast<std::uint32_t>(i), (x[i] <= cut) | (missing_too & (x[i] != x[i])));
  }
  void add_bin(Left&, int bin) { add_to(left_.data(), cells_.data() + bin * (size_ + 1)); }

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
  bool is_perfect(const Left&) const { return false; }
  bool left_is_heavier(const Left&) const { return left_[0] >= total_weight_ - left_[0]; }
  void keep(const Left&) { kept_ = left_; }
  void write(std::vector<std::int64_t>& left) const { left = kept_; }

 private:
  void add_to(std::int64_t* cell, const std::int64_t* sums) const {
    for (std::int64_t c = 0; c < size_; ++c) cell[c] += sums[c];
  }
  // As in PairScan: no difference of large squares.
  double squares(double wl) const {
    double total = 0.0;
    for (std::int64_t c = 1; c < size_; ++c) {
      const double d = static_cast<double>(left_[c]) * total_[0] - total_[c] * wl;
      total += d * d;
    }
    return total;
  }

  const target::Channels* channels_ = nullptr;
  std::int64_t size_ = 2;
  std::int64_t total_weight_ = 0;
  double least_ = 1.0;
  std::vector<double> total_;  // of the node
  std::vector<std::int64_t> rows_, cells_, left_, kept_;
};

}  // namespace weald::forest
