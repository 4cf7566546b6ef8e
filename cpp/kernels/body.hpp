// The kernels' one source. Each instruction set includes it inside a namespace of its own.
//
// Vectors are the compiler's (eight 64-bit lanes, split where the machine's are narrower): the same
// operations in the same order on every instruction set, so the same bits.

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace weald::WEALD_KERNELS {
namespace {

typedef double Doubles __attribute__((vector_size(64)));
typedef std::int64_t Integers __attribute__((vector_size(64)));

// Exact for |x| < 2^51, and made of one addition and one subtraction on every machine.
inline Doubles to_doubles(Integers x) {
  constexpr double shift = 0x1.8p52;
  return reinterpret_cast<Doubles>(x + std::bit_cast<std::int64_t>(shift)) - shift;
}

// How many of sixteen rising numbers are below x.
[[gnu::always_inline]] inline int count_below(const float* sixteen, float x) {
#ifdef __AVX512F__
  return std::popcount(
      static_cast<unsigned>(_mm512_cmp_ps_mask(_mm512_load_ps(sixteen), _mm512_set1_ps(x), _CMP_LT_OQ)));
#else
  int count = 0;
  for (int i = 0; i < 16; ++i) count += sixteen[i] < x;
  return count;
#endif
}
[[gnu::always_inline]] inline int count_below(const double* sixteen, double x) {
#ifdef __AVX512F__
  const __m512d value = _mm512_set1_pd(x);
  const unsigned low = _mm512_cmp_pd_mask(_mm512_load_pd(sixteen), value, _CMP_LT_OQ);
  const unsigned high = _mm512_cmp_pd_mask(_mm512_load_pd(sixteen + 8), value, _CMP_LT_OQ);
  return std::popcount(low | (high << 8));
#else
  int count = 0;
  for (int i = 0; i < 16; ++i) count += sixteen[i] < x;
  return count;
#endif
}

template <class T>
void encode(const T* x, std::int64_t n, const PaddedCuts<T>& cuts, Code* out, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i) {
    const int sixteen = count_below(cuts.pivots, x[i]);
    const int code = 1 + 16 * sixteen + count_below(cuts.values + 16 * sixteen, x[i]);
    out[i * stride] = x[i] == x[i] ? static_cast<Code>(code) : Code{0};
  }
}

void gradients(std::string_view loss, const Scored& rows, Range range, double* gradient,
               double* hessian) {
  AllLosses::with_name(loss, [&](auto one) { one.gradients(rows, range, gradient, hessian); });
}

// Round to nearest even, exact for |x| < 2^51: the low bits of a double whose spacing is 1.
[[gnu::always_inline]] inline double rounded(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
[[gnu::always_inline]] inline std::int64_t rounded_integer(double x) {
  return std::bit_cast<std::int64_t>(x + 0x1.8p52) - std::bit_cast<std::int64_t>(0x1.8p52);
}

double largest(const double* x, std::int64_t n) {
  // Non-negative doubles order as integers do, and NaN is above infinity: it is not lost.
  std::int64_t top = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t bits = std::bit_cast<std::int64_t>(x[i]) & 0x7fffffffffffffff;
    top = bits > top ? bits : top;
  }
  return std::bit_cast<double>(top);
}

// Sums of whole numbers below 2^53, kept in doubles: exact, so their order does not matter and the
// eight running sums of a vector are as good as one.
CoarseSums coarse_sums(const double* g, const double* h, std::int64_t n, const double* scale_g,
                       const double* scale_h) {
  constexpr int width = 8;
  double all[width] = {}, size[width] = {}, squares[width] = {}, weight[width] = {};
  const auto add = [&](std::int64_t i, int lane) {
    const double x = rounded(g[i] * scale_g[0] * scale_g[1]);
    all[lane] += x;
    size[lane] += x < 0.0 ? -x : x;
    squares[lane] += x * x;
    if (h) weight[lane] += rounded(h[i] * scale_h[0] * scale_h[1]);
  };
  std::int64_t i = 0;
  for (; i + width <= n; i += width)
    for (int lane = 0; lane < width; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, 0);
  double sums[4] = {};
  for (int lane = 0; lane < width; ++lane) {
    sums[0] += all[lane];
    sums[1] += size[lane];
    sums[2] += squares[lane];
    sums[3] += weight[lane];
  }
  const auto total = static_cast<std::int64_t>(sums[0]), absolute = static_cast<std::int64_t>(sums[1]);
  return {(absolute + total) / 2, (absolute - total) / 2, static_cast<std::int64_t>(sums[2]),
          static_cast<std::int64_t>(sums[3])};
}

std::int64_t pack_words(const double* g, const double* h, std::int64_t n, const double* scale_g,
                        const double* scale_h, std::int64_t* words) {
  const double g0 = scale_g[0], g1 = scale_g[1];
  std::int64_t total = 0;
  if (h) {
    const double h0 = scale_h[0], h1 = scale_h[1];
    for (std::int64_t i = 0; i < n; ++i) {
      words[i] = (rounded_integer(g[i] * g0 * g1) << 32) + rounded_integer(h[i] * h0 * h1);
      total += words[i];
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      words[i] = (rounded_integer(g[i] * g0 * g1) << 32) + 1;
      total += words[i];
    }
  }
  return total;
}

constexpr std::int64_t row_block = 512;  // rows whose codes and words stay near while groups change

template <int n_lanes>
inline void add_group(const Code* group, std::int64_t stride, const Row* rows, std::int64_t begin,
                      const std::int64_t* words, std::int64_t n, std::int64_t* cells) {
  char* const base = reinterpret_cast<char*>(cells);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows ? static_cast<std::int64_t>(rows[i]) : begin + i;
    std::uint64_t codes;
    std::memcpy(&codes, group + row * stride, sizeof codes);
    const std::int64_t word = words[i];
    // Eight cells of one bin fill 64 bytes: a code in byte k of `codes`, times 64, is the shift of
    // the whole by 8 k - 6 bits, masked.
    const auto add = [&]<int lane>(std::integral_constant<int, lane>) {
      constexpr int shift = 8 * lane - 6;
      const std::uint64_t at = (shift < 0 ? codes << 6 : codes >> (shift < 0 ? 0 : shift)) & 0x3fc0;
      *reinterpret_cast<std::int64_t*>(base + at + 8 * lane) += word;
    };
    [&]<int... lane>(std::integer_sequence<int, lane...>) {
      (add(std::integral_constant<int, lane>{}), ...);
    }(std::make_integer_sequence<int, n_lanes>{});
  }
}

