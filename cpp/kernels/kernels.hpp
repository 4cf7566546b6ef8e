// The inner loops that are compiled once per instruction set, and their runtime selection.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/draws.hpp"
#include "base/types.hpp"
#include "losses/scored.hpp"

namespace weald::kernels {

// A packed cell: the sum of g in the high half, the sum of h (non-negative) in the low half, so
// that one 64-bit addition adds both, and differences work likewise.
constexpr std::int64_t pack(std::int64_t g, std::int64_t h) {
  return g * (std::int64_t{1} << 32) + h;
}
constexpr std::int64_t packed_g(std::int64_t cell) { return cell >> 32; }
constexpr std::int64_t packed_h(std::int64_t cell) { return cell & 0xffffffff; }

// The sums of a cell of `size` integers: packed in one, or h and g in one each. (The weights of
// other wide cells come first, too.)
constexpr std::int64_t g_of(const std::int64_t* cell, int size) {
  return size == 1 ? packed_g(*cell) : cell[1];
}
constexpr std::int64_t h_of(const std::int64_t* cell, int size) {
  return size == 1 ? packed_h(*cell) : *cell;
}

// Parameters of a node for searches over cells of sums of words, in units of the cells.
struct PackedNode {
  int cell_size;            // 1: packed; 2: h and g
  std::int64_t g, h;        // sums of all rows
  double l2;                // added to h
  double min_weight;        // minimum h of a child
  double sure_weight;       // h that implies enough copies in a child
  double min_count;         // minimum copies of a child, if `counts` is given
  double l1;                // subtracted from |g|
  Bounds bounds;            // of g / (h + l2)
  const double* direction;  // of the eight columns, as in SplitLimits; null: no constraints

  // Bounds and monotonic constraints need values, not only a quotient of squares.
  bool needs_values() const { return bounds.any() || direction != nullptr; }
  double value(double of_g, double d) const { return bounds.held(-shrunk(of_g) / d); }
  double shrunk(double of_g) const {
    const double size = std::fabs(of_g) - l1;
    return size > 0.0 ? std::copysign(size, of_g) : 0.0;
  }
  // Twice the score of a node with sums g and h + l2 = d.
  double score(double of_g, double d) const {
    const double s = shrunk(of_g);
    if (!needs_values()) return s * s / d;
    const double w = value(of_g, d);
    return -(2.0 * of_g * w + d * w * w + 2.0 * l1 * std::fabs(w));
  }
  double score() const { return score(static_cast<double>(g), static_cast<double>(h) + l2); }
};

// The best split of each of eight columns: the largest score(left) + score(right), without the
// factor 1/2, among splits known to be allowed, and the best undecided score.
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

// Maximum words of a cell of half words that can be searched.
constexpr int most_half_words = 64;

// Parameters of a node for searches over cells of half words, in units of their sums.
struct HalfWordNode {
  const std::int64_t* totals;  // W, the channels, the copies if counted
  int n_channels;
  int n_words;        // of a cell
  double l2;          // added to W
  double min_weight;  // minimum W of a child
  double min_count;   // minimum copies of a child; 0: cells have no copies
};

// Gains of the splits of eight columns, each summed over the nodes that allow it.
struct GroupGains {
  double* gain;  // [2 * bin + missing_left][lane]; minus infinity: no node allows it
  // [bin][lane]: not 0 if one of the nodes that allow missing values on the left has values there,
  // too. Null: no column has missing values, and they are not tried on the left.
  std::int64_t* has_values_left;
};

// A categorical column in a node's cells: code 0 is missing, level l has code l + 1.
struct LevelCells {
  const std::int64_t* cells;          // of code 0
  const std::int64_t* counts;         // copies, one integer each; null: unknown
  std::int64_t stride, count_stride;  // distance between codes
  int n_levels;                       // at most max_value_bins
};
// CategoryLimits in units of the cells.
struct LevelRules {
  double least;    // minimum h of a frequent level
  int few;         // with at most this many frequent levels, the next two do not apply
  double smooth;   // added to h when levels are sorted
  double more_l2;  // added to l2 when sets are scored
};
// The best score of a pair of sets, and the best undecided one.
struct LevelScores {
  double score = -std::numeric_limits<double>::infinity();
  double undecided = -std::numeric_limits<double>::infinity();
};

// A column's cuts in the type of its values, padded with infinities to 256, and every sixteenth
// separately: two rounds of sixteen comparisons find a value's bin. x <= cut means the same in both
// types.
template <class T>
struct PaddedCuts {
  alignas(64) T values[256];
  alignas(64) T pivots[16];

