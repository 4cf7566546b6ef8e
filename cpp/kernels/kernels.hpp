// The inner loops that are compiled once per instruction set, and the choice among them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "losses/scored.hpp"

namespace weald::kernels {

// A packed cell: the sum of g in the high half, the sum of h (never negative) in the low half, so
// that one 64-bit addition adds both, and a difference of sums is the sum of the difference.
constexpr std::int64_t pack(std::int64_t g, std::int64_t h) {
  return g * (std::int64_t{1} << 32) + h;
}
constexpr std::int64_t packed_g(std::int64_t cell) { return cell >> 32; }
constexpr std::int64_t packed_h(std::int64_t cell) { return cell & 0xffffffff; }

// What the search over a group's packed cells needs to know of a node, in units of the cells.
struct PackedNode {
  std::int64_t total;       // packed sums of all rows
  double l2;                // added to h
  double min_weight;        // least h of a child
  double sure_weight;       // h that proves a child to hold enough copies
  double min_count;         // least copies of a child, where `counts` tells them
  double l1;                // taken off the size of g
  Bounds bounds;            // of g / (h + l2)
  const double* direction;  // of the eight columns, as SplitLimits has it; null: all are free

  // With bounds and directions a value is needed, and not only a quotient of squares.
  bool needs_values() const { return bounds.any() || direction != nullptr; }
  double shrunk(double g) const {
    const double size = std::fabs(g) - l1;
    return size > 0.0 ? std::copysign(size, g) : 0.0;
  }
  // Twice what a node of g and of h + l2 = d scores.
  double score(double g, double d) const {
    const double s = shrunk(g);
    if (!needs_values()) return s * s / d;
    const double w = bounds.held(-s / d);
    return -(2.0 * g * w + d * w * w + 2.0 * l1 * std::fabs(w));
  }
};

// The best cut of each of eight columns: the largest score(left) + score(right), without the one
// half, among cuts known to be allowed, and what an undecided one might reach.
struct LaneBests {
  alignas(64) double score[lanes];
  alignas(64) std::int64_t place[lanes];  // 2 * bin + missing_left
  alignas(64) double undecided[lanes];
  alignas(64) std::int64_t undecided_place[lanes];

  static LaneBests empty() {
    LaneBests bests{};
    for (int lane = 0; lane < lanes; ++lane)
      bests.score[lane] = bests.undecided[lane] = -std::numeric_limits<double>::infinity();
    return bests;
  }
};

// A column of levels in a node's packed cells: code 0 is missing, level l has code l + 1.
struct LevelCells {
  const std::int64_t* cells;   // of code 0
  const std::int64_t* counts;  // copies, laid out likewise; null: they are not known
  std::int64_t stride;         // from code to code
  int n_levels;                // at most max_value_bins
};
// What CategoryLimits ask of it, in units of the cells.
struct LevelRules {
  double least;    // h of a level that is told apart
  int few;         // up to so many told levels, the next two are not for them
  double smooth;   // added to h when levels are put in order
  double more_l2;  // added to l2 when sets are judged
};
// What the best pair of sets scores, and what an undecided one might reach.
struct LevelScores {
  double score = -std::numeric_limits<double>::infinity();
  double undecided = -std::numeric_limits<double>::infinity();
};

// A column's cuts in the type of its values, with infinities up to 256, and every sixteenth apart:
// two rounds of sixteen comparisons find a value's bin. x <= cut means the same in both types.
template <class T>
struct PaddedCuts {
  alignas(64) T values[256];
  alignas(64) T pivots[16];

