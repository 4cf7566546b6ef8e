// The training target of each row, as the user's doubles and as the integers summed in histograms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/memory.hpp"
#include "base/types.hpp"
#include "target/half_words.hpp"
#include "target/loss_at.hpp"
#include "target/packing.hpp"

namespace weald::target {

// A row counts `copies` times (integer weights are repetitions); `weight` and `sums` are the
// contributions of one copy to W and S of the criteria.
struct Target {
  const double* weight = nullptr;  // null: 1 each, so that W counts copies
  const double* sums = nullptr;    // [n_channels][n_rows]; null when `classes` is given
  std::optional<LossAt> of_loss =
      {};  // alternatively: weights and sums of one channel, computed on demand
  bool sums_per_weight = false;           // a row adds weight * sums: its target, not its gradient
  const std::int32_t* classes = nullptr;  // one-hot channels: [n_rows][n_labels]
  int n_labels = 1;                       // class labels per row, one per output
  const std::int64_t* copies = nullptr;   // null: 1 each; 0: the row is not used
  // Rows from this one on are not used: the validation rows of a fit lie behind the others.
  std::int64_t n_used = std::numeric_limits<std::int64_t>::max();
  int n_channels = 1;
  std::uint64_t member = 0;  // base estimator index: selects the random stream of this tree

  bool uses(Row row) const { return row < n_used && (!copies || copies[row] > 0); }
};

// Layout of a histogram cell. `packed`: gradient and hessian in one 64-bit word, or two sums in
// each of several words (half_words.hpp). `wide`: one 64-bit integer for W, one for each S and, if
// needed and not implied by W, one for the copies. `blocks`: one for W and one for S, but rows have
// words as in packed cells; see split/word_blocks.hpp. `ordered`: the words of packed cells, but no
// histogram; see ordered_search.hpp.
enum class Cells { automatic, packed, blocks, wide, ordered };

// Penalty and bounds for sums in units of 2^unit.
inline Penalty in_units(Penalty penalty, const Bounds& bounds, int unit) {
  penalty.l1 = scale_by_power(penalty.l1, -unit);
  penalty.bounds = {scale_by_power(bounds.lower, -unit), scale_by_power(bounds.upper, -unit)};
  return penalty;
}

class Channels {
 public:
  // Use the rows of positive copies among n_rows. Scales are powers of two determined by maxima and
  // integer sums, so row order does not matter. Wide: no sum can reach 2^62, and a step is at most
  // 2^(floor(log2(copies)) - 60) of the largest value. Packed: chosen if a step is at most 2^-8 of
  // the root mean square of S (of all channels) and of the mean of W; every sum fits 32 bits.
  // Otherwise one channel is added up in blocks, if that holds for the sums of the rows of a block.
  void prepare(const Target& target, std::int64_t n_rows, const Row* rows, std::int64_t n_seen,
               bool needs_count, Cells cells, int n_threads);

  // The same in steps, for rows that lie in several parts (engine/part.hpp), whose answers to each
  // step are merged: `look` begins, the extremes of all rows set the scales, coarse sums (nothing
  // if cells cannot be packed) decide on the rounding, and the integers are written.
  Extremes look(const Target& target, std::int64_t n_rows, const Row* rows, std::int64_t n_seen,
                Cells cells, int n_threads);
  void set_scales(const Extremes& all, const Row* rows, std::int64_t n_seen);
  std::optional<Coarse> coarse_sums(const Row* rows, std::int64_t n_seen) const;
  std::optional<Rounding> rounding(const Extremes& all, const std::optional<Coarse>& coarse) const;
  void write(const Extremes& all, const std::optional<Rounding>& rounding, const Row* rows,
             std::int64_t n_seen, bool needs_count);
  void set_totals(const std::int64_t* totals) { totals_.assign(totals, totals + cell_size_); }

  // Reuse the prepared rows for another base estimator.
  void set_member(std::uint64_t member) { target_.member = member; }

