#include "channels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "kernels/kernels.hpp"
#include "parallel.hpp"

namespace weald {
namespace {

constexpr std::int64_t block = 16384;

// Runs visit(partial, row) over blocks of rows in parallel; merge(partial) is called once per
// block, under a lock: only for operations whose order cannot matter (integer sums, maxima).
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

// The larger of two sizes; a NaN counts as larger than all numbers, so that it is found.
double larger(double size, double x) {
  const double other = std::abs(x);
  return other <= size ? size : other;
}

int bits_of(std::int64_t x) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x)));
}

// Bits of a first, coarse rounding of the values, whose sums tell how many bits each may have.
constexpr int coarse_bits = 20;

// Runs visit(begin, n) over short blocks of consecutive rows, in parallel, and merges its results.
template <class Visit, class Merge>
void reduce_blocks(std::int64_t n_rows, int n_threads, Visit visit, Merge merge) {
  constexpr std::int64_t short_block = 4096;
  std::mutex lock;
  parallel_for((n_rows + block - 1) / block, n_rows < 2 * block ? 1 : n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t end = std::min(n_rows, (task + 1) * block);
                 for (std::int64_t at = task * block; at < end; at += short_block) {
                   const auto part = visit(at, std::min(short_block, end - at));
                   const std::scoped_lock hold(lock);
                   merge(part);
                 }
               });
}

}  // namespace

void Channels::prepare(const Target& target, std::int64_t n_rows, const Row* rows,
                       std::int64_t n_seen, bool needs_count, Cells cells, int n_threads) {
  target_ = target;
  n_rows_ = n_rows;
  const Extremes all = extremes(rows, n_seen, n_threads);
  if (!std::isfinite(all.weight) || !std::isfinite(all.sum))
    throw std::invalid_argument("what a tree learns from must be finite numbers");
  if (all.has_negative_weight)
    throw std::invalid_argument("weights and hessians must not be negative");
  const bool counts_copies = target.weight == nullptr;
  weight_exponent_ = counts_copies ? 0 : exponent_above(all.weight);
  sum_exponent_ = target.classes ? 0 : exponent_above(all.sum);
  exact_weight_fixed_ = FixedPoint(weight_exponent_, counts_copies ? 0 : exact_bits);
  exact_sum_fixed_ = FixedPoint(sum_exponent_, exact_bits);
  weight_shift_ = exact_weight_fixed_.shift;
  sum_shift_ = target.classes ? weight_shift_ : exact_sum_fixed_.shift;
  is_packed_ =
      cells != Cells::wide && prepare_packed(all, rows, n_seen, cells == Cells::packed, n_threads);
  if (!is_packed_) prepare_wide(all, rows, n_seen, needs_count, n_threads);
}

Channels::Extremes Channels::extremes(const Row* rows, std::int64_t n, int n_threads) const {
  Extremes all;
  if (is_plain(n)) {
    all.copies = n;
    reduce_blocks(
        n, n_threads,
        [&](std::int64_t at, std::int64_t size) {
          Extremes part;
          bool is_negative;
          part.sum = kernels().largest(target_.sums + at, size, &is_negative);
          if (target_.weight)
            part.weight = kernels().largest(target_.weight + at, size, &part.has_negative_weight);
          return part;
        },
        [&](const Extremes& part) {
          all.weight = larger(all.weight, part.weight);
          all.sum = larger(all.sum, part.sum);
          all.has_negative_weight |= part.has_negative_weight;
        });
    return all;
  }
  reduce_rows(
      rows, n, n_threads, Extremes{},
      [&](Extremes& part, Row row) {
        if (target_.weight) {
          part.weight = larger(part.weight, target_.weight[row]);
          part.has_negative_weight |= target_.weight[row] < 0.0;
        }
        if (target_.sums)
          for (int k = 0; k < target_.n_channels; ++k)
            part.sum = larger(part.sum, sum_of_row(k, row));
        part.copies += copies_of(row);
      },
      [&](const Extremes& part) {
        all.weight = larger(all.weight, part.weight);
        all.sum = larger(all.sum, part.sum);
        all.copies += part.copies;
        all.has_negative_weight |= part.has_negative_weight;
      });
  return all;
}

