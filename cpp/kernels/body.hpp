// The single source of the kernels, included once per instruction set in a namespace of its own.
//
// Uses the compiler's vector extensions at the machine's width: every lane does the same operations
// in the same order on every instruction set, so the bits are the same.

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/mixing.hpp"
#include "kernels/kernels.hpp"
#include "kernels/pairs.hpp"
#include "kernels/random_thresholds.hpp"
#include "kernels/smoothed_mean.hpp"
#include "kernels/tree_shap.hpp"
#include "losses/losses.hpp"

namespace weald::kernels::WEALD_KERNELS {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
// Codes are extracted by shifts from eight read at once: byte k must be the k-th lowest.
static_assert(std::endian::native == std::endian::little);

typedef double Doubles __attribute__((vector_size(vector_bytes)));
typedef std::int64_t Integers __attribute__((vector_size(vector_bytes)));
typedef std::int32_t Signed __attribute__((vector_size(vector_bytes)));
constexpr int vector_lanes = vector_bytes / 8;

// Exact for |x| < 2^51; one addition and one subtraction on every machine.
inline Doubles to_doubles(Integers x) {
  constexpr double shift = 0x1.8p52;
  return reinterpret_cast<Doubles>(x + std::bit_cast<std::int64_t>(shift)) - shift;
}

#ifdef __AVX512F__
// Sixteen cuts are compared at once. Benchmark row `predict_200k`: the binary search below instead
// takes 1.8 times the processor time.
//
// Number of entries of a sorted array of sixteen that are below x.
[[gnu::always_inline]] inline int count_below(const float* sixteen, float x) {
  return std::popcount(static_cast<unsigned>(
      _mm512_cmp_ps_mask(_mm512_load_ps(sixteen), _mm512_set1_ps(x), _CMP_LT_OQ)));
}
[[gnu::always_inline]] inline int count_below(const double* sixteen, double x) {
  const __m512d value = _mm512_set1_pd(x);
  const unsigned low = _mm512_cmp_pd_mask(_mm512_load_pd(sixteen), value, _CMP_LT_OQ);
  const unsigned high = _mm512_cmp_pd_mask(_mm512_load_pd(sixteen + 8), value, _CMP_LT_OQ);
  return std::popcount(low | (high << 8));
}
template <class T>
[[gnu::always_inline]] inline int cuts_below(const PaddedCuts<T>& cuts, T x) {
  const int sixteen = count_below(cuts.pivots, x);
  return 16 * sixteen + count_below(cuts.values + 16 * sixteen, x);
}
template <class T>
void encode(const T* x, std::int64_t n, const PaddedCuts<T>& cuts, Code* out, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i * stride] = static_cast<Code>((1 + cuts_below(cuts, x[i])) & -(x[i] == x[i]));
}
#else
// Branch-free binary search for several values concurrently, to overlap load latencies.
template <class T>
void encode(const T* x, std::int64_t n, const PaddedCuts<T>& cuts, Code* out, std::int64_t stride) {
  constexpr int together = 8;
  for (std::int64_t first = 0; first < n; first += together) {
    const int size = static_cast<int>(std::min<std::int64_t>(together, n - first));
    std::int32_t at[together] = {};
    T values[together] = {};
    std::copy_n(x + first, size, values);
    for (int step = 128; step > 0; step /= 2)
      for (int i = 0; i < together; ++i)
        at[i] += step & -static_cast<std::int32_t>(cuts.values[at[i] + step - 1] < values[i]);
    for (int i = 0; i < size; ++i)
      out[(first + i) * stride] = static_cast<Code>((1 + at[i]) & -(values[i] == values[i]));
  }
}
#endif

void gradients(std::string_view loss, const losses::Scored& rows, losses::Range range,
               double* gradient, double* hessian) {
  losses::AllLosses::with_name(loss,
                               [&](auto one) { one.gradients(rows, range, gradient, hessian); });
}

void losses_of(std::string_view loss, const losses::Scored& rows, losses::Range range,
               double* loss_of_row) {
  losses::AllLosses::with_name(loss, [&](auto one) { one.losses(rows, range, loss_of_row); });
}