  // Whether the integers of a row are g and h in one word; and whether their cells are packed, too.
  bool has_words() const { return has_words_; }
  bool has_packed_cells() const { return cell_size_ == 1; }
  // How many rows may be added to a packed cell; 0: all, as cells are packed, or none.
  std::int64_t rows_of_block() const { return rows_of_block_; }
  // Whether the cells of several channels are half words; a node's totals are wide also then.
  bool has_half_words() const { return has_half_words_; }
  // Each row has one unweighted number and occurs at most once: see packing.hpp.
  bool is_plain() const { return is_plain_; }
  // 64-bit integers of a node's totals, and of a cell of its histogram.
  int cell_size() const { return cell_size_; }
  int histogram_cell_size() const {
    return has_half_words_ ? words_of_sums(cell_size_) : cell_size_;
  }
  // The totals of a node from the sum of some cells.
  std::vector<std::int64_t> totals_of_cell(std::vector<std::int64_t> cell) const {
    if (!has_half_words_) return cell;
    std::vector<std::int64_t> sums(static_cast<std::size_t>(cell_size_));
    sums_of_words(cell.data(), cell_size_, sums.data());
    return sums;
  }
  int n_channels() const { return target_.n_channels; }
  // Index of the copies in a wide cell; that of W if every copy has weight 1. Negative: not
  // tracked.
  int count_index() const { return count_index_; }
  bool has_weight() const {
    return target_.of_loss ? target_.of_loss->has_hessian : target_.weight != nullptr;
  }
  const std::int64_t* totals() const { return totals_.data(); }
  const Target& target() const { return target_; }

  // Wide cells, and totals of several channels. S is in units of 2^unit(): squares cannot overflow.
  double weight_of(const std::int64_t* cell) const {
    return static_cast<double>(cell[0]) * weight_step_;
  }
  double sum_of(const std::int64_t* cell, int channel) const {
    return static_cast<double>(cell[1 + channel]) * sum_step_;
  }
  int unit() const { return sum_exponent_; }
  // Penalty and bounds in the units of wide sums.
  Penalty in_units(const Penalty& penalty, const Bounds& bounds) const {
    return target::in_units(penalty, bounds, sum_exponent_);
  }

  // Words: the weight of one step of h, the binary logarithm of one step of g, and the maximum
  // steps of h per copy.
  double packed_weight_step() const { return weight_step_; }
  // The same of half words, in the units of wide cells.
  double weight_step() const { return weight_step_; }
  double sum_step() const { return sum_step_; }
  int packed_sum_exponent() const { return packed_sum_exponent_; }
  std::int64_t packed_most_weight() const { return packed_most_weight_; }

  // The channel of monotonic constraints: the only target, or the second of two classes.
  int directed() const { return n_channels() - 1; }

  // The steps of W in a cell of any layout.
  std::int64_t heaviness(const std::int64_t* cell) const { return kernels::h_of(cell, cell_size_); }

  // W and S of a channel in their own units, from a cell of any layout; words have one channel.
  double true_weight(const std::int64_t* cell) const {
    return static_cast<double>(heaviness(cell)) * weight_step_;
  }
  double true_sum(const std::int64_t* cell, int channel = 0) const {
    if (has_words_)
      return scale_by_power(static_cast<double>(kernels::g_of(cell, cell_size_)),
                            packed_sum_exponent_);
    return scale_by_power(sum_of(cell, channel), sum_exponent_);
  }

  // Mean weight of one copy, in the units of weight_of.
  double mean_weight() const {
    return static_cast<double>(heaviness(totals_.data())) * weight_step_ /
           static_cast<double>(n_copies_);
  }

  // Number of copies among the rows.
  std::int64_t count(const Row* rows, std::int64_t n) const;

  // Exact W and S from the doubles themselves, as stored in the model (exact_sum.hpp). totals[0] is
  // W, totals[1 + k] is S of channel k. The second form adds consecutive rows, all in use, to the
  // totals of their leaves: [leaf][1 + n_channels].
  void add_exact(const Row* rows, std::int64_t n, Int128* totals) const;
  void add_exact(std::int64_t begin, std::int64_t end, const std::int32_t* leaf_of_row,
                 Int128* totals) const;
  // Contribution of a row with a single target to its exact sum, if all weights are 1.
  Int128 exact_number(double number, std::int64_t copies) const {
    return static_cast<Int128>(exact_[0](number)) * copies;
  }
  double exact_weight(const Int128* totals) const { return to_double(totals[0], weight_shift_); }
  double exact_sum(const Int128* totals, int channel) const {
    return to_double(totals[1 + channel], target_.classes ? weight_shift_ : exact_[channel].shift);
  }

  // S of the rows of a leaf for its value, given the exact totals. Their resolution is set by the
  // largest number of all rows; if those of the leaf are far smaller, they are summed again at
  // their own scale.
  double leaf_sum(const Row* rows, std::int64_t n, const Int128* totals, int channel) const {
    return has_small_numbers_ ? leaf_sum_of_small(rows, n, totals, channel)
                              : exact_sum(totals, channel);
  }
  bool has_small_numbers() const { return has_small_numbers_; }

