#include "channels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "parallel.hpp"

namespace weald {
namespace {

constexpr std::int64_t block = 16384;

// Runs visit(row) over blocks of rows in parallel; merge(partial) is called once per block, under a
// lock: only for operations whose order cannot matter (integer sums, maxima).
template <class Partial, class Visit, class Merge>
void reduce_rows(const Row* rows, std::int64_t n, int n_threads, Partial start, Visit visit,
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

struct Extremes {
  double weight = 0.0, sum = 0.0;
  std::int64_t copies = 0;
};

}  // namespace

void Channels::prepare(const Target& target, std::int64_t n_rows, const Row* rows,
                       std::int64_t n_seen, bool needs_count, int n_threads) {
  target_ = target;
  n_rows_ = n_rows;
  const int n_channels = target.n_channels;

  Extremes all;
  reduce_rows(
      rows, n_seen, n_threads, Extremes{},
      [&](Extremes& part, Row row) {
        if (target.weight) part.weight = std::max(part.weight, std::abs(target.weight[row]));
        if (target.sums)
          for (int k = 0; k < n_channels; ++k)
            part.sum = std::max(part.sum, std::abs(sum_of_row(k, row)));
        part.copies += target.copies ? target.copies[row] : 1;
      },
      [&](const Extremes& part) {
        all.weight = std::max(all.weight, part.weight);
        all.sum = std::max(all.sum, part.sum);
        all.copies += part.copies;
      });

  const int bits = 62 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(all.copies)));
  const bool counts_copies = target.weight == nullptr;
  weight_exponent_ = counts_copies ? 0 : exponent_above(all.weight);
  sum_exponent_ = target.classes ? 0 : exponent_above(all.sum);
  const FixedPoint weight_fixed(weight_exponent_, counts_copies ? 0 : bits);
  const FixedPoint sum_fixed(sum_exponent_, bits);
  weight_step_ = scale_by_power(1.0, -weight_fixed.shift);
  sum_step_ = target.classes ? weight_step_ : power_of_two(-bits);
  exact_weight_fixed_ = FixedPoint(weight_exponent_, counts_copies ? 0 : exact_bits);
  exact_sum_fixed_ = FixedPoint(sum_exponent_, exact_bits);
  weight_shift_ = exact_weight_fixed_.shift;
  sum_shift_ = target.classes ? weight_shift_ : exact_sum_fixed_.shift;

  const bool own_count = needs_count && !counts_copies;
  cell_size_ = 1 + n_channels + (own_count ? 1 : 0);
  count_index_ = counts_copies ? 0 : (own_count ? 1 + n_channels : -1);
  totals_.assign(static_cast<std::size_t>(cell_size_), 0);
  values_.resize(static_cast<std::size_t>(n_rows * (target.classes ? 1 : cell_size_)));

  const auto write_row = [&](std::vector<std::int64_t>& part, Row row) {
    const std::int64_t copies = target.copies ? target.copies[row] : 1;
    const std::int64_t weight =
        copies * (counts_copies ? 1 : weight_fixed(target.weight[row]));
    part[0] += weight;
    if (own_count) part[1 + n_channels] += copies;
    if (target.classes) {
      values_[row] = weight;
      part[1 + target.classes[row]] += weight;
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
  reduce_rows(rows, n_seen, n_threads,
              std::vector<std::int64_t>(static_cast<std::size_t>(cell_size_), 0), write_row,
              [&](const std::vector<std::int64_t>& part) {
                for (int c = 0; c < cell_size_; ++c) totals_[c] += part[c];
              });
}

void Channels::exact_totals(const Row* rows, std::int64_t n, Int128* totals) const {
  std::fill(totals, totals + 1 + target_.n_channels, Int128{0});
  for (std::int64_t i = 0; i < n; ++i) {
    const Row row = rows[i];
    const std::int64_t copies = target_.copies ? target_.copies[row] : 1;
    const Int128 weight =
        target_.weight ? static_cast<Int128>(exact_weight_fixed_(target_.weight[row])) * copies
                       : copies;
    totals[0] += weight;
    if (target_.classes) {
      totals[1 + target_.classes[row]] += weight;
      continue;
    }
    for (int k = 0; k < target_.n_channels; ++k)
      totals[1 + k] += static_cast<Int128>(exact_sum_fixed_(sum_of_row(k, row))) * copies;
  }
}

bool Channels::is_pure(const Row* rows, std::int64_t n) const {
  for (std::int64_t i = 1; i < n; ++i) {
    if (target_.classes) {
      if (target_.classes[rows[i]] != target_.classes[rows[0]]) return false;
      continue;
    }
    for (int k = 0; k < target_.n_channels; ++k) {
      const double* sums = target_.sums + k * n_rows_;
      if (sums[rows[0]] != sums[rows[i]]) return false;
    }
  }
  return true;
}

}  // namespace weald