// Round half to even, exact for |x| < 2^51: the low bits of a double whose spacing is 1.
[[gnu::always_inline]] inline double rounded(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
[[gnu::always_inline]] inline std::int64_t rounded_integer(double x) {
  return std::bit_cast<std::int64_t>(x + 0x1.8p52) - std::bit_cast<std::int64_t>(0x1.8p52);
}

typedef std::uint64_t Words __attribute__((vector_size(vector_bytes)));

// The first (0) or the second (1) word of each of several keys.
template <int which, int... i>
[[gnu::always_inline]] inline Words words_of(const Hash128* keys,
                                             std::integer_sequence<int, i...>) {
  Words first, second;
  std::memcpy(&first, keys, sizeof first);
  std::memcpy(&second, keys + vector_lanes / 2, sizeof second);
  return __builtin_shufflevector(first, second, (2 * i + which)...);
}

// Masks and no branches, as a branch on chance is badly predicted.
std::int64_t draw_rows(const Hash128* keys, const std::int64_t* copies, std::int64_t n,
                       const DrawKey& draw, std::uint64_t limit, std::int64_t* drawn) {
  const DrawKey key = draw;  // a local copy: `drawn` might alias the original
  Integers any{};
  std::int64_t i = 0;
  // Two lanes are slower than none: there are no vector products of 64-bit words.
  for (; vector_lanes > 2 && i + vector_lanes <= n; i += vector_lanes) {
    constexpr auto each = std::make_integer_sequence<int, vector_lanes>();
    const Words word =
        key.of(words_of<0>(keys + i, each), words_of<1>(keys + i, each)) >> uniform_shift;
    Integers times = Integers{} + 1;
    if (copies) std::memcpy(&times, copies + i, sizeof times);
    times &= reinterpret_cast<Integers>(word < limit);
    std::memcpy(drawn + i, &times, sizeof times);
    any |= times;
  }
  std::int64_t all = 0;
  for (int lane = 0; lane < vector_lanes; ++lane) all |= any[lane];
  for (; i < n; ++i) {
    const bool is_drawn = key.of(keys[i].low, keys[i].high) >> uniform_shift < limit;
    drawn[i] = is_drawn * (copies ? copies[i] : 1);
    all |= drawn[i];
  }
  return all;
}

double largest(const double* x, std::int64_t n, bool* has_negative) {
  // Non-negative doubles order as integers do, and NaN is above infinity, so it is detected.
  std::int64_t top = 0, any = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t all_bits = std::bit_cast<std::int64_t>(x[i] + 0.0);  // -0 becomes 0
    const std::int64_t bits = all_bits & 0x7fffffffffffffff;
    any |= all_bits;
    top = bits > top ? bits : top;
  }
  *has_negative = any < 0;
  return std::bit_cast<double>(top);
}

// Sums of integers below 2^53 in doubles: exact, so the order does not matter and a vector can keep
// eight partial sums.
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
  const auto total = static_cast<std::int64_t>(sums[0]),
             absolute = static_cast<std::int64_t>(sums[1]);
  return {(absolute + total) / 2, (absolute - total) / 2, static_cast<std::int64_t>(sums[2]),
          static_cast<std::int64_t>(sums[3])};
}

std::int64_t pack_words(const double* g, const double* h, std::int64_t n, const double* scale_g,
                        const double* scale_h, std::int64_t* words) {
  const double g0 = scale_g[0], g1 = scale_g[1];
  std::uint64_t total = 0;  // wraps where rows that are not used have large values
  if (h) {
    const double h0 = scale_h[0], h1 = scale_h[1];
    for (std::int64_t i = 0; i < n; ++i)
      total += static_cast<std::uint64_t>(
          words[i] = pack(rounded_integer(g[i] * g0 * g1), rounded_integer(h[i] * h0 * h1)));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      total += static_cast<std::uint64_t>(words[i] = pack(rounded_integer(g[i] * g0 * g1), 1));
  }
  return static_cast<std::int64_t>(total);
}

// Prefetch addresses: the codes and words (unless null) of upcoming rows. Without a list, rows are
// consecutive.
struct Ahead {
  const Code* codes = nullptr;
  std::int64_t stride = 0;
  const std::int64_t* words = nullptr;
  const Row* rows = nullptr;
  std::int64_t begin = 0, n = 0;

  [[gnu::always_inline]] void ask(std::int64_t i) const {
    const std::int64_t row = rows ? std::int64_t{rows[i]} : begin + i;
    if (codes) __builtin_prefetch(codes + row * stride, 0, 2);
    if (words) __builtin_prefetch(words + row, 0, 2);
  }
};