  // A row is small if its numbers are non-zero but so small relative to the largest of all rows
  // that few bits of their integers remain. A node of only such rows and zeros is searched again
  // after its rows were rescaled. A row whose sum is small because its weight is negligible is not
  // small: it stays negligible.
  bool has_small_rows() const { return has_small_rows_; }
  bool any_is_small(const Row* rows, std::int64_t n) const;
  bool are_small(const Row* rows, std::int64_t n) const;

  // Maximum |S| among the rows.
  double largest_sum(const Row* rows, std::int64_t n) const;
  // S of each channel over the rows, in units of 2^unit, an upper bound of each value.
  void add_in_units(const Row* rows, std::int64_t n, int unit, double* sums) const;

  // Target of a row in a channel (regression), and the number of copies of a row.
  double number(int channel, Row row) const { return target_.sums[channel * n_rows_ + row]; }
  std::int64_t copies_of(Row row) const { return target_.copies ? target_.copies[row] : 1; }

  // Whether all rows have the same target, so that no split can gain.
  bool is_pure(const Row* rows, std::int64_t n) const;

  // Sum the wide integers of rows into a cell (regression targets).
  void add_values(const Row* rows, std::int64_t n, std::int64_t* cell) const {
    std::fill_n(cell, cell_size_, 0);
    for (std::int64_t i = 0; i < n; ++i)
      for (int c = 0; c < cell_size_; ++c)
        cell[c] += values_[static_cast<std::size_t>(rows[i]) * cell_size_ + c];
  }

  // Class targets: [rows] the weight. Words: [rows] the word. Half words:
  // [rows][histogram_cell_size()]. Others: [rows][cell_size]. All multiplied by the copies.
  const std::int64_t* values() const { return values_.data(); }

 private:
  Extremes extremes(const Row* rows, std::int64_t n, int n_threads) const;
  Extremes extremes_of_channels() const;
  Coarse coarse_of_repeated(const Row* rows, std::int64_t n, int channel) const;
  WordSums pack_repeated(const Rounding& rounding, const Row* rows, std::int64_t n);
  void keep_gradients(int n_threads);
  void use_words(const Rounding& rounding, const Extremes& all, const WordSums& totals);
  void use_several(const FixedPoint& weight_fixed, int sum_bits);
  void write_halves(const Rounding& rounding);
  void prepare_wide(const Extremes& all, const Row* rows, std::int64_t n);
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
    return {target_.sums, target_.weight, target_.copies, std::min(n_rows_, target_.n_used),
            target_.of_loss ? &*target_.of_loss : nullptr};
  }
  SeveralSums several() const {
    return {target_.sums,   n_rows_,        target_.n_channels,
            target_.weight, target_.copies, std::min(n_rows_, target_.n_used),
            own_count_};
  }
  void add_exact_pair(double g, double h, Int128* totals) const {
    totals[0] += has_weight() ? exact_weight_fixed_(h) : 1;
    totals[1] += exact_[0](g);
  }

  Target target_;
  Cells cells_ = Cells::automatic;
  int n_threads_ = 1;
  std::int64_t n_rows_ = 0, n_copies_ = 1;
  bool may_pack_ = false, has_words_ = false, is_plain_ = false, rows_occur_once_ = false;
  bool may_halve_ = false, has_half_words_ = false;
  bool own_count_ = false;  // a cell of several sums also has the copies
  bool has_small_numbers_ = false, has_small_rows_ = false;
  double least_sum_ = 0.0;     // rows below this are small
  double least_weight_ = 0.0;  // rows below this are negligible
  int cell_size_ = 2, count_index_ = -1;
  int weight_exponent_ = 0, sum_exponent_ = 0, packed_sum_exponent_ = 0;
  std::int64_t packed_most_weight_ = 1, rows_of_block_ = 0;
  double weight_step_ = 1.0, sum_step_ = 1.0;
  int weight_shift_ = 0;
  FixedPoint exact_weight_fixed_;
  std::vector<FixedPoint> exact_;  // [channel]
  LargeVector<std::int64_t> values_;
  LargeVector<double> gradient_, hessian_;  // of a loss, if rows are read individually
  std::vector<std::int64_t> totals_;
};

}  // namespace weald::target