// Fits the values into 32 bits each; false if that is too coarse and is not a must.
bool Channels::prepare_packed(const Extremes& all, const Row* rows, std::int64_t n, bool must,
                              int n_threads) {
  // A rounding moves each copy by at most half a step; with 2^30 copies that could fill the field.
  if (!target_.sums || target_.n_channels != 1 || all.copies >= (std::int64_t{1} << 30))
    return false;
  const bool counts_copies = target_.weight == nullptr;
  const FixedPoint coarse_sum(sum_exponent_, coarse_bits);
  const FixedPoint coarse_weight(weight_exponent_, coarse_bits);
  std::int64_t positive = 0, negative = 0, weight = 0;
  Int128 squares = 0;
  const auto merge = [&](const CoarseSums& part) {
    positive += part.positive;
    negative += part.negative;
    weight += part.weight;
    squares += part.squares;
  };
  if (is_plain(n)) {
    reduce_blocks(
        n, n_threads,
        [&](std::int64_t at, std::int64_t size) {
          return kernels().coarse_sums(target_.sums + at,
                                       counts_copies ? nullptr : target_.weight + at, size,
                                       coarse_sum.factors, coarse_weight.factors);
        },
        merge);
  } else {
    struct Part : CoarseSums {
      Int128 all_squares = 0;  // a row may have 2^30 copies
    };
    reduce_rows(
        rows, n, n_threads, Part{},
        [&](Part& part, Row row) {
          const std::int64_t copies = copies_of(row), g = coarse_sum(sum_of_row(0, row));
          (g < 0 ? part.negative : part.positive) += copies * (g < 0 ? -g : g);
          part.all_squares += static_cast<Int128>(g * g) * copies;
          if (!counts_copies) part.weight += copies * coarse_weight(target_.weight[row]);
        },
        [&](const Part& part) {
          merge(part);
          squares += part.all_squares;
        });
  }
  // The largest sum of either sign stays below 2^30, and rounding adds at most copies / 2 < 2^29.
  const std::int64_t larger = std::max(positive, negative) + all.copies;
  const int sum_bits = std::min(30, 30 - (bits_of(larger) - coarse_bits));
  // Likewise for the hessians, which are never negative: below 2^31, plus rounding.
  const int weight_bits =
      counts_copies ? 0 : std::min(31, 31 - (bits_of(weight + all.copies) - coarse_bits));
  // Steps in coarse units: one step is 2^(coarse_bits - bits).
  const auto fine_enough = [&](Int128 mean_times_copies, int bits, int power) {
    const int spare = power * (bits - coarse_bits - 8);  // mean >= 2^(8 - bits + coarse_bits)
    const Int128 copies = all.copies;
    return spare >= 0 ? (mean_times_copies << std::min(spare, 40)) >= copies
                      : mean_times_copies >= (copies << std::min(-spare, 80));
  };
  if (!must && (!fine_enough(squares, sum_bits, 2) ||
                (!counts_copies && !fine_enough(weight, weight_bits, 1))))
    return false;

  const FixedPoint sum_fixed(sum_exponent_, sum_bits), weight_fixed(weight_exponent_, weight_bits);
  packed_sum_exponent_ = -sum_fixed.shift;
  weight_step_ = counts_copies ? 1.0 : scale_by_power(1.0, -weight_fixed.shift);
  packed_most_weight_ = counts_copies ? 1 : weight_fixed(all.weight);
  cell_size_ = 1;
  count_index_ = -1;
  values_.resize(static_cast<std::size_t>(n_rows_));
  std::int64_t total = 0;
  const auto add = [&](std::int64_t part) { total += part; };
  if (is_plain(n)) {
    reduce_blocks(
        n, n_threads,
        [&](std::int64_t at, std::int64_t size) {
          return kernels().pack_words(target_.sums + at,
                                      counts_copies ? nullptr : target_.weight + at, size,
                                      sum_fixed.factors, weight_fixed.factors, values_.data() + at);
        },
        add);
  } else {
    reduce_rows(
        rows, n, n_threads, std::int64_t{0},
        [&](std::int64_t& part, Row row) {
          const std::int64_t h = counts_copies ? 1 : weight_fixed(target_.weight[row]);
          values_[row] = copies_of(row) * pack(sum_fixed(sum_of_row(0, row)), h);
          part += values_[row];
        },
        add);
  }
  totals_.assign(1, total);
  return true;
}