using AddGroup = void (*)(const Code*, std::int64_t, const Row*, std::int64_t, const std::int64_t*,
                          std::int64_t, std::int64_t*);
constexpr AddGroup add_group_of[lanes + 1] = {
    nullptr,      add_group<1>, add_group<2>, add_group<3>, add_group<4>,
    add_group<5>, add_group<6>, add_group<7>, add_group<8>};

void add_packed(const Codes& codes, int first, int last, const std::int64_t* words,
                const Row* rows, std::int64_t begin, std::int64_t n,
                std::int64_t* const* group_cells) {
  constexpr std::int64_t ahead = 32;
  std::int64_t gathered[row_block];
  const Code* const tile_begin = codes.group(first);
  const std::int64_t stride = codes.stride(first);
  for (std::int64_t at = 0; at < n; at += row_block) {
    const std::int64_t size = std::min(row_block, n - at);
    const std::int64_t* block_words = words + begin + at;
    if (rows) {
      for (std::int64_t i = 0; i < size; ++i) {
        if (at + i + ahead < n) {
          const std::int64_t next = rows[at + i + ahead];
          __builtin_prefetch(words + next);
          __builtin_prefetch(tile_begin + next * stride);
        }
        gathered[i] = words[rows[at + i]];
      }
      block_words = gathered;
    }
    for (int g = first; g < last; ++g)
      add_group_of[codes.lanes_of(g)](codes.group(g), stride, rows ? rows + at : nullptr,
                                      begin + at, block_words, size, group_cells[g - first]);
  }
}

struct Cut {
  Doubles score;
  Integers allowed, undecided;
};

// Both children of a cut, eight columns at once. One division serves both scores.
inline Cut judge(Integers left, Integers left_count, bool counted, const PackedNode& node,
                 double total_count) {
  const Integers mask = left - left + std::int64_t{0xffffffff};
  const Integers right = node.total - left;
  const Doubles gl = to_doubles(left >> 32), hl = to_doubles(left & mask);
  const Doubles gr = to_doubles(right >> 32), hr = to_doubles(right & mask);
  const Doubles dl = hl + node.l2, dr = hr + node.l2;
  Cut cut;
  cut.score = (gl * gl * dr + gr * gr * dl) / (dl * dr);
  const Integers valid =
      (hl > 0.0) & (hr > 0.0) & (hl >= node.min_weight) & (hr >= node.min_weight);
  if (counted) {
    const Doubles count = to_doubles(left_count);
    cut.allowed = valid & (count >= node.min_count) & (total_count - count >= node.min_count);
    cut.undecided = valid & ~valid;
  } else {
    const Integers sure = (hl >= node.sure_weight) & (hr >= node.sure_weight);
    cut.allowed = valid & sure;
    cut.undecided = valid & ~sure;
  }
  return cut;
}

