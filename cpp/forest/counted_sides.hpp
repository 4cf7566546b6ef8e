// Base of the scans of class counts: both sides of a split.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "split/least_weight.hpp"
#include "split/splitting.hpp"
#include "target/channels.hpp"

namespace weald::forest {

// Class counts of the left side, and the impurity terms of both sides
// (criteria/count_impurities.hpp). Bins hold the weight and the count of each class.
template <class Impurity>
class CountedSides {
 public:
  struct Left {};  // the left side is a member

  int cell_width() const { return n_classes_; }
  bool is_empty(int bin) const { return cell(bin)[0] == 0; }
  double bin_weight(int bin) const { return cell(bin)[0]; }
  double bin_sum(int bin, int channel) const { return cell(bin)[1 + channel]; }

  Left empty_left() {
    std::fill(left_.begin(), left_.end(), 0);
    weight_ = left_terms_ = 0;
    right_terms_ = terms_;
    return {};
  }
  void add_bin(Left&, int bin) {
    const std::int32_t* const counts = cell(bin);
    weight_ += counts[0];
    for (int k = 0; k < n_classes_; ++k)
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

 protected:
  void start_sides(const target::Channels& channels, const split::SplitLimits& limits) {
    channels_ = &channels;
    n_classes_ = channels.n_channels();
    least_ = least_weight(channels, limits);
    left_.resize(static_cast<std::size_t>(n_classes_));
  }
  void load_sides(const std::int64_t* totals, std::int64_t n_outputs) {
    totals_ = totals;
    impurity_.load(totals_[0], n_classes_, n_outputs);
    terms_ = 0;
    for (int k = 0; k < n_classes_; ++k) terms_ += impurity_.term(totals_[1 + k]);
  }
  std::int32_t* clear_cells(int n_bins) {
    cells_.assign(static_cast<std::size_t>(n_bins + 1) * (n_classes_ + 1), 0);
    return cells_.data();
  }
  // Adds w copies of class k; callers add w to weight_, once for all outputs.
  void put(int k, std::int64_t w) {
    const std::int64_t before = left_[k], right = totals_[1 + k] - before;
    left_terms_ += impurity_.rise(before, w);
    right_terms_ -= impurity_.rise(right - w, w);
    left_[k] = before + w;
  }
  // Recomputes the terms after counts were added without them. Returns the sum of all counts on the
  // left.
  std::int64_t compute_terms() {
    std::int64_t all = 0, left_terms = 0, right_terms = 0;
    for (int k = 0; k < n_classes_; ++k) {
      const std::int64_t left = left_[k], right = totals_[1 + k] - left;
      all += left;
      left_terms += impurity_.term(left);
      right_terms += impurity_.term(right);
    }
    left_terms_ = left_terms;
    right_terms_ = right_terms;
    return all;
  }

  Impurity impurity_;
  const target::Channels* channels_ = nullptr;
  int n_classes_ = 0;  // of all outputs
  const std::int64_t* totals_ = nullptr;
  std::vector<std::int64_t> left_;
  std::int64_t weight_ = 0;

 private:
  const std::int32_t* cell(int bin) const {
    return cells_.data() + bin * static_cast<std::int64_t>(n_classes_ + 1);
  }

  double least_ = 1.0;
  std::vector<std::int32_t> cells_;  // [bin][weight, count of each class]
  std::vector<std::int64_t> kept_;
  std::int64_t terms_ = 0, left_terms_ = 0, right_terms_ = 0;
};

}  // namespace weald::forest
