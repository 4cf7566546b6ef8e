// The inner loops that are compiled once per instruction set, and the choice among them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "losses/scored.hpp"
#include "shared.hpp"

namespace weald {

// A packed cell: the sum of g in the high half, the sum of h (never negative) in the low half, so
// that one 64-bit addition adds both, and a difference of sums is the sum of the difference.
constexpr std::int64_t pack(std::int64_t g, std::int64_t h) { return g * (std::int64_t{1} << 32) + h; }
constexpr std::int64_t packed_g(std::int64_t cell) { return cell >> 32; }
constexpr std::int64_t packed_h(std::int64_t cell) { return cell & 0xffffffff; }

// What the search over a group's packed cells needs to know of a node, in units of the cells.
struct PackedNode {
  std::int64_t total;       // packed sums of all rows
  double l2;                // added to h
  double min_weight;        // least h of a child
  double sure_weight;       // h that proves a child to hold enough copies
  double min_count;         // least copies of a child, where `counts` tells them
};

// The best cut of each of eight columns: the largest score(left) + score(right), without the one
// half, among cuts known to be allowed, and what an undecided one might reach.
struct LaneBests {
  alignas(64) double score[lanes];
  alignas(64) std::int64_t place[lanes];  // 2 * bin + missing_left
  alignas(64) double undecided[lanes];
};

// What rounding to few bits needs to know of g and h (null: h is 1), over rows that count once.
struct CoarseSums {
  std::int64_t positive = 0, negative = 0;  // of rounded g, by sign, and of its square
  std::int64_t squares = 0;
  std::int64_t weight = 0;  // of rounded h
};

struct Kernels {
  const char* name;

  // Derivatives of a loss for the rows of `range`, without weights.
  void (*gradients)(std::string_view loss, const Scored& rows, Range range, double* gradient,
                    double* hessian);

  // The largest |x|.
  double (*largest)(const double* x, std::int64_t n);

  // Sums of round(g * scale_g) and round(h * scale_h), each at most 2^20 in size, n <= 2^12; a
  // scale is given as two factors because it may be too large for one.
  CoarseSums (*coarse_sums)(const double* g, const double* h, std::int64_t n,
                            const double* scale_g, const double* scale_h);

  // words[i] = pack(round(g * scale_g), round(h * scale_h)); returns their sum.
  std::int64_t (*pack_words)(const double* g, const double* h, std::int64_t n,
                             const double* scale_g, const double* scale_h, std::int64_t* words);

  // Adds words[row] to the cells [group][bin][lane] of groups [first, last) of one tile. `rows`
  // null: rows begin .. begin + n - 1.
  void (*add_packed)(const Codes& codes, int first, int last, const std::int64_t* words,
                     const Row* rows, std::int64_t begin, std::int64_t n,
                     std::int64_t* const* group_cells);

  // `counts` null: a child holds enough copies if its h proves it, else the cut is undecided.
  // Otherwise cells of copies, laid out like `cells`, decide.
  void (*search_packed)(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                        const PackedNode& node, LaneBests& bests);

  // into[i] -= from[i]
  void (*subtract)(std::int64_t* into, const std::int64_t* from, std::int64_t n);

  // Copies rows[0, n) to `sent`: those that go left to its front, the others, turned round, to its
  // back; returns how many went left. A row goes left if its code, less `offset`, is at most
  // `limit` (unsigned): offset 1 sends missing values (code 0) right, offset 0 left.
  std::int64_t (*partition)(const Code* codes, std::int64_t stride, Code offset, Code limit,
                            const Row* rows, std::int64_t n, Row* sent);
};

// The widest instruction set this machine has, unless WEALD_INSTRUCTIONS names another one.
const Kernels& kernels();

// All that were compiled in and can run here, the plainest first.
std::vector<const Kernels*> runnable_kernels();

}  // namespace weald
