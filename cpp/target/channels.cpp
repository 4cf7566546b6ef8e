#include "target/channels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace weald::target {
namespace {

constexpr std::int64_t block = 16384;

// Numbers below 2^-30 of the largest keep less than half of their bits at its scale.
constexpr int small_bits = 30;

// Rows are also small if their integers have fewer bits than this: with many rows, integers are
// shorter.
constexpr int few_bits = 12;

// Bits per integer of a wide cell such that no sum over this many copies reaches 2^62.
int wide_bits(std::int64_t copies) {
  return 62 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(copies)));
}

// Run visit(partial, row) over blocks of rows in parallel; merge(partial) is called once per block
// under a lock, so it must be order-independent (integer sums, maxima).
template <class Partial, class Visit, class Merge>
void reduce_rows(const Row* rows, std::int64_t n, int n_threads, const Partial& start, Visit visit,
                 Merge merge) {
  std::mutex lock;
  parallel_for((n + block - 1) / block, n < 2 * block ? 1 : n_threads, [&](std::int64_t task, int) {
    Partial partial = start;
    const std::int64_t end = std::min(n, (task + 1) * block);
    for (std::int64_t i = task * block; i < end; ++i) visit(partial, rows[i]);
    const std::scoped_lock hold(lock);
    merge(partial);
  });
}

// Whether each row occurs at most once.
bool occur_once(const Target& target, std::int64_t n_rows) {
  return !target.copies || std::none_of(target.copies, target.copies + n_rows,
                                        [](std::int64_t copies) { return copies > 1; });
}

// Whether each row has one number; it must also occur at most once.
bool can_be_pairs(const Target& target) {
  return (target.sums || target.of_loss) && target.n_channels == 1 &&
         !(target.sums_per_weight && target.weight);
}

}  // namespace

void Channels::prepare(const Target& target, std::int64_t n_rows, const Row* rows,
                       std::int64_t n_seen, bool needs_count, Cells cells, int n_threads) {
  const Extremes all = look(target, n_rows, rows, n_seen, cells, n_threads);
  set_scales(all, rows, n_seen);
  write(all, rounding(all, coarse_sums(rows, n_seen)), rows, n_seen, needs_count);
}

Extremes Channels::look(const Target& target, std::int64_t n_rows, const Row* rows,
                        std::int64_t n_seen, Cells cells, int n_threads) {
  target_ = target;
  n_rows_ = n_rows;
  cells_ = cells;
  n_threads_ = n_threads;
  rows_occur_once_ = occur_once(target, std::min(n_rows, target.n_used));
  is_plain_ = rows_occur_once_ && can_be_pairs(target);
  may_pack_ = cells != Cells::wide && (target.sums || target.of_loss) && target.n_channels == 1;
  may_halve_ = cells != Cells::wide && target.sums && target.n_channels > 1 &&
               !target.sums_per_weight && fits_half_words(target.n_channels + 2);
  if (target.of_loss && !(may_pack_ && is_plain_)) keep_gradients(n_threads);
  if (may_pack_) values_.resize(static_cast<std::size_t>(n_rows));
  if (may_pack_ && is_plain()) return extremes_of(pairs(), n_threads);
  if (may_halve_ && rows_occur_once_) return extremes_of_channels();
  return extremes(rows, n_seen, n_threads);
}

Extremes Channels::extremes_of_channels() const {
  Extremes all;
  for (int k = 0; k < target_.n_channels; ++k) {
    const Extremes one = extremes_of(several().channel(k), n_threads_);
    all.take(one);
    all.copies = one.copies;
  }
  return all;
}

void Channels::set_scales(const Extremes& all, const Row* rows, std::int64_t n_seen) {
  if (!std::isfinite(all.weight) || !std::isfinite(all.sum))
    throw std::invalid_argument("targets, gradients, hessians and weights must be finite");
  n_copies_ = std::max<std::int64_t>(1, all.copies);
  if (all.has_negative_weight)
    throw std::invalid_argument("weights and hessians must not be negative");
  const bool counts_copies = !has_weight();
  weight_exponent_ = counts_copies ? 0 : exponent_above(all.weight);
  sum_exponent_ = target_.classes ? 0 : exponent_above(all.sum);
  exact_weight_fixed_ = FixedPoint(weight_exponent_, counts_copies ? 0 : exact_bits);
  weight_shift_ = exact_weight_fixed_.shift;
  if (!target_.classes) exact_ = exact_scales(rows, n_seen);
  has_small_numbers_ = any_number_is_small(all, rows, n_seen);
  has_small_rows_ = false;
}