  PaddedCuts(const double* cuts, std::int64_t n) {
    for (std::int64_t i = 0; i < 256; ++i)
      values[i] = i < n ? not_above(cuts[i]) : std::numeric_limits<T>::infinity();
    for (int i = 0; i < 16; ++i) pivots[i] = values[16 * i + 15];
  }
  // The largest T that is not above x.
  static T not_above(double x) {
    const T rounded = static_cast<T>(x);
    if (static_cast<double>(rounded) <= x) return rounded;
    return std::nextafter(rounded, -std::numeric_limits<T>::infinity());
  }
};

// What rounding to few bits needs to know of g and h (null: h is 1), over rows that count once.
struct CoarseSums {
  std::int64_t positive = 0, negative = 0;  // of rounded g, by sign, and of its square
  std::int64_t squares = 0;
  std::int64_t weight = 0;  // of rounded h
};

// Shallow trees over codes: 64 rows at once, a byte of a mask for each.
constexpr int mask_rows = 64;
constexpr int max_mask_leaves = 128;  // beyond, asking every node costs more than walking
struct MaskNode {
  std::int32_t slot;   // of the column among those used; -1: a leaf
  std::int32_t right;  // counted from the tree's first node
  Code offset, limit;  // left if code - offset <= limit, without sign; a leaf: its number
  std::int32_t set;    // of codes that go left instead; -1: none
};
struct CodeSet {
  std::uint64_t words[4];  // a bit for each code
};
struct MaskTree {
  const MaskNode* nodes;
  int n_nodes;
  const double* values;  // [leaves][n_values], times the tree's weight
  int output;            // where its first value is added
  const CodeSet* sets;
};

// A row of a small table as it stands in the order of a column's codes: the code in the upper half,
// the row's number in the lower.
using Ordered = std::uint32_t;
constexpr std::int64_t most_ordered = 1024;  // rows of such a table
constexpr Row row_of_ordered(Ordered one) { return one & 0xffff; }
constexpr int code_of_ordered(Ordered one) { return static_cast<int>(one >> 16); }
// Of each row of such a table, a bit: does it go left?
struct OrderedSides {
  alignas(64) std::uint32_t words[most_ordered / 32];
};

// What a search among a node's rows needs to know, in units of packed words.
struct OrderedNode {
  std::int64_t total;        // packed sums of all rows
  double l2;                 // added to h; less than 2^60
  std::uint32_t min_weight;  // least h of a child, above 0
  std::int64_t first, last;  // of the places after which a cut leaves rows enough
};
// A cut after a place in the order, and the sums of what lies before it.
struct OrderedCut {
  double score = -std::numeric_limits<double>::infinity();
  std::int64_t place = -1, left = 0;
};

// The least and the largest rank among some keys.
struct KeyRange {
  std::uint32_t least, most;
};
// Rows of a node rise: where the codes of the first and of the last lie within so many bytes, all
// are near, and asking for them before they are needed would take longer than reading them.
constexpr std::int64_t near_codes = 1 << 16;

// Bits of a row's word that one code may hold.
constexpr int most_code_bits = 7;

// Trees whose root histograms are counted at once.
constexpr int most_shared = 8;

struct RandomThresholdKernels;  // random_thresholds.hpp

struct Kernels {
  const char* name;

  // Adds the trees' values, tree after tree, to sums[output][64]. codes[slot][64], 64-byte aligned.
  void (*add_trees)(const MaskTree* trees, std::int64_t n_trees, int n_values, const Code* codes,
                    double* sums);

  // out[i * stride] = 1 + the number of cuts below x[i], or 0 for NaN.
  void (*encode_float)(const float* x, std::int64_t n, const PaddedCuts<float>& cuts, Code* out,
                       std::int64_t stride);
  void (*encode_double)(const double* x, std::int64_t n, const PaddedCuts<double>& cuts, Code* out,
                        std::int64_t stride);

  // Derivatives of a loss for the rows of `range`, without weights.
  void (*gradients)(std::string_view loss, const losses::Scored& rows, losses::Range range,
                    double* gradient, double* hessian);

  // The largest |x|, and whether one of them is negative.
  double (*largest)(const double* x, std::int64_t n, bool* has_negative);

  // Sums of round(g * scale_g) and round(h * scale_h), each at most 2^20 in size, n <= 2^12; a
  // scale is given as two factors because it may be too large for one.
  CoarseSums (*coarse_sums)(const double* g, const double* h, std::int64_t n, const double* scale_g,
                            const double* scale_h);

  // words[i] = pack(round(g * scale_g), round(h * scale_h)); returns their sum.
  std::int64_t (*pack_words)(const double* g, const double* h, std::int64_t n,
                             const double* scale_g, const double* scale_h, std::int64_t* words);