// Add words to the cells of eight columns: the eight codes of row i are at codes[i * stride].
template <int n_lanes>
void add_group(const Code* codes, std::int64_t stride, const std::int64_t* words, std::int64_t n,
               std::int64_t* cells, const Ahead& lines) {
  char* const base = reinterpret_cast<char*>(cells);
  const auto add_row = [&](std::int64_t i) {
    std::uint64_t eight;
    std::memcpy(&eight, codes + i * stride, lanes);
    const std::int64_t word = words[i];
    // Eight cells of one bin fill 64 bytes: code k of `eight`, times 64, is `eight` rotated by 8 k
    // - 6 bits and masked. (A rotation, unlike a shift, needs no copy first.)
    const auto add = [&]<int lane>(std::integral_constant<int, lane>) {
      const std::uint64_t at = std::rotr(eight, 8 * lane - 6) & 0x3fc0;
      *reinterpret_cast<std::int64_t*>(base + at + 8 * lane) += word;
    };
    [&]<int... lane>(std::integer_sequence<int, lane...>) {
      (add(std::integral_constant<int, lane>{}), ...);
    }(std::make_integer_sequence<int, n_lanes>{});
  };
  const Ahead ahead = lines;  // a local copy stays in registers: the cells might alias the original
  const std::int64_t n_prefetching = std::min(n, ahead.n);
  for (std::int64_t i = 0; i < n_prefetching; ++i) {
    ahead.ask(i);
    add_row(i);
  }
  for (std::int64_t i = n_prefetching; i < n; ++i) add_row(i);
}

using AddGroup = void (*)(const Code*, std::int64_t, const std::int64_t*, std::int64_t,
                          std::int64_t*, const Ahead&);
constexpr AddGroup add_group_of[lanes + 1] = {nullptr,      add_group<1>, add_group<2>,
                                              add_group<3>, add_group<4>, add_group<5>,
                                              add_group<6>, add_group<7>, add_group<8>};

// Gather the codes of some groups, and the words unless null, of scattered rows into buffers.
// Benchmark row `fit_1m`: reading them group by group instead takes 1.25 times the processor time.
template <int n_groups>
void collect(const Code* first, std::int64_t stride, const std::int64_t* words, const Row* rows,
             std::int64_t n, Code* codes, std::int64_t* collected_words) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows[i];
    if (words) collected_words[i] = words[row];
    std::memcpy(codes + i * n_groups * lanes, first + row * stride, n_groups * lanes);
  }
}

using Collect = void (*)(const Code*, std::int64_t, const std::int64_t*, const Row*, std::int64_t,
                         Code*, std::int64_t*);
constexpr Collect collect_of[tile / lanes + 1] = {nullptr,    collect<1>, collect<2>,
                                                  collect<3>, collect<4>, collect<5>,
                                                  collect<6>, collect<7>, collect<8>};

constexpr std::int64_t near_rows = 512;  // rows whose codes and words stay in cache

// One block of rows at a time: scattered rows are gathered, consecutive ones read in place. Each
// group's cells (16 KB) stay in the first-level cache while the block is counted. Meanwhile the
// next block is prefetched.
void add_packed(const Codes& codes, int first, int last, const std::int64_t* words, const Row* rows,
                std::int64_t begin, std::int64_t n, std::int64_t* const* group_cells) {
  alignas(64) Code near_codes[near_rows * tile];
  std::int64_t near_words[near_rows];
  if (!words) std::fill_n(near_words, std::min(n, near_rows), 1);
  const Code* const tile_begin = codes.group(first);
  const std::int64_t stride = codes.stride(first);
  // No prefetching if the table fits the second-level cache. Benchmark row `fit_1m`: without it a
  // fit takes 1.13 times the processor time (docs/decisions/0019-modules-and-mechanisms.md).
  const bool prefetches = codes.n_rows * stride > (1 << 19);
  const auto ahead_of = [&](std::int64_t at, const Code* its_codes, const std::int64_t* its_words) {
    const std::int64_t size = prefetches ? std::clamp<std::int64_t>(n - at, 0, near_rows) : 0;
    return Ahead{its_codes, stride, its_words, rows ? rows + at : nullptr, begin + at, size};
  };
  const bool one_group = last - first == 1;
  const Ahead first_lines = ahead_of(0, tile_begin, words);
  if (rows)
    for (std::int64_t i = 0; i < first_lines.n; ++i) first_lines.ask(i);
  for (std::int64_t at = 0; at < n; at += near_rows) {
    const std::int64_t size = std::min(near_rows, n - at);
    if (rows)
      collect_of[last - first](tile_begin, stride, words, rows + at, size, near_codes, near_words);
    const Code* const block = rows ? near_codes : tile_begin + (begin + at) * stride;
    const std::int64_t* const block_words = rows || !words ? near_words : words + begin + at;
    const std::int64_t block_stride = rows ? (last - first) * lanes : stride;
    for (int g = first; g < last; ++g) {
      const std::int64_t next = at + near_rows;
      const Ahead ahead = g == first       ? ahead_of(next, tile_begin, one_group ? words : nullptr)
                          : g == first + 1 ? ahead_of(next, nullptr, words)
                                           : Ahead{};
      add_group_of[codes.lanes_of(g)](block + (g - first) * lanes, block_stride, block_words, size,
                                      group_cells[g - first], ahead);
    }
  }
}