std::optional<Coarse> Channels::coarse_sums(const Row* rows, std::int64_t n_seen) const {
  if (may_halve_) {
    CoarseOfSeveral all;
    for (int k = 0; k < target_.n_channels; ++k)
      all.add(rows_occur_once_
                  ? coarse_of(several().channel(k), sum_exponent_, weight_exponent_, n_threads_)
                  : coarse_of_repeated(rows, n_seen, k));
    return all.coarse();
  }
  if (!may_pack_) return {};
  if (is_plain()) return coarse_of(pairs(), sum_exponent_, weight_exponent_, n_threads_);
  return coarse_of_repeated(rows, n_seen, 0);
}

std::optional<Rounding> Channels::rounding(const Extremes& all,
                                           const std::optional<Coarse>& coarse) const {
  if (!coarse) return {};
  const Words words = cells_ == Cells::automatic ? Words::automatic
                      : cells_ == Cells::blocks  ? Words::for_blocks
                                                 : Words::for_packed_cells;
  const std::optional<Rounding> found =
      rounding_for(all, *coarse, sum_exponent_, weight_exponent_, !has_weight(), words);
  // Half words are not added up in blocks.
  return may_halve_ && found && found->rows_of_block > 0 ? std::nullopt : found;
}

void Channels::write(const Extremes& all, const std::optional<Rounding>& rounding, const Row* rows,
                     std::int64_t n_seen, bool needs_count) {
  own_count_ = needs_count && target_.weight != nullptr;
  has_words_ = rounding.has_value() && may_pack_;
  has_half_words_ = rounding.has_value() && may_halve_;
  if (has_half_words_) return write_halves(*rounding);
  if (has_words_)
    return use_words(*rounding, all,
                     is_plain() ? pack_pairs(pairs(), *rounding, values_.data(), n_threads_)
                                : pack_repeated(*rounding, rows, n_seen));
  if (target_.of_loss) keep_gradients(n_threads_);
  prepare_wide(all, rows, n_seen);
}

// Rows that are read individually and repeatedly need stored gradients.
void Channels::keep_gradients(int n_threads) {
  gradient_.resize(static_cast<std::size_t>(n_rows_));
  hessian_.resize(static_cast<std::size_t>(n_rows_));
  const LossAt& loss = *target_.of_loss;
  parallel_for((n_rows_ + block - 1) / block, n_rows_ < 2 * block ? 1 : n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t begin = task * block, n = std::min(block, n_rows_ - begin);
                 loss.write(begin, n, gradient_.data() + begin, hessian_.data() + begin);
               });
  target_.sums = gradient_.data();
  target_.weight = loss.has_hessian ? hessian_.data() : nullptr;
  target_.of_loss.reset();
}

Extremes Channels::extremes(const Row* rows, std::int64_t n, int n_threads) const {
  Extremes all;
  reduce_rows(
      rows, n, n_threads, Extremes{},
      [&](Extremes& part, Row row) {
        if (target_.weight) {
          part.weight = Extremes::larger(part.weight, target_.weight[row]);
          part.has_negative_weight |= target_.weight[row] < 0.0;
        }
        if (target_.sums) {
          const double largest = largest_sum_of_row(row);
          part.sum = Extremes::larger(part.sum, largest);
          if (largest > 0.0) part.least = std::min(part.least, largest);
        }
        part.copies += copies_of(row);
        part.most_copies = std::max(part.most_copies, copies_of(row));
      },
      [&](const Extremes& part) { all.take(part); });
  return all;
}

// Each target has its own unit, so that small ones are not lost beside large ones. Gradients share
// one.
std::vector<FixedPoint> Channels::exact_scales(const Row* rows, std::int64_t n) const {
  const auto n_channels = static_cast<std::size_t>(target_.n_channels);
  std::vector<FixedPoint> scales(n_channels, FixedPoint(sum_exponent_, exact_bits));
  if (n_channels == 1 || !target_.sums_per_weight) return scales;
  for (int k = 0; k < target_.n_channels; ++k) {
    double largest = 0.0;
    for (std::int64_t i = 0; i < n; ++i)
      largest = Extremes::larger(largest, sum_of_row(k, rows[i]));
    scales[k] = FixedPoint(exponent_above(largest), exact_bits);
  }
  return scales;
}

