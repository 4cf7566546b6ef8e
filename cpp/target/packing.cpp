#include "target/packing.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

#include "base/parallel.hpp"

namespace weald::target {
namespace {

constexpr std::int64_t near_rows = LossAt::near_rows;

int bits_of(std::int64_t x) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x)));
}

// g and h of consecutive rows; 0 for rows not in use.
struct Block {
  const double *g, *h;
  std::int64_t begin, size, copies;
};

Block block_of(const Pairs& rows, std::int64_t begin, std::int64_t size, NearPairs& near) {
  const double *g = near.g, *h = near.h;
  if (rows.of_loss) {
    rows.of_loss->write(begin, size, near.g, near.h);
    if (rows.counts_copies()) h = nullptr;
  } else {
    g = rows.g + begin;
    h = rows.h ? rows.h + begin : nullptr;
  }
  if (!rows.copies) return {g, h, begin, size, size};
  const std::int64_t* const copies = rows.copies + begin;
  for (std::int64_t i = 0; i < size; ++i) near.g[i] = times_0_or_1(g[i], copies[i]);
  for (std::int64_t i = 0; h && i < size; ++i) near.h[i] = times_0_or_1(h[i], copies[i]);
  for (std::int64_t i = 0; !h && i < size; ++i) near.h[i] = times_0_or_1(1.0, copies[i]);
  return {near.g, near.h, begin, size, std::accumulate(copies, copies + size, std::int64_t{0})};
}

// Run visit(partial, block) over short blocks in parallel, and merge(partial) under a lock; merging
// must be order-independent.
template <class Partial, class Visit, class Merge>
void for_blocks(const Pairs& rows, int n_threads, Visit visit, Merge merge) {
  std::mutex lock;
  const std::int64_t n = rows.n_rows, task_rows = rows_of_task(n, n_threads);
  parallel_for((n + task_rows - 1) / task_rows, n_threads, [&](std::int64_t task, int) {
    Partial partial{};
    NearPairs near;
    const std::int64_t end = std::min(n, (task + 1) * task_rows);
    for (std::int64_t at = task * task_rows; at < end; at += near_rows)
      visit(partial, block_of(rows, at, std::min(near_rows, end - at), near));
    const std::scoped_lock hold(lock);
    merge(partial);
  });
}

kernels::CoarseSums coarse_of(const Block& block, const Rounding& rounding) {
  const FixedPoint sum(rounding.sum_exponent, Coarse::bits);
  const FixedPoint weight(rounding.weight_exponent, Coarse::bits);
  return kernels::active().coarse_sums(block.g, block.h, block.size, sum.factors, weight.factors);
}

// So many rows need many bits for their sums; they may use the last one of each field, too. (Of few
// rows, single values are the reason if the bits do not suffice.)
constexpr std::int64_t many_copies = std::int64_t{1} << 20;

// Whether sums of values with so many bits stay below 2^field, although rounding may add half a
// step for each copy; `sum` is in coarse steps.
bool fits(std::int64_t sum, std::int64_t copies, int bits, int field) {
  const int shift = Coarse::bits - bits;
  const Int128 one = 1;
  return shift >= 0 && sum + (copies * (one << shift)) / 2 < (one << (field + shift));
}

std::int64_t pack_block(const Block& block, const Rounding& rounding, std::int64_t* words) {
  return kernels::active().pack_words(block.g, block.h, block.size, rounding.sum().factors,
                                      rounding.weight().factors, words + block.begin);
}

}  // namespace

std::optional<Rounding> rounding_for(const Extremes& all, const Coarse& coarse, int sum_exponent,
                                     int weight_exponent, bool counts_copies, bool must) {
  // Rounding moves each copy by at most half a step; with 2^30 copies that could overflow the
  // field.
  if (all.copies >= (std::int64_t{1} << 30)) return {};
  // The largest sum of either sign stays below 2^30, and rounding adds at most copies / 2 < 2^29.
  const std::int64_t larger = std::max(coarse.positive, coarse.negative) + all.copies;
  const int sum_bits = std::min(30, 30 - (bits_of(larger) - Coarse::bits));
  // Likewise for the hessians, which are never negative: below 2^31, plus rounding.
  const int weight_bits =
      counts_copies ? 0 : std::min(31, 31 - (bits_of(coarse.weight + all.copies) - Coarse::bits));
  // Steps in coarse units: one step is 2^(Coarse::bits - bits).
  const auto fine_enough = [&](Int128 mean_times_copies, int bits, int power) {
    const int spare = power * (bits - Coarse::bits - 8);  // mean >= 2^(8 - bits + Coarse::bits)
    const Int128 copies = all.copies;
    return spare >= 0 ? (mean_times_copies << std::min(spare, 40)) >= copies
                      : mean_times_copies >= (copies << std::min(-spare, 80));
  };
  const auto is_fine = [&](const Rounding& one) {
    return fine_enough(coarse.squares, one.sum_bits, 2) &&
           (counts_copies || fine_enough(coarse.weight, one.weight_bits, 1));
  };
  Rounding rounding{sum_exponent, weight_exponent, sum_bits, weight_bits};
  if (must || is_fine(rounding)) return rounding;
  if (all.copies < many_copies) return {};
  if (fits(larger, all.copies, sum_bits + 1, 31)) ++rounding.sum_bits;
  if (!counts_copies && fits(coarse.weight + all.copies, all.copies, weight_bits + 1, 32))
    ++rounding.weight_bits;
  if (is_fine(rounding)) return rounding;
  return {};
}

Extremes extremes_of(const Pairs& rows, int n_threads) {
  Extremes all;
  for_blocks<Extremes>(
      rows, n_threads,
      [&](Extremes& part, const Block& block) {
        Extremes here;
        bool is_negative;
        here.copies = block.copies;
        here.sum = kernels::active().largest(block.g, block.size, &is_negative);
        if (!rows.counts_copies())
          here.weight = kernels::active().largest(block.h, block.size, &here.has_negative_weight);
        part.take(here);
      },
      [&](const Extremes& part) { all.take(part); });
  return all;
}

Coarse coarse_of(const Pairs& rows, int sum_exponent, int weight_exponent, int n_threads) {
  Coarse coarse;
  for_blocks<Coarse>(
      rows, n_threads,
      [&](Coarse& part, const Block& block) {
        part.add(coarse_of(block, {sum_exponent, weight_exponent, 0, 0}));
      },
      [&](const Coarse& part) { coarse.add(part); });
  return coarse;
}

std::int64_t pack_pairs(const Pairs& rows, const Rounding& rounding, std::int64_t* words,
                        int n_threads) {
  std::int64_t total = 0;
  for_blocks<std::int64_t>(
      rows, n_threads,
      [&](std::int64_t& part, const Block& block) { part += pack_block(block, rounding, words); },
      [&](std::int64_t part) { total += part; });
  return total;
}

}  // namespace weald::target