  PaddedCuts(const double* cuts, std::int64_t n) {
    for (std::int64_t i = 0; i < 256; ++i)
      values[i] = i < n ? not_above(cuts[i]) : std::numeric_limits<T>::infinity();
    for (int i = 0; i < 16; ++i) pivots[i] = values[16 * i + 15];
  }
  // The largest T not above x.
  static T not_above(double x) {
    const T rounded = static_cast<T>(x);
    if (static_cast<double>(rounded) <= x) return rounded;
    return std::nextafter(rounded, -std::numeric_limits<T>::infinity());
  }
};

// Statistics of g and h (null: h is 1) for choosing the rounding, over rows that occur once.
struct CoarseSums {
  std::int64_t positive = 0, negative = 0;  // of rounded g, by sign, and of its square
  std::int64_t squares = 0;
  std::int64_t weight = 0;  // of rounded h
};

// Shallow trees over codes: 64 rows at once as bit masks.
constexpr int mask_rows = 64;
constexpr int max_mask_leaves = 128;  // beyond, evaluating every node costs more than traversal
constexpr int max_symmetric_leaves = 1 << 16;
struct MaskNode {
  std::int32_t slot;   // index of the column among those used; -1: a leaf
  std::int32_t right;  // relative to the tree's first node
  Code offset, limit;  // left if code - offset <= limit, unsigned; a leaf: its index
  std::int32_t set;    // set of codes that go left instead; -1: none
};
struct CodeSet {
  std::uint64_t words[4];  // one bit per code
};
struct MaskTree {
  const MaskNode* nodes;  // in pre-order, or one per level
  int n_nodes;
  bool is_symmetric;     // complete, with the same split in all nodes of a level
  const double* values;  // [leaves][n_values], times the tree weight
  int output;            // index of the first output
  const CodeSet* sets;
};

// An entry of a small table's sorted order: the code in the upper half, the row in the lower.
using Ordered = std::uint32_t;
constexpr std::int64_t most_ordered = 1024;  // maximum rows of such a table
constexpr Row row_of_ordered(Ordered one) { return one & 0xffff; }
constexpr int code_of_ordered(Ordered one) { return static_cast<int>(one >> 16); }
// One bit per row of such a table: whether it goes left.
struct OrderedSides {
  alignas(64) std::uint32_t words[most_ordered / 32];
};

// Parameters of a search among a node's sorted rows, in units of packed words.
struct OrderedNode {
  std::int64_t total;        // packed sums of all rows
  double l2;                 // added to h
  double min_weight;         // minimum h of a child, above 0
  std::int64_t first, last;  // range of positions after which a split leaves enough rows
};
// A split after a position in the order, and the sums of the rows before it.
struct OrderedCut {
  double score = -std::numeric_limits<double>::infinity();
  std::int64_t place = -1, left = 0;
};

// Maximum bits of a row's word in one code.
constexpr int most_code_bits = 7;

struct RandomThresholdKernels;  // random_thresholds.hpp
struct RankedRows;              // pairs.hpp
struct ShapTree;                // tree_shap.hpp
struct ShapRows;

struct Kernels {
  const char* name;

  // Add the trees' values, tree after tree, to sums[output][64], or with several values per leaf to
  // sums[64][value]. codes[slot][64], 64-byte aligned.
  void (*add_trees)(const MaskTree* trees, std::int64_t n_trees, int n_values, const Code* codes,
                    double* sums);

  // out[i * stride] = 1 + the number of cuts below x[i], or 0 for NaN.
  void (*encode_float)(const float* x, std::int64_t n, const PaddedCuts<float>& cuts, Code* out,
                       std::int64_t stride);
  void (*encode_double)(const double* x, std::int64_t n, const PaddedCuts<double>& cuts, Code* out,
                        std::int64_t stride);

  // Derivatives of a loss for the rows of `range`, unweighted.
  void (*gradients)(std::string_view loss, const losses::Scored& rows, losses::Range range,
                    double* gradient, double* hessian);

  // Losses of the rows of `range`, unweighted.
  void (*losses)(std::string_view loss, const losses::Scored& rows, losses::Range range,
                 double* loss_of_row);

  // drawn[i] = copies[i] (null: 1) if the draw of keys[i], shifted by uniform_shift, is below
  // `limit`, else 0. Returns their bitwise or.
  std::int64_t (*draw_rows)(const Hash128* keys, const std::int64_t* copies, std::int64_t n,
                            const DrawKey& draw, std::uint64_t limit, std::int64_t* drawn);

  // The largest |x|, and whether any x is negative.
  double (*largest)(const double* x, std::int64_t n, bool* has_negative);

