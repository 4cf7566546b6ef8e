#include "batch_walk.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "drawn_values.hpp"
#include "parallel.hpp"

namespace weald {
namespace {

constexpr int together = 16;     // rows that walk side by side
constexpr int steps_a_look = 4;  // between two looks whether all have arrived
constexpr int column_shift = 4;  // columns of a block lie `together` values apart
constexpr std::uint32_t missing_left = 1;
constexpr std::int64_t block_bytes = 384 * 1024;  // of rows: with a tree they fill a second cache

static_assert(1 << column_shift == together);

int bits_of_column(std::int64_t n_columns) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_columns - 1)));
}

// Marks: NaNs that carry a number, of which the highest bit says that it is a class.
template <class T>
struct Mark {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Bits nan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  static constexpr Bits class_bit = Bits{1} << (sizeof(T) == 4 ? 21 : 31);
};

}  // namespace

template <class T>
bool BatchWalk<T>::fits(const Forest& forest, std::int64_t n_columns) {
  if (forest.n_sets > 0) return false;
  const std::int64_t most = std::int64_t{1}
                            << std::max(0, 32 - column_shift - bits_of_column(n_columns));
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    const std::int64_t n_nodes = forest.first_node[t + 1] - forest.first_node[t];
    if (n_nodes + 1 >= most || n_nodes >= static_cast<std::int64_t>(Mark<T>::class_bit))
      return false;
  }
  return true;
}

template <class T>
BatchWalk<T>::BatchWalk(const Forest& forest, const double* values, std::int64_t n_columns,
                        int n_threads)
    : forest_(forest),
      values_(values),
      n_columns_(n_columns),
      shift_(column_shift + bits_of_column(n_columns)),
      // Zeros need not be added, except to a zero that has a sign.
      marks_purity_(forest.n_values > 1 &&
                    std::none_of(forest.base_score, forest.base_score + forest.n_outputs,
                                 [](double x) { return x == 0.0 && std::signbit(x); })),
      nodes_(static_cast<std::size_t>(forest.n_nodes + forest.n_trees)) {
  parallel_for(forest.n_trees, n_threads, [&](std::int64_t tree, int) { lay_out(tree); });
}

// Places of a tree: 0 is free, the root is 1, then pairs of siblings, a parent's before those of
// its children.
template <class T>
void BatchWalk<T>::lay_out(std::int64_t tree) {
  const std::int64_t first = forest_.first_node[tree];
  const auto n = static_cast<std::int32_t>(forest_.first_node[tree + 1] - first);
  Node* const nodes = nodes_.data() + first + tree;
  std::vector<std::uint32_t> place(static_cast<std::size_t>(n));
  place[0] = 1;
  std::uint32_t next = 2;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t column = forest_.feature[first + i], right = forest_.right[first + i];
    Node& node = nodes[place[i]];
    if (column < 0) {
      node = {mark(tree, right), (place[i] - 1) << shift_};
      continue;
    }
    node = {at_most<T>(forest_.threshold[first + i]),
            next << shift_ | static_cast<std::uint32_t>(column) << column_shift |
                (forest_.missing_left[first + i] ? missing_left : 0)};
    place[i + 1] = next;
    place[right] = next + 1;
    next += 2;
  }
}

// What a leaf says: its only class, if it has the tree's whole weight, or its number.
template <class T>
T BatchWalk<T>::mark(std::int64_t tree, std::int32_t leaf) const {
  using M = Mark<T>;
  using Bits = typename M::Bits;
  const int n = forest_.n_values;
  const double* const value = values_ + (forest_.first_leaf[tree] + leaf) * n;
  if (marks_purity_ && forest_.tree_weight[tree] > 0.0) {
    const auto n_zeros = std::count(value, value + n, 0.0);
    const auto whole = std::find(value, value + n, forest_.tree_weight[tree]) - value;
    if (n_zeros == n - 1 && whole < n)
      return std::bit_cast<T>(M::nan | M::class_bit | static_cast<Bits>(whole));
  }
  return std::bit_cast<T>(M::nan | static_cast<Bits>(leaf));
}

