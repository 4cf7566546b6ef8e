// Classification with several outputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest/counted_sides.hpp"
#include "forest/scan.hpp"

namespace weald::forest {

// ClassScan for several outputs with integer weights: adds up the terms of all classes of all
// outputs. About 8 times as fast as CellScan in random forests of three outputs; no benchmark row
// has several outputs.
template <class Impurity>
class LabelScan : public CountedSides<Impurity> {
  using Sides = CountedSides<Impurity>;
  using Sides::channels_, Sides::left_, Sides::put, Sides::weight_;

 public:
  using typename Sides::Left;

  // Whether the rows are such, and sums of terms fit 62 bits.
  static bool fits(const tree::GrowingTree& growing_tree) {
    const target::Target& target = growing_tree.channels.target();
    return target.n_labels > 1 && !target.weight &&
           growing_tree.totals_of(0)[0] * target.n_labels < criteria::most_counted;
  }

  void start(const target::Channels& channels, const split::SplitLimits& limits, std::int64_t) {
    Sides::start_sides(channels, limits);
    n_labels_ = channels.target().n_labels;
  }
  void load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
    Sides::load_sides(totals, n_labels_);
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
    std::int32_t* const cells = Sides::clear_cells(n_bins);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int32_t* const cell = cells + code_of(i) * std::int64_t{Sides::n_classes_ + 1};
      cell[0] += copies_[i];
      for (std::int64_t j = 0; j < n_labels_; ++j)
        cell[1 + labels_[i * n_labels_ + j]] += copies_[i];
    }
  }
  void add(Left&, std::uint32_t i) {
    for (std::int64_t j = 0; j < n_labels_; ++j) put(labels_[i * n_labels_ + j], copies_[i]);
    weight_ += copies_[i];
  }
  void expect_cuts(std::int64_t) {}
  template <class T>
  void add_up_to(Left&, const T* x, std::int64_t n, T cut, bool missing_too) {
    for (std::int64_t i = 0; i < n; ++i) {
      const bool is_left = (x[i] <= cut) | (missing_too & (x[i] != x[i]));
      const std::int64_t w = copies_[i] & -static_cast<std::int32_t>(is_left);
      for (std::int64_t j = 0; j < n_labels_; ++j) left_[labels_[i * n_labels_ + j]] += w;
      weight_ += w;
    }
    Sides::compute_terms();
  }

 private:
  std::int64_t n_labels_ = 1;
  std::vector<std::int32_t> labels_, copies_;  // of the node's rows
};

}  // namespace weald::forest