// Rows of several copies: their words are multiplied.
Coarse Channels::coarse_of_repeated(const Row* rows, std::int64_t n, int channel) const {
  const FixedPoint coarse_sum(sum_exponent_, Coarse::bits);
  const FixedPoint coarse_weight(weight_exponent_, Coarse::bits);
  Coarse coarse;
  reduce_rows(
      rows, n, n_threads_, Coarse{},
      [&](Coarse& part, Row row) {
        const std::int64_t copies = copies_of(row), g = coarse_sum(sum_of_row(channel, row));
        (g < 0 ? part.negative : part.positive) += copies * (g < 0 ? -g : g);
        part.squares += static_cast<Int128>(g * g) * copies;
        if (target_.weight) part.weight += copies * coarse_weight(target_.weight[row]);
      },
      [&](const Coarse& part) { coarse.add(part); });
  return coarse;
}

WordSums Channels::pack_repeated(const Rounding& rounding, const Row* rows, std::int64_t n) {
  const FixedPoint sum_fixed = rounding.sum(), weight_fixed = rounding.weight();
  WordSums total;
  reduce_rows(
      rows, n, n_threads_, WordSums{},
      [&](WordSums& part, Row row) {
        const std::int64_t h = target_.weight ? weight_fixed(target_.weight[row]) : 1;
        values_[row] = copies_of(row) * kernels::pack(sum_fixed(sum_of_row(0, row)), h);
        part.add({kernels::packed_g(values_[row]), kernels::packed_h(values_[row])});
      },
      [&](const WordSums& part) { total.add(part); });
  return total;
}

void Channels::use_words(const Rounding& rounding, const Extremes& all, const WordSums& totals) {
  rows_of_block_ = rounding.rows_of_block;
  cell_size_ = rows_of_block_ > 0 ? 2 : 1;
  if (cell_size_ == 1)
    totals_.assign(1, kernels::pack(totals.g, totals.h));
  else
    totals_ = {totals.h, totals.g};
  const bool counts_copies = !has_weight();
  packed_sum_exponent_ = -rounding.sum().shift;
  weight_step_ = counts_copies ? 1.0 : scale_by_power(1.0, -rounding.weight().shift);
  packed_most_weight_ = counts_copies ? 1 : rounding.weight()(all.weight);
  count_index_ = -1;
}

// Cells of a sum for each channel, whose integers have so many bits.
void Channels::use_several(const FixedPoint& weight_fixed, int sum_bits) {
  rows_of_block_ = 0;
  const int n_channels = target_.n_channels;
  weight_step_ = scale_by_power(1.0, -weight_fixed.shift);
  sum_step_ = target_.classes ? weight_step_ : power_of_two(-sum_bits);
  cell_size_ = 1 + n_channels + (own_count_ ? 1 : 0);
  count_index_ = target_.weight == nullptr ? 0 : (own_count_ ? 1 + n_channels : -1);
  totals_.assign(static_cast<std::size_t>(cell_size_), 0);
}

void Channels::write_halves(const Rounding& rounding) {
  use_several(has_weight() ? rounding.weight() : FixedPoint(0, 0), rounding.sum_bits);
  const SeveralSums rows = several();
  values_.resize(static_cast<std::size_t>(n_rows_ * rows.n_words()));
  std::vector<std::int64_t> words(static_cast<std::size_t>(rows.n_words()));
  write_half_words(rows, rounding, values_.data(), words.data(), n_threads_);
  sums_of_words(words.data(), cell_size_, totals_.data());
}