template <class T>
void BatchWalk<T>::add(const Table<T>& table, double* scores, int n_threads) const {
  const std::int64_t fitting =
      block_bytes / (n_columns_ * static_cast<std::int64_t>(sizeof(T))) / together * together;
  const std::int64_t share = (table.n_rows / n_threads / together + 1) * together;
  const std::int64_t size = std::min(share, std::max<std::int64_t>(fitting, 4 * together));
  const std::int64_t n_blocks = (table.n_rows + size - 1) / size;
  std::vector<LargeVector<T>> blocks(static_cast<std::size_t>(n_threads));
  parallel_for(n_blocks, n_threads, [&](std::int64_t b, int worker) {
    const std::int64_t begin = b * size, n = std::min(size, table.n_rows - begin);
    LargeVector<T>& block = blocks[worker];
    block.resize(static_cast<std::size_t>(size * n_columns_));
    const bool has_missing = fill(table, begin, n, block.data());
    double* const own = scores + begin * forest_.n_outputs;
    for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree)
      has_missing ? walk<true>(tree, block.data(), n, own)
                  : walk<false>(tree, block.data(), n, own);
  });
}

// block[group of rows][column][row]; tells whether any value is missing.
template <class T>
bool BatchWalk<T>::fill(const Table<T>& table, std::int64_t begin, std::int64_t n, T* block) const {
  bool has_missing = false;
  for (std::int64_t i = 0; i < n; ++i) {
    T* const to = block + i / together * together * n_columns_ + i % together;
    for (std::int64_t c = 0; c < n_columns_; ++c) {
      const T x = table.at(begin + i, c);
      to[c * together] = x;
      has_missing |= x != x;
    }
  }
  for (std::int64_t i = n; i % together != 0; ++i)  // of rows that are none: any number
    for (std::int64_t c = 0; c < n_columns_; ++c)
      block[i / together * together * n_columns_ + c * together + i % together] = T{0};
  return has_missing;
}

template <class T>
template <bool has_missing>
void BatchWalk<T>::walk(std::int64_t tree, const T* block, std::int64_t n, double* scores) const {
  const Node* const nodes = nodes_.data() + forest_.first_node[tree] + tree;
  const std::uint32_t of_column = ((1U << shift_) - 1) & ~((1U << column_shift) - 1);
  const auto next = [=, shift = shift_](std::uint32_t at, const T* x) {
    const Node& node = nodes[at];
    const T value = x[node.way & of_column];
    bool goes_left = value <= node.threshold;
    if (has_missing) goes_left |= (value != value) & ((node.way & missing_left) != 0);
    return (node.way >> shift) + !goes_left;
  };
  for (std::int64_t first = 0; first < n; first += together) {
    const T* const x = block + first * n_columns_;
    std::uint32_t at[together];
    std::fill_n(at, together, 1U);
    for (std::uint32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int step = 1; step < steps_a_look; ++step)
        for (int i = 0; i < together; ++i) at[i] = next(at[i], x + i);
      for (int i = 0; i < together; ++i) {
        const std::uint32_t to = next(at[i], x + i);
        moved |= to ^ at[i];
        at[i] = to;
      }
    }
    const auto n_here = static_cast<int>(std::min<std::int64_t>(together, n - first));
    for (int i = 0; i < n_here; ++i)
      answer(tree, nodes[at[i]], scores + (first + i) * forest_.n_outputs);
  }
}

template <class T>
void BatchWalk<T>::answer(std::int64_t tree, const Node& leaf, double* score) const {
  using M = Mark<T>;
  const auto number = std::bit_cast<typename M::Bits>(leaf.threshold) & (2 * M::class_bit - 1);
  if (number & M::class_bit) {
    score[number & (M::class_bit - 1)] += forest_.tree_weight[tree];
    return;
  }
  const int n = forest_.n_values;
  const double* const value =
      values_ + (forest_.first_leaf[tree] + static_cast<std::int64_t>(number)) * n;
  score += std::max(forest_.output[tree], 0);
  for (int k = 0; k < n; ++k) score[k] += value[k];
}

template class BatchWalk<float>;
template class BatchWalk<double>;

}  // namespace weald
