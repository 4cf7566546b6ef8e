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

// Copies in a block, as a power of two. The fewer they are, the more bits are left for values of
// heavy tails, and the more often blocks are emptied: of the most, on 10,000,000 x 28, that takes
// 0.02 of the time of adding rows.
constexpr int most_block_bits = 15, least_block_bits = 12;

// The most bits for which the sums of fewer than 2^block_bits copies fit their 32 bits: g is at
// most 2^sum_bits in size, h 2^weight_bits.
Rounding for_blocks_of(int block_bits, const Extremes& all, Rounding rounding, bool counts_copies) {
  rounding.sum_bits = 31 - block_bits;
  rounding.weight_bits = counts_copies ? 0 : 32 - block_bits;
  rounding.rows_of_block = ((std::int64_t{1} << block_bits) - 1) / all.most_copies;
  return rounding;
}

// The sums of the rows of a short block fit a packed cell with any rounding.
WordSums pack_block(const Block& block, const Rounding& rounding, std::int64_t* words) {
  const std::int64_t sum =
      kernels::active().pack_words(block.g, block.h, block.size, rounding.sum().factors,
                                   rounding.weight().factors, words + block.begin);
  return {kernels::packed_g(sum), kernels::packed_h(sum)};
}
static_assert(near_rows < (1 << least_block_bits));

}  // namespace

std::optional<Rounding> rounding_for(const Extremes& all, const Coarse& coarse, int sum_exponent,
                                     int weight_exponent, bool counts_copies, Words words) {
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
  const Rounding packed{sum_exponent, weight_exponent, sum_bits, weight_bits};
  if (words == Words::for_packed_cells) return packed;
  if (words == Words::automatic && is_fine(packed)) return packed;
  for (int block_bits = most_block_bits; block_bits >= least_block_bits; --block_bits) {
    const Rounding blocks = for_blocks_of(block_bits, all, packed, counts_copies);
    if (blocks.rows_of_block > 0 && (words == Words::for_blocks || is_fine(blocks))) return blocks;
  }
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

WordSums pack_pairs(const Pairs& rows, const Rounding& rounding, std::int64_t* words,
                    int n_threads) {
  WordSums total;
  for_blocks<WordSums>(
      rows, n_threads,
      [&](WordSums& part, const Block& block) { part.add(pack_block(block, rounding, words)); },
      [&](const WordSums& part) { total.add(part); });
  return total;
}

}  // namespace weald::target
