// What a tree learns from each row, as the user's doubles and as the integers histograms add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/memory.hpp"
#include "base/types.hpp"
#include "target/loss_at.hpp"
#include "target/packing.hpp"

namespace weald::target {

// A row counts `copies` times (whole-number weights are repetitions); `weight` and `sums` are what
// one copy adds to W and to S of the criteria.
struct Target {
  const double* weight = nullptr;         // null: 1 each, so that W counts copies
  const double* sums = nullptr;           // [n_channels][n_rows]; null when `classes` is given
  std::optional<LossAt> of_loss = {};     // or this, which has both weights and sums of one channel
  bool sums_per_weight = false;           // a row adds weight * sums: its target, not its gradient
  const std::int32_t* classes = nullptr;  // one-hot channels: [n_rows][n_labels] of each row
  int n_labels = 1;                       // classes a row has: one of each of so many outputs
  const std::int64_t* copies = nullptr;   // null: 1 each; 0: the row is not seen
  int n_channels = 1;
  std::uint64_t member = 0;  // names the draws of this tree, where an engine makes any
};

// How a histogram cell holds its sums. `packed`: gradient and hessian in one 64-bit word. `wide`: a
// 64-bit integer for W, for each S and, where asked for and not already told by W, for the copies.
// `ordered`: words as packed cells have them, but no cells; see ordered_search.hpp.
enum class Cells { automatic, packed, wide, ordered };

// A penalty and a node's bounds where sums are in units of 2^unit.
inline Penalty in_units(Penalty penalty, const Bounds& bounds, int unit) {
  penalty.l1 = scale_by_power(penalty.l1, -unit);
  penalty.bounds = {scale_by_power(bounds.lower, -unit), scale_by_power(bounds.upper, -unit)};
  return penalty;
}

class Channels {
 public:
  // Takes the rows of positive copies out of n_rows. Scales are powers of two set by the largest
  // absolute values and by sums of integers: the order of rows cannot matter. Wide: no sum can
  // reach 2^62, and a step is at most 2^(floor(log2(copies)) - 60) of the largest value. Packed
  // (one channel only): chosen where it keeps a step within 2^-8 of the root mean square of S and
  // of the mean of W; no sum of g can leave 32 bits, nor one of h.
  void prepare(const Target& target, std::int64_t n_rows, const Row* rows, std::int64_t n_seen,
               bool needs_count, Cells cells, int n_threads);
  // Another member learns from the same rows.
  void serve(std::uint64_t member) { target_.member = member; }

  bool is_packed() const { return is_packed_; }
  // A row teaches one number as it stands and counts once or not at all: see packing.hpp.
  bool is_plain() const { return is_plain_; }
  int cell_size() const { return cell_size_; }  // in 64-bit integers
  int n_channels() const { return target_.n_channels; }
  // The copies in a wide cell; W itself when every copy weighs 1. Negative: not tracked.
  int count_index() const { return count_index_; }
  bool has_weight() const {
    return target_.of_loss ? target_.of_loss->has_hessian : target_.weight != nullptr;
  }
  const std::int64_t* totals() const { return totals_.data(); }
  const Target& target() const { return target_; }

  // Wide cells. S is in units of 2^unit(), so that squares cannot overflow.
  double weight_of(const std::int64_t* cell) const {
    return static_cast<double>(cell[0]) * weight_step_;
  }
  double sum_of(const std::int64_t* cell, int channel) const {
    return static_cast<double>(cell[1 + channel]) * sum_step_;
  }
  int unit() const { return sum_exponent_; }
  // A penalty and a node's bounds in the units of wide sums.
  Penalty in_units(const Penalty& penalty, const Bounds& bounds) const {
    return target::in_units(penalty, bounds, sum_exponent_);
  }

  // Packed cells: what one step of h weighs, the binary logarithm of one step of g, and the most
  // steps of h that one copy has.
  double packed_weight_step() const { return weight_step_; }
  int packed_sum_exponent() const { return packed_sum_exponent_; }
  std::int64_t packed_most_weight() const { return packed_most_weight_; }

  // The channel that a direction is about: the only number, or the second of two classes.
  int directed() const { return n_channels() - 1; }

  // W and S of a channel in their own units, from a cell of either kind; packed cells have one.
  double true_weight(const std::int64_t* cell) const {
    return is_packed_ ? static_cast<double>(kernels::packed_h(*cell)) * weight_step_
                      : weight_of(cell);
  }
  double true_sum(const std::int64_t* cell, int channel = 0) const {
    if (is_packed_)
      return scale_by_power(static_cast<double>(kernels::packed_g(*cell)), packed_sum_exponent_);
    return scale_by_power(sum_of(cell, channel), sum_exponent_);
  }

  // W of one copy in the mean, in the units of weight_of.
  double mean_weight() const {
    const std::int64_t total = is_packed_ ? totals_[0] & 0xffffffff : totals_[0];
    return static_cast<double>(total) * weight_step_ / static_cast<double>(n_copies_);
  }

  // Copies among the rows.
  std::int64_t count(const Row* rows, std::int64_t n) const;