  // Adds words[row] (null: 1) to the cells [group][bin][lane] of groups [first, last) of one tile.
  // `rows` null: rows begin .. begin + n - 1.
  void (*add_packed)(const Codes& codes, int first, int last, const std::int64_t* words,
                     const Row* rows, std::int64_t begin, std::int64_t n,
                     std::int64_t* const* group_cells);

  // Adds the words of each row, one of each of 4 or 8 trees (`width`), to the cells [bin][tree] of
  // a column and, unless null, of the next one: words[i] belongs to the row whose codes begin at
  // codes[(rows ? rows[i] : i) * stride].
  void (*add_shared)(const Code* codes, std::int64_t stride, const Row* rows, std::int64_t n,
                     int width, const std::int64_t* words, std::int64_t* cells,
                     std::int64_t* next_cells);

  // `counts` null: a child holds enough copies if its h proves it, else the cut is undecided.
  // Otherwise cells of copies, laid out like `cells`, decide; a column may have none.
  void (*search_packed)(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                        const PackedNode& node, LaneBests& bests);

  // The same of single columns, those whose `n_bins` is not 0: sooner where the columns of a group
  // have very different numbers of bins, or few are asked for. Others are left alone.
  void (*search_columns)(const std::int64_t* cells, const std::int64_t* counts, const int* n_bins,
                         const PackedNode& node, LaneBests& bests);

  // The best sets of a column of levels, as CategorySearch finds them; the node has no bounds and
  // no directions.
  LevelScores (*search_levels)(const LevelCells& column, const LevelRules& rules,
                               const PackedNode& node);

  // Among the cuts of one column, between rows of different codes, the first of the largest score:
  // whether that is more than `best` has, which then is it. Scores are those of `search_packed`.
  bool (*search_ordered)(const Ordered* rows, const std::int64_t* words, const OrderedNode& node,
                         OrderedCut& best);
  // Bits of the rows whose code is at most `limit`.
  void (*mark_ordered)(const Code* codes, std::int64_t n_rows, Code limit, OrderedSides& sides);
  // Copies rows[0, n), in order, to `left` and `right` as their bits say; null: not wanted.
  void (*part_ordered)(const Ordered* rows, std::int64_t n, const OrderedSides& sides,
                       Ordered* left, Ordered* right);

  // into[i] -= from[i]
  void (*subtract)(std::int64_t* into, const std::int64_t* from, std::int64_t n);

  // Copies rows[0, n) to `sent`: those that go left to its front, the others, turned round, to its
  // back; returns how many went left. A row goes left if its code, less `offset`, is at most
  // `limit` (unsigned): offset 1 sends missing values (code 0) right, offset 0 left.
  std::int64_t (*partition)(const Code* codes, std::int64_t stride, Code offset, Code limit,
                            const Row* rows, std::int64_t n, Row* sent);

  // Sorts keys[0, n), n up to 1024; fifteen more may be overwritten. Null: there are no vectors
  // wide enough to be of use.
  void (*sort_keys)(std::uint32_t* keys, std::int64_t n);

  // Writes the keys of n rows, each of two words with its number in the upper half of the first:
  // ranks[row * stride] above 15 bits, which are the lower half or, if they `are_numbered`, say
  // which of the n it is. Sixteen keys more are overwritten, the words of sixteen rows more and
  // what follows the last rank are read; all row * stride are less than 2^31. Null: plain code is
  // as quick.
  KeyRange (*rank_keys)(const std::uint16_t* ranks, std::int64_t stride, const std::uint64_t* rows,
                        std::int64_t n, bool are_numbered, std::uint32_t* keys);

  // codes[i]: the bits of words[rows[i]] at the m rising shifts, the first lowest; m is at most
  // most_code_bits.
  void (*bit_codes)(const std::uint64_t* words, const Row* rows, std::int64_t n, const int* shifts,
                    int m, std::uint8_t* codes);

  const RandomThresholdKernels*
      drawn;  // for cuts drawn between values; null: plain code is as quick
};

// The widest instruction set this machine has, unless WEALD_INSTRUCTIONS names another one.
const Kernels& active();

// All that were compiled in and can run here, the plainest first.
std::vector<const Kernels*> runnable_kernels();

}  // namespace weald::kernels