template <int n_lanes>
void add_wide_group(const std::uint16_t* codes, const std::int64_t* words, const Row* rows,
                    std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  constexpr std::int64_t ahead = 16;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows ? std::int64_t{rows[i]} : begin + i;
    if (rows && i + ahead < n) {
      __builtin_prefetch(codes + std::int64_t{rows[i + ahead]} * lanes);
      __builtin_prefetch(words + rows[i + ahead]);
    }
    const std::uint16_t* const eight = codes + row * lanes;
    const std::int64_t word = words[row];
    for (int lane = 0; lane < n_lanes; ++lane) cells[eight[lane] * lanes + lane] += word;
  }
}

void add_packed_wide(const std::uint16_t* codes, int n_lanes, const std::int64_t* words,
                     const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  [&]<int... below>(std::integer_sequence<int, below...>) {
    ((n_lanes == below + 1 ? add_wide_group<below + 1>(codes, words, rows, begin, n, cells)
                           : void()),
     ...);
  }(std::make_integer_sequence<int, lanes>{});
}

#include "kernels/add_cells.hpp"

void unpack_cells(std::int64_t* packed, std::int64_t n, std::int64_t* wide) {
  for (std::int64_t i = 0; i < n; ++i) {
    wide[2 * i] += packed_h(packed[i]);
    wide[2 * i + 1] += packed_g(packed[i]);
    packed[i] = 0;
  }
}

#include "kernels/search.hpp"
// These use the definitions above.
#include "kernels/bits.hpp"
#include "kernels/half_words.hpp"
#include "kernels/level_gains.hpp"
#include "kernels/levels.hpp"
#include "kernels/ordered.hpp"
#include "kernels/pairs_body.hpp"
#include "kernels/random_thresholds_body.hpp"
#include "kernels/row_masks.hpp"
#include "kernels/sort.hpp"
#include "kernels/tree_shap_body.hpp"

void subtract(std::int64_t* into, const std::int64_t* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) into[i] -= from[i];
}

}  // namespace

extern const Kernels table;
const Kernels table = {.name = WEALD_KERNELS_NAME,
                       .add_trees = add_trees,
                       .encode_float = encode<float>,
                       .encode_double = encode<double>,
                       .gradients = gradients,
                       .losses = losses_of,
                       .draw_rows = draw_rows,
                       .largest = largest,
                       .coarse_sums = coarse_sums,
                       .pack_words = pack_words,
                       .add_packed = add_packed,
                       .add_packed_wide = add_packed_wide,
                       .add_cells = add_cells,
                       .unpack_cells = unpack_cells,
                       .search_packed = search_packed,
                       .search_half_words = search_half_words,
                       .add_gains = add_gains,
                       .search_levels = search_levels,
                       .search_ordered = search_ordered,
                       .mark_ordered = mark_ordered,
                       .part_ordered = part_ordered,
                       .subtract = subtract,
                       .sort_keys = sort_keys,
                       .bit_codes = bit_codes,
                       .shap_tree = shap_tree,
                       .add_pairs = add_pairs,
                       .drawn = &random_threshold_kernels};

}  // namespace weald::kernels::WEALD_KERNELS