void Channels::prepare_wide(const Extremes& all, const Row* rows, std::int64_t n) {
  const int n_channels = target_.n_channels, bits = wide_bits(all.copies);
  const bool counts_copies = target_.weight == nullptr, own_count = own_count_;
  const FixedPoint weight_fixed(weight_exponent_, counts_copies ? 0 : bits);
  const FixedPoint sum_fixed(sum_exponent_, bits);
  use_several(weight_fixed, bits);
  values_.resize(static_cast<std::size_t>(n_rows_ * (target_.classes ? 1 : cell_size_)));

  const auto write_row = [&](std::vector<std::int64_t>& part, Row row) {
    const std::int64_t copies = copies_of(row);
    const std::int64_t weight = copies * (counts_copies ? 1 : weight_fixed(target_.weight[row]));
    part[0] += weight;
    if (own_count) part[1 + n_channels] += copies;
    if (target_.classes) {
      values_[row] = weight;
      const std::int32_t* const classes = target_.classes + row * std::int64_t{target_.n_labels};
      for (int j = 0; j < target_.n_labels; ++j) part[1 + classes[j]] += weight;
      return;
    }
    std::int64_t* const value = values_.data() + static_cast<std::int64_t>(row) * cell_size_;
    value[0] = weight;
    for (int k = 0; k < n_channels; ++k) {
      const double sum = sum_of_row(k, row);
      const std::int64_t fixed = sum_fixed(sum);
      // A positive number must not round to 0: some criteria require positive sums.
      value[1 + k] = copies * (fixed == 0 && sum > 0.0 ? 1 : fixed);
      part[1 + k] += value[1 + k];
    }
    if (own_count) value[1 + n_channels] = copies;
  };
  reduce_rows(rows, n, n_threads_, std::vector<std::int64_t>(totals_.size(), 0), write_row,
              [&](const std::vector<std::int64_t>& part) {
                for (int c = 0; c < cell_size_; ++c) totals_[c] += part[c];
              });
  least_sum_ = scale_by_power(1.0, sum_exponent_ - std::min(small_bits, bits - few_bits));
  least_weight_ = scale_by_power(1.0, weight_exponent_ - small_bits);
  has_small_rows_ = target_.sums_per_weight && is_small(all.least);
}

std::int64_t Channels::count(const Row* rows, std::int64_t n) const {
  if (rows_occur_once_) return n;  // rows without copies are in no node
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += target_.copies[rows[i]];
  return total;
}

inline void Channels::add_exact_row(Row row, Int128* totals) const {
  if (rows_occur_once_ && target_.sums && !target_.sums_per_weight) {  // no products of 128 bits
    totals[0] += target_.weight ? exact_weight_fixed_(target_.weight[row]) : 1;
    const double* const sums = target_.sums + row;
    for (int k = 0; k < target_.n_channels; ++k) totals[1 + k] += exact_[k](sums[k * n_rows_]);
    return;
  }
  const std::int64_t copies = copies_of(row);
  const Int128 weight = target_.weight
                            ? static_cast<Int128>(exact_weight_fixed_(target_.weight[row])) * copies
                            : copies;
  totals[0] += weight;
  if (target_.classes) {
    const std::int32_t* const classes = target_.classes + row * std::int64_t{target_.n_labels};
    for (int j = 0; j < target_.n_labels; ++j) totals[1 + classes[j]] += weight;
    return;
  }
  for (int k = 0; k < target_.n_channels; ++k)
    totals[1 + k] += static_cast<Int128>(exact_[k](sum_of_row(k, row))) * copies;
}

void Channels::add_exact(const Row* rows, std::int64_t n, Int128* totals) const {
  if (!target_.of_loss && is_plain()) {
    for (std::int64_t i = 0; i < n; ++i)
      add_exact_pair(target_.sums[rows[i]], target_.weight ? target_.weight[rows[i]] : 1.0, totals);
    return;
  }
  if (!target_.of_loss) {
    for (std::int64_t i = 0; i < n; ++i) add_exact_row(rows[i], totals);
    return;
  }
  NearPairs near;
  for (std::int64_t at = 0; at < n; at += LossAt::near_rows) {
    const std::int64_t size = std::min(LossAt::near_rows, n - at);
    target_.of_loss->write(rows + at, size, near.g, near.h);
    for (std::int64_t i = 0; i < size; ++i) add_exact_pair(near.g[i], near.h[i], totals);
  }
}

void Channels::add_exact(std::int64_t begin, std::int64_t end, const std::int32_t* leaf_of_row,
                         Int128* totals) const {
  if (target_.of_loss) {
    NearPairs near;
    for (std::int64_t at = begin; at < end; at += LossAt::near_rows) {
      const std::int64_t size = std::min(LossAt::near_rows, end - at);
      target_.of_loss->write(at, size, near.g, near.h);
      for (std::int64_t i = 0; i < size; ++i)
        add_exact_pair(near.g[i], near.h[i], totals + leaf_of_row[at + i] * std::int64_t{2});
    }
    return;
  }
  if (is_plain() && !target_.copies) {
    const FixedPoint sum = exact_[0];
    for (std::int64_t row = begin; row < end; ++row) {
      Int128* const leaf = totals + leaf_of_row[row] * std::int64_t{2};
      leaf[0] += target_.weight ? exact_weight_fixed_(target_.weight[row]) : 1;
      leaf[1] += sum(target_.sums[row]);
    }
    return;
  }
  const std::int64_t size = 1 + target_.n_channels;
  for (std::int64_t row = begin; row < end; ++row)
    add_exact_row(static_cast<Row>(row), totals + leaf_of_row[row] * size);
}