  // W and S from the doubles themselves: what is stored in the model (exact_sum.hpp). totals[0] is
  // W, totals[1 + k] is S of channel k. The second form adds consecutive rows, all of them seen, to
  // the totals of their leaves: [leaf][1 + n_channels].
  void add_exact(const Row* rows, std::int64_t n, Int128* totals) const;
  void add_exact(std::int64_t begin, std::int64_t end, const std::int32_t* leaf_of_row,
                 Int128* totals) const;
  // What a row of one number adds to it, where all weights are 1.
  Int128 exact_number(double number, std::int64_t copies) const {
    return static_cast<Int128>(exact_[0](number)) * copies;
  }
  double exact_weight(const Int128* totals) const { return to_double(totals[0], weight_shift_); }
  double exact_sum(const Int128* totals, int channel) const {
    return to_double(totals[1 + channel], target_.classes ? weight_shift_ : exact_[channel].shift);
  }

  // S of the rows of a leaf, whose exact totals are at hand, for its answer. A step of these is set
  // by the largest number of all rows; where those of a leaf are far smaller they are summed again,
  // in steps of their own.
  double leaf_sum(const Row* rows, std::int64_t n, const Int128* totals, int channel) const {
    return has_small_numbers_ ? leaf_sum_of_small(rows, n, totals, channel)
                              : exact_sum(totals, channel);
  }
  bool has_small_numbers() const { return has_small_numbers_; }

  // A row is small where its numbers are not all 0, but so small beside the largest of all rows
  // that few bits of their integers are left. A node of such rows, and of rows of 0, is searched
  // after its rows alone were prepared. A row whose sum is small because its weight is negligible
  // is not small: it stays negligible.
  bool has_small_rows() const { return has_small_rows_; }
  bool any_is_small(const Row* rows, std::int64_t n) const;
  bool are_small(const Row* rows, std::int64_t n) const;

  // The largest |S| of a row among some.
  double largest_sum(const Row* rows, std::int64_t n) const;
  // S of each channel over the rows, in units of 2^unit, which all of them are below.
  void add_in_units(const Row* rows, std::int64_t n, int unit, double* sums) const;

  // What a row wants of a channel, where targets are numbers; and how often it counts.
  double number(int channel, Row row) const { return target_.sums[channel * n_rows_ + row]; }
  std::int64_t copies_of(Row row) const { return target_.copies ? target_.copies[row] : 1; }

  // Are all rows the same to the criterion, so that no split can help?
  bool is_pure(const Row* rows, std::int64_t n) const;

  // The sums of wide integers of rows whose targets are numbers: a cell.
  void add_values(const Row* rows, std::int64_t n, std::int64_t* cell) const {
    std::fill_n(cell, cell_size_, 0);
    for (std::int64_t i = 0; i < n; ++i)
      for (int c = 0; c < cell_size_; ++c)
        cell[c] += values_[static_cast<std::size_t>(rows[i]) * cell_size_ + c];
  }

  // Wide, class targets: [rows] the weight. Wide, others: [rows][cell_size]. Packed: [rows] the
  // word. All times the copies.
  const std::int64_t* values() const { return values_.data(); }

 private:
  Extremes extremes(const Row* rows, std::int64_t n, int n_threads) const;
  std::optional<Rounding> pack_repeated(const Extremes& all, const Row* rows, std::int64_t n,
                                        bool must, int n_threads);
  void keep_gradients(int n_threads);
  void use_packed(const Rounding& rounding, const Extremes& all);
  void prepare_wide(const Extremes& all, const Row* rows, std::int64_t n, bool needs_count,
                    int n_threads);
  std::vector<FixedPoint> exact_scales(const Row* rows, std::int64_t n) const;
  void add_exact_row(Row row, Int128* totals) const;
  bool any_number_is_small(const Extremes& all, const Row* rows, std::int64_t n) const;
  double leaf_sum_of_small(const Row* rows, std::int64_t n, const Int128* totals,
                           int channel) const;
  double largest_sum_of_row(Row row) const {
    double largest = 0.0;
    for (int k = 0; k < target_.n_channels; ++k)
      largest = Extremes::larger(largest, sum_of_row(k, row));
    return largest;
  }
  bool is_small(double largest) const { return largest > 0.0 && largest < least_sum_; }
  bool is_negligible(Row row) const {
    return target_.weight && target_.weight[row] < least_weight_;
  }
  double sum_of_row(int channel, Row row) const {
    const double sum = target_.sums[channel * n_rows_ + row];
    return target_.sums_per_weight && target_.weight ? sum * target_.weight[row] : sum;
  }
  Pairs pairs() const {
    return {target_.sums, target_.weight, target_.copies, n_rows_,
            target_.of_loss ? &*target_.of_loss : nullptr};
  }
  void add_exact_pair(double g, double h, Int128* totals) const {
    totals[0] += has_weight() ? exact_weight_fixed_(h) : 1;
    totals[1] += exact_[0](g);
  }

  Target target_;
  std::int64_t n_rows_ = 0, n_copies_ = 1;
  bool is_packed_ = false, is_plain_ = false;
  bool has_small_numbers_ = false, has_small_rows_ = false;
  double least_sum_ = 0.0;     // rows of less are small
  double least_weight_ = 0.0;  // rows of less are negligible
  int cell_size_ = 2, count_index_ = -1;
  int weight_exponent_ = 0, sum_exponent_ = 0, packed_sum_exponent_ = 0;
  std::int64_t packed_most_weight_ = 1;
  double weight_step_ = 1.0, sum_step_ = 1.0;
  int weight_shift_ = 0;
  FixedPoint exact_weight_fixed_;
  std::vector<FixedPoint> exact_;  // [channel]
  Packing packing_;
  LargeVector<std::int64_t> values_;
  LargeVector<double> gradient_, hessian_;  // of a loss, where they are read row by row
  std::vector<std::int64_t> totals_;
};

}  // namespace weald::target
