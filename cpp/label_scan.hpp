// Classes of several outputs at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest_scan.hpp"

namespace weald {

// ClassScan for rows that have a class of each of several outputs, where weights count copies: the
// terms of all classes of all outputs are added up.
template <class Impurity>
class LabelScan {
 public:
  struct Left {};  // the left side is kept here

  // Whether the tree's rows are such, and sums of terms fit 62 bits.
  static bool fits(const Sapling& sapling) {
    const Target& target = sapling.channels.target();
    return target.n_labels > 1 && !target.weight &&
           sapling.totals_of(0)[0] * target.n_labels < most_counted;
  }

  void start(const Channels& channels, const SplitLimits& limits, std::int64_t) {
    channels_ = &channels;
    n_channels_ = channels.n_channels();
    n_labels_ = channels.target().n_labels;
    least_ = least_weight(channels, limits);
    left_.resize(static_cast<std::size_t>(n_channels_));
  }
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
    totals_ = totals;
    impurity_.load(totals_[0], n_channels_, n_labels_);
    terms_ = 0;
    for (int k = 0; k < n_channels_; ++k) terms_ += impurity_.term(totals_[1 + k]);
    const auto size = static_cast<std::size_t>(n * n_labels_);
    if (labels_.size() < size) labels_.resize(size);
    if (copies_.size() < static_cast<std::size_t>(n)) copies_.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t* const of_row = channels_->target().classes + rows[i] * n_labels_;
      std::copy_n(of_row, n_labels_, labels_.data() + i * n_labels_);
      copies_[i] = static_cast<std::int32_t>(channels_->values()[rows[i]]);
    }
  }
  std::uint32_t payload(std::int64_t i) const { return static_cast<std::uint32_t>(i); }

  template <class CodeOf>
  void count(std::int64_t n, int n_bins, CodeOf code_of) {
    const std::int64_t stride = n_channels_ + 1;
    cells_.assign(static_cast<std::size_t>((n_bins + 1) * stride), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int32_t* const cell = cells_.data() + code_of(i) * stride;
      cell[0] += copies_[i];
      for (std::int64_t j = 0; j < n_labels_; ++j)
        cell[1 + labels_[i * n_labels_ + j]] += copies_[i];
    }
  }
  int cell_width() const { return n_channels_; }
  bool is_empty(int bin) const { return cell(bin)[0] == 0; }
  double bin_weight(int bin) const { return cell(bin)[0]; }
  double bin_sum(int bin, int k) const { return cell(bin)[1 + k]; }

  Left nothing() {
    std::fill(left_.begin(), left_.end(), 0);
    weight_ = left_terms_ = 0;
    right_terms_ = terms_;
    return {};
  }
  void add(Left&, std::uint32_t i) {
    for (std::int64_t j = 0; j < n_labels_; ++j) put(labels_[i * n_labels_ + j], copies_[i]);
    weight_ += copies_[i];
  }
  void add_if(Left&, std::uint32_t i, bool is_left) {
    const std::int64_t w = copies_[i] & -static_cast<std::int32_t>(is_left);
    for (std::int64_t j = 0; j < n_labels_; ++j) left_[labels_[i * n_labels_ + j]] += w;
    weight_ += w;
  }
  void finish(Left&) {
    left_terms_ = right_terms_ = 0;
    for (int k = 0; k < n_channels_; ++k) {
      const std::int64_t left = left_[k], right = totals_[1 + k] - left;
      left_terms_ += impurity_.term(left);
      right_terms_ += impurity_.term(right);
    }
  }
  void expect_cuts(std::int64_t) {}
  template <class T>
  void add_up_to(Left& left, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i)
      add_if(left, static_cast<std::uint32_t>(i), (x[i] <= cut) | (missing_too & (x[i] != x[i])));
    finish(left);
  }
  void add_bin(Left&, int bin) {
    const std::int32_t* const counts = cell(bin);
    weight_ += counts[0];
    for (int k = 0; k < n_channels_; ++k)
      if (counts[1 + k]) put(k, counts[1 + k]);
  }
  bool beats(const Left&, double bar) const {
    const auto wl = static_cast<double>(weight_), wr = static_cast<double>(totals_[0] - weight_);
    if (!(wl >= least_ && wr >= least_)) return false;
    return impurity_.beats(left_terms_, weight_, right_terms_, totals_[0] - weight_, bar);
  }
  double score(const Left&) const {
    return impurity_.score(left_terms_, weight_, right_terms_, totals_[0] - weight_);
  }
  bool is_perfect(const Left&) const {
    return impurity_.is_pure(left_terms_, weight_) &&
           impurity_.is_pure(right_terms_, totals_[0] - weight_);
  }
  bool left_is_heavier(const Left&) const { return weight_ >= totals_[0] - weight_; }
  void keep(const Left&) {
    kept_.assign({weight_});
    kept_.insert(kept_.end(), left_.begin(), left_.end());
  }
  void write(std::vector<std::int64_t>& left) const { left = kept_; }

 private:
  const std::int32_t* cell(int bin) const {
    return cells_.data() + bin * static_cast<std::int64_t>(n_channels_ + 1);
  }
  void put(int k, std::int64_t w) {
    const std::int64_t before = left_[k], right = totals_[1 + k] - before;
    left_terms_ += impurity_.rise(before, w);
    right_terms_ -= impurity_.rise(right - w, w);
    left_[k] = before + w;
  }

  Impurity impurity_;
  const Channels* channels_ = nullptr;
  int n_channels_ = 0;
  std::int64_t n_labels_ = 1;
  const std::int64_t* totals_ = nullptr;
  double least_ = 1.0;
  std::vector<std::int32_t> labels_, copies_;  // of the node's rows
  std::vector<std::int32_t> cells_;            // [bin] copies, and those of each class
  std::vector<std::int64_t> left_, kept_;
  std::int64_t terms_ = 0, weight_ = 0, left_terms_ = 0, right_terms_ = 0;
};

}  // namespace weald