inline Integers load(const std::int64_t* from) {
  Integers v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <bool counted>
void search(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
            const PackedNode& node, LaneBests& bests) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const Integers zero = {};
  const Integers missing = load(cells);
  const Integers missing_count = counted ? load(counts) : zero;
  bool has_missing = false;
  for (int lane = 0; lane < lanes; ++lane) has_missing |= missing[lane] != 0;
  double total_count = 0.0;
  if (counted) {
    std::int64_t total = 0;
    for (int bin = 0; bin <= n_bins; ++bin) total += counts[bin * lanes];
    total_count = static_cast<double>(total);
  }
  Doubles best = none - Doubles{}, best_undecided = best;
  Integers place = zero, left = zero, count = zero;
  const auto note = [&](const Cut& cut, std::int64_t here) {
    const Integers better = cut.allowed & (cut.score > best);
    best = better ? cut.score : best;
    place = better ? zero + here : place;
    if (!counted) {
      const Integers more = cut.undecided & (cut.score > best_undecided);
      best_undecided = more ? cut.score : best_undecided;
    }
  };
  for (int bin = 1; bin <= n_bins; ++bin) {
    left += load(cells + bin * lanes);
    if (counted) count += load(counts + bin * lanes);
    note(judge(left, count, counted, node, total_count), 2 * bin);
    if (has_missing)
      note(judge(left + missing, count + missing_count, counted, node, total_count), 2 * bin + 1);
  }
  std::memcpy(bests.score, &best, sizeof best);
  std::memcpy(bests.place, &place, sizeof place);
  std::memcpy(bests.undecided, &best_undecided, sizeof best_undecided);
}

void search_packed(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                   const PackedNode& node, LaneBests& bests) {
  counts ? search<true>(cells, counts, n_bins, node, bests)
         : search<false>(cells, counts, n_bins, node, bests);
}

void subtract(std::int64_t* into, const std::int64_t* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) into[i] -= from[i];
}

std::int64_t partition(const Code* codes, std::int64_t stride, Code offset, Code limit,
                       const Row* rows, std::int64_t n, Row* sent) {
  constexpr std::int64_t ahead = 48;
  Row* left = sent;
  Row* right = sent + n - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + ahead < n) __builtin_prefetch(codes + rows[i + ahead] * stride);
    const Row row = rows[i];
    const Code code = codes[row * stride];
    const bool goes_left = static_cast<Code>(code - offset) <= limit;
    // Both are written, one of them survives: a branch would be mispredicted half of the time.
    *left = row;
    *right = row;
    left += goes_left;
    right -= !goes_left;
  }
  return left - sent;
}

typedef Code Bytes __attribute__((vector_size(mask_rows)));

// Every node is asked for all 64 rows; a mask says which of them came this way. Most leaves are
// left to the end: a byte per row holds the number of its leaf.
void add_trees(const MaskTree* trees, std::int64_t n_trees, int n_values, const Code* codes,
               double* sums) {
  constexpr int most_nodes = 2 * max_mask_leaves - 1;
  Bytes came[most_nodes];
  alignas(mask_rows) Code leaf_of[mask_rows];
  for (std::int64_t t = 0; t < n_trees; ++t) {
    const MaskTree& tree = trees[t];
    Bytes leaves = {};
    came[0] = ~Bytes{};
    for (int i = 0; i < tree.n_nodes; ++i) {
      const MaskNode& node = tree.nodes[i];
      if (node.slot < 0) {
        leaves |= came[i] & node.limit;
        continue;
      }
      Bytes code;
      std::memcpy(&code, codes + std::int64_t{node.slot} * mask_rows, sizeof code);
      const Bytes left = reinterpret_cast<Bytes>(code - node.offset <= node.limit - Bytes{});
      came[node.right] = came[i] & ~left;
      came[i + 1] = came[i] & left;
    }
    std::memcpy(leaf_of, &leaves, sizeof leaves);
    double* const to = sums + std::int64_t{tree.output} * mask_rows;
    if (n_values == 1) {
      for (int row = 0; row < mask_rows; ++row) to[row] += tree.values[leaf_of[row]];
    } else {
      for (int k = 0; k < n_values; ++k)
        for (int row = 0; row < mask_rows; ++row)
          to[k * mask_rows + row] += tree.values[leaf_of[row] * n_values + k];
    }
  }
}

}  // namespace

extern const Kernels table;
const Kernels table = {WEALD_KERNELS_NAME, add_trees, encode<float>, encode<double>, gradients, largest, coarse_sums,
                       pack_words, add_packed, search_packed, subtract, partition};

}  // namespace weald::WEALD_KERNELS