bool Channels::any_number_is_small(const Extremes& all, const Row* rows, std::int64_t n) const {
  if (!target_.sums || !target_.sums_per_weight) return false;
  if (target_.n_channels == 1) return all.least < scale_by_power(1.0, sum_exponent_ - small_bits);
  for (int k = 0; k < target_.n_channels; ++k) {
    const double least = scale_by_power(1.0, exact_bits - exact_[k].shift - small_bits);
    bool found = false;
    for (std::int64_t i = 0; i < n; ++i) {
      const double sum = std::abs(sum_of_row(k, rows[i]));
      found |= sum != 0.0 && sum < least;
    }
    if (found) return true;
  }
  return false;
}

bool Channels::any_is_small(const Row* rows, std::int64_t n) const {
  return std::any_of(rows, rows + n, [this](Row row) {
    return !is_negligible(row) && is_small(largest_sum_of_row(row));
  });
}

bool Channels::are_small(const Row* rows, std::int64_t n) const {
  bool any = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const double largest = largest_sum_of_row(rows[i]);
    if (largest >= least_sum_ || is_negligible(rows[i])) return false;
    any |= largest > 0.0;
  }
  return any;
}

double Channels::largest_sum(const Row* rows, std::int64_t n) const {
  double largest = 0.0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, largest_sum_of_row(rows[i]));
  return largest;
}

void Channels::add_in_units(const Row* rows, std::int64_t n, int unit, double* sums) const {
  const FixedPoint fixed(unit, exact_bits);
  for (int k = 0; k < target_.n_channels; ++k) {
    Int128 total = 0;
    for (std::int64_t i = 0; i < n; ++i)
      total += static_cast<Int128>(fixed(sum_of_row(k, rows[i]))) * copies_of(rows[i]);
    sums[k] = to_double(total, exact_bits);
  }
}

double Channels::leaf_sum_of_small(const Row* rows, std::int64_t n, const Int128* totals,
                                   int channel) const {
  if (totals[0] == 0) return exact_sum(totals, channel);  // a mean of negligible rows
  double largest = 0.0;
  for (std::int64_t i = 0; i < n; ++i)
    largest = Extremes::larger(largest, sum_of_row(channel, rows[i]));
  const int exponent = exponent_above(largest);
  if (exponent > exact_bits - exact_[channel].shift - small_bits) return exact_sum(totals, channel);
  const FixedPoint fixed(exponent, exact_bits);
  Int128 total = 0;
  for (std::int64_t i = 0; i < n; ++i)
    total += static_cast<Int128>(fixed(sum_of_row(channel, rows[i]))) * copies_of(rows[i]);
  return to_double(total, fixed.shift);
}

bool Channels::is_pure(const Row* rows, std::int64_t n) const {
  if (target_.of_loss) {
    NearPairs near;
    target_.of_loss->write(rows, std::min<std::int64_t>(n, 1), near.g, near.h);
    const double first = near.g[0];
    for (std::int64_t at = 0; at < n; at += LossAt::near_rows) {
      const std::int64_t size = std::min(LossAt::near_rows, n - at);
      target_.of_loss->write(rows + at, size, near.g, near.h);
      if (std::any_of(near.g, near.g + size, [&](double g) { return g != first; })) return false;
    }
    return true;
  }
  for (std::int64_t i = 1; i < n; ++i) {
    if (target_.classes) {
      const std::int64_t n_labels = target_.n_labels;
      const std::int32_t* const first = target_.classes + rows[0] * n_labels;
      if (!std::equal(first, first + n_labels, target_.classes + rows[i] * n_labels)) return false;
      continue;
    }
    for (int k = 0; k < target_.n_channels; ++k) {
      const double* const sums = target_.sums + k * n_rows_;
      if (sums[rows[0]] != sums[rows[i]]) return false;
    }
  }
  return true;
}

}  // namespace weald::target