void Channels::prepare_wide(const Extremes& all, const Row* rows, std::int64_t n, bool needs_count,
                            int n_threads) {
  const int n_channels = target_.n_channels, bits = 62 - bits_of(all.copies);
  const bool counts_copies = target_.weight == nullptr, own_count = needs_count && !counts_copies;
  const FixedPoint weight_fixed(weight_exponent_, counts_copies ? 0 : bits);
  const FixedPoint sum_fixed(sum_exponent_, bits);
  weight_step_ = scale_by_power(1.0, -weight_fixed.shift);
  sum_step_ = target_.classes ? weight_step_ : power_of_two(-bits);
  cell_size_ = 1 + n_channels + (own_count ? 1 : 0);
  count_index_ = counts_copies ? 0 : (own_count ? 1 + n_channels : -1);
  totals_.assign(static_cast<std::size_t>(cell_size_), 0);
  values_.resize(static_cast<std::size_t>(n_rows_ * (target_.classes ? 1 : cell_size_)));

  const auto write_row = [&](std::vector<std::int64_t>& part, Row row) {
    const std::int64_t copies = copies_of(row);
    const std::int64_t weight = copies * (counts_copies ? 1 : weight_fixed(target_.weight[row]));
    part[0] += weight;
    if (own_count) part[1 + n_channels] += copies;
    if (target_.classes) {
      values_[row] = weight;
      part[1 + target_.classes[row]] += weight;
      return;
    }
    std::int64_t* const value = values_.data() + static_cast<std::int64_t>(row) * cell_size_;
    value[0] = weight;
    for (int k = 0; k < n_channels; ++k) {
      value[1 + k] = copies * sum_fixed(sum_of_row(k, row));
      part[1 + k] += value[1 + k];
    }
    if (own_count) value[1 + n_channels] = copies;
  };
  reduce_rows(rows, n, n_threads, std::vector<std::int64_t>(totals_.size(), 0), write_row,
              [&](const std::vector<std::int64_t>& part) {
                for (int c = 0; c < cell_size_; ++c) totals_[c] += part[c];
              });
}

std::int64_t Channels::count(const Row* rows, std::int64_t n) const {
  if (!target_.copies) return n;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += target_.copies[rows[i]];
  return total;
}

inline void Channels::add_exact_row(Row row, Int128* totals) const {
  const std::int64_t copies = copies_of(row);
  const Int128 weight = target_.weight
                            ? static_cast<Int128>(exact_weight_fixed_(target_.weight[row])) * copies
                            : copies;
  totals[0] += weight;
  if (target_.classes) {
    totals[1 + target_.classes[row]] += weight;
    return;
  }
  for (int k = 0; k < target_.n_channels; ++k)
    totals[1 + k] += static_cast<Int128>(exact_sum_fixed_(sum_of_row(k, row))) * copies;
}

void Channels::add_exact(const Row* rows, std::int64_t n, Int128* totals) const {
  for (std::int64_t i = 0; i < n; ++i) add_exact_row(rows[i], totals);
}

void Channels::add_exact(std::int64_t begin, std::int64_t end, const std::int32_t* leaf_of_row,
                         Int128* totals) const {
  if (is_plain(n_rows_)) {
    for (std::int64_t row = begin; row < end; ++row) {
      Int128* const leaf = totals + leaf_of_row[row] * std::int64_t{2};
      leaf[0] += target_.weight ? exact_weight_fixed_(target_.weight[row]) : 1;
      leaf[1] += exact_sum_fixed_(target_.sums[row]);
    }
    return;
  }
  const std::int64_t size = 1 + target_.n_channels;
  for (std::int64_t row = begin; row < end; ++row)
    add_exact_row(static_cast<Row>(row), totals + leaf_of_row[row] * size);
}

bool Channels::is_pure(const Row* rows, std::int64_t n) const {
  for (std::int64_t i = 1; i < n; ++i) {
    if (target_.classes) {
      if (target_.classes[rows[i]] != target_.classes[rows[0]]) return false;
      continue;
    }
    for (int k = 0; k < target_.n_channels; ++k) {
      const double* const sums = target_.sums + k * n_rows_;
      if (sums[rows[0]] != sums[rows[i]]) return false;
    }
  }
  return true;
}

}  // namespace weald