  // Sums of round(g * scale_g) and round(h * scale_h), each at most 2^20 in magnitude, n <= 2^12; a
  // scale is a pair of factors because it may exceed the range of one double.
  CoarseSums (*coarse_sums)(const double* g, const double* h, std::int64_t n, const double* scale_g,
                            const double* scale_h);

  // words[i] = pack(round(g * scale_g), round(h * scale_h)); returns their sum.
  std::int64_t (*pack_words)(const double* g, const double* h, std::int64_t n,
                             const double* scale_g, const double* scale_h, std::int64_t* words);

  // Add words[row] (null: 1) to the cells [group][bin][lane] of groups [first, last) of one tile.
  // `rows` null: rows begin .. begin + n - 1.
  void (*add_packed)(const Codes& codes, int first, int last, const std::int64_t* words,
                     const Row* rows, std::int64_t begin, std::int64_t n,
                     std::int64_t* const* group_cells);

  // The same for one group of columns with codes of two bytes: codes[row * lanes + lane].
  void (*add_packed_wide)(const std::uint16_t* codes, int n_lanes, const std::int64_t* words,
                          const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells);
  // Add values[row][cell_size] to the cells [group][bin][lane][cell_size] of groups [first, last)
  // of one tile. Rows as above.
  void (*add_cells)(const Codes& codes, int first, int last, const std::int64_t* values,
                    int cell_size, const Row* rows, std::int64_t begin, std::int64_t n,
                    std::int64_t* const* group_cells);

  // Adds packed[i] to h and g at wide[2 * i], and clears it.
  void (*unpack_cells)(std::int64_t* packed, std::int64_t n, std::int64_t* wide);

  // `counts` null: a child has enough copies if its h implies it, otherwise the split is undecided.
  // Otherwise cells of copies, in the layout of packed cells, decide; a column may have none.
  void (*search_packed)(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                        const PackedNode& node, LaneBests& bests);

  // The best splits of eight columns; undecided ones are not set.
  void (*search_half_words)(const std::int64_t* cells, int n_bins, const HalfWordNode& node,
                            LaneBests& bests);

  // Add the gains of a node's splits of eight columns, score(left) + score(right) - parent, to
  // those of other nodes; counts as above. An undecided split adds its gain if that is positive, so
  // that the sum is an upper bound.
  void (*add_gains)(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                    const PackedNode& node, double parent, GroupGains to);

  // The best sets of a categorical column, as found by CategorySearch; for nodes without bounds and
  // constraints.
  LevelScores (*search_levels)(const LevelCells& column, const LevelRules& rules,
                               const PackedNode& node);

  // Find the best split of one column between rows of different codes, the first one on ties.
  // Returns whether it beats `best`, which is then replaced. Scores are those of `search_packed`.
  bool (*search_ordered)(const Ordered* rows, const std::int64_t* words, const OrderedNode& node,
                         OrderedCut& best);
  // Set the bits of the rows whose code is at most `limit`.
  void (*mark_ordered)(const Code* codes, std::int64_t n_rows, Code limit, OrderedSides& sides);
  // Stable partition of rows[0, n) to `left` and `right` by their bits; null: not needed.
  void (*part_ordered)(const Ordered* rows, std::int64_t n, const OrderedSides& sides,
                       Ordered* left, Ordered* right);

  // into[i] -= from[i]
  void (*subtract)(std::int64_t* into, const std::int64_t* from, std::int64_t n);

  // Sort keys[0, n), n up to 1024; fifteen more may be overwritten. Null: no vectors wide enough to
  // pay.
  void (*sort_keys)(std::uint32_t* keys, std::int64_t n);

  // codes[i]: the bits of words[rows[i]] at the m ascending shifts, the first lowest; m <=
  // most_code_bits.
  void (*bit_codes)(const std::uint64_t* words, const Row* rows, std::int64_t n, const int* shifts,
                    int m, std::uint8_t* codes);

  // Add what each column contributes to the rows' scores in one tree; see tree_shap.hpp.
  void (*shap_tree)(const ShapTree& tree, const ShapRows& rows);

  // Add the derivatives of the logistic loss of each pair of row i and a row behind it; returns the
  // sum of the sizes of its slopes.
  double (*add_pairs)(const RankedRows& rows, std::int64_t i, double* gradient, double* hessian);

  const RandomThresholdKernels* drawn;  // for random thresholds
};

// The widest instruction set of this machine, unless WEALD_INSTRUCTIONS names another.
const Kernels& active();

// All that were compiled in and can run here, the plainest first.
std::vector<const Kernels*> runnable_kernels();

}  // namespace weald::kernels
