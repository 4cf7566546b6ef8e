#include "predict/batch_walk.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/parallel.hpp"
#include "forest/random_threshold_values.hpp"

namespace weald::predict {
namespace {

constexpr int together = 16;        // rows traversed concurrently
constexpr int steps_per_check = 4;  // steps between checks whether all rows have reached a leaf
// Up to this depth, rows take as many steps as the tree is deep, without checks: score_samples of
// IsolationForest (100 trees of depth 8, 100,000 x 20 rows) takes 0.6 of the time.
constexpr std::uint8_t shallow = 12;
constexpr std::int64_t block_bytes =
    384 * 1024;  // of rows: fits the second-level cache together with a tree

// Leaf markers: NaNs with a payload, whose highest bit says that it is a class.
template <class T>
struct Mark {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Bits nan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  static constexpr Bits class_bit = Bits{1} << (sizeof(T) == 4 ? 21 : 31);
};

template <class T>
bool any_missing(const data::Table<T>& table) {
  for (std::int64_t row = 0; row < table.n_rows; ++row) {
    bool misses = false;
    for (std::int64_t c = 0; c < table.n_columns; ++c) {
      const T x = table.at(row, c);
      misses |= x != x;
    }
    if (misses) return true;
  }
  return false;
}

}  // namespace

template <class T, class Index>
bool BatchWalk<T, Index>::fits(const tree::Forest& forest, std::int64_t n_columns) {
  constexpr auto most = static_cast<std::int64_t>(std::numeric_limits<Index>::max());
  if (forest.n_sets > 0 || n_columns > most / together) return false;
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    if (forest.first_node[t + 1] - forest.first_node[t] >= most) return false;
    if (forest.first_leaf[t + 1] - forest.first_leaf[t] >= std::int64_t{Mark<T>::class_bit})
      return false;
  }
  return true;
}

template <class T, class Index>
BatchWalk<T, Index>::BatchWalk(const tree::Forest& forest, const double* values,
                               const data::Table<T>& table, int n_threads)
    : forest_(forest),
      values_(values),
      table_(table),
      has_missing_(any_missing(table)),
      // Adding zeros is skipped, except to a negative zero.
      marks_purity_(forest.n_values > 1 &&
                    std::none_of(forest.base_score, forest.base_score + forest.n_outputs,
                                 [](double x) { return x == 0.0 && std::signbit(x); })),
      nodes_(static_cast<std::size_t>(forest.n_nodes + forest.n_trees)),
      depth_(static_cast<std::size_t>(forest.n_trees)) {
  parallel_for(forest.n_trees, n_threads, [&](std::int64_t tree, int) { lay_out(tree); });
}

// Slots of a tree: 0 is unused, the root is 1, then pairs of siblings, a parent's pair before those
// of its children.
template <class T, class Index>
void BatchWalk<T, Index>::lay_out(std::int64_t tree) {
  const std::int64_t first = forest_.first_node[tree];
  const auto n = static_cast<std::int32_t>(forest_.first_node[tree + 1] - first);
  Node* const nodes = nodes_.data() + first + tree;
  std::vector<Index> place(static_cast<std::size_t>(n));
  std::vector<std::uint8_t> depth(place.size());  // that of deep trees is of no interest
  place[0] = 1;
  Index next = 2;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t column = forest_.feature[first + i], right = forest_.right[first + i];
    Node& node = nodes[place[i]];
    if (column < 0) {
      node = {mark(tree, right), static_cast<Index>(place[i] - 1), 0};
      continue;
    }
    const auto below = static_cast<std::uint8_t>(std::min<int>(depth[i] + 1, shallow + 1));
    depth[i + 1] = depth[right] = below;
    depth_[tree] = std::max(depth_[tree], below);
    const bool missing_left = has_missing_ && forest_.missing_left[first + i];
    node = {forest::at_most<T>(forest_.threshold[first + i]), next,
            static_cast<Index>(column * together + missing_left)};
    place[i + 1] = next++;
    place[right] = next++;
  }
}

// Marker of a leaf: its only class, if it has the tree's whole weight, or its leaf index.
template <class T, class Index>
T BatchWalk<T, Index>::mark(std::int64_t tree, std::int32_t leaf) const {
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

template <class T, class Index>
void BatchWalk<T, Index>::add(double* scores, int n_threads) const {
  const std::int64_t n_rows = table_.n_rows, n_columns = table_.n_columns;
  const std::int64_t row_bytes = n_columns * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t fitting = std::max<std::int64_t>(block_bytes / row_bytes / together, 4);
  const std::int64_t share = n_rows / n_threads / together + 1;
  const std::int64_t size = std::min(share, fitting) * together;
  std::vector<LargeVector<T>> blocks(static_cast<std::size_t>(n_threads));
  parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t b, int worker) {
    const std::int64_t begin = b * size, n = std::min(size, n_rows - begin);
    LargeVector<T>& block = blocks[worker];
    block.resize(static_cast<std::size_t>(size * n_columns));
    fill(begin, n, block.data());
    double* const own = scores + begin * forest_.n_outputs;
    for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree)
      has_missing_ ? walk<true>(tree, block.data(), n, own)
                   : walk<false>(tree, block.data(), n, own);
  });
}

// block[group of rows][column][row]; past the last row entries are arbitrary.
template <class T, class Index>
void BatchWalk<T, Index>::fill(std::int64_t begin, std::int64_t n, T* block) const {
  const std::int64_t n_columns = table_.n_columns;
  for (std::int64_t i = 0; i < n || i % together != 0; ++i) {
    T* const to = block + i / together * together * n_columns + i % together;
    for (std::int64_t c = 0; c < n_columns; ++c)
      to[c * together] = i < n ? table_.at(begin + i, c) : T{0};
  }
}

template <class T, class Index>
template <bool has_missing>
void BatchWalk<T, Index>::walk(std::int64_t tree, const T* block, std::int64_t n,
                               double* scores) const {
  const Node* const nodes = nodes_.data() + forest_.first_node[tree] + tree;
  const auto next = [=](std::uint32_t at, const T* x) {
    const Node& node = nodes[at];
    const std::size_t column = node.column;
    const T value = has_missing ? x[column & ~std::size_t{1}] : x[column];
    bool goes_left = value <= node.threshold;
    if (has_missing) goes_left |= (value != value) & ((column & 1) != 0);
    return std::uint32_t{node.left} + !goes_left;
  };
  for (std::int64_t first = 0; first < n; first += together) {
    const T* const x = block + first * table_.n_columns;
    std::uint32_t at[together];
    std::fill_n(at, together, 1U);
    const bool is_shallow = depth_[tree] <= shallow;
    for (int step = 0; is_shallow && step < depth_[tree]; ++step)
      for (int i = 0; i < together; ++i) at[i] = next(at[i], x + i);
    for (std::uint32_t moved = !is_shallow; moved != 0;) {
      moved = 0;
      for (int step = 1; step < steps_per_check; ++step)
        for (int i = 0; i < together; ++i) at[i] = next(at[i], x + i);
      for (int i = 0; i < together; ++i) {
        const std::uint32_t to = next(at[i], x + i);
        moved |= to ^ at[i];
        at[i] = to;
      }
    }
    const auto n_here = static_cast<int>(std::min<std::int64_t>(together, n - first));
    if (forest_.n_values == 1 && forest_.n_outputs == 1) {
      using M = Mark<T>;
      const double* const value = values_ + forest_.first_leaf[tree];
      double* const score = scores + first;
      for (int i = 0; i < n_here; ++i)
        score[i] +=
            value[std::bit_cast<typename M::Bits>(nodes[at[i]].threshold) & (M::class_bit - 1)];
      continue;
    }
    for (int i = 0; i < n_here; ++i)
      add_leaf(tree, nodes[at[i]], scores + (first + i) * forest_.n_outputs);
  }
}

template <class T, class Index>
void BatchWalk<T, Index>::add_leaf(std::int64_t tree, const Node& leaf, double* score) const {
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

template <class T>
bool fits_batch(const tree::Forest& forest, std::int64_t n_columns) {
  return BatchWalk<T, std::uint32_t>::fits(forest, n_columns);
}

template <class T>
void walk_batch(const tree::Forest& forest, const double* values, const data::Table<T>& table,
                double* scores, int n_threads) {
  if (BatchWalk<T, std::uint16_t>::fits(forest, table.n_columns))
    BatchWalk<T, std::uint16_t>(forest, values, table, n_threads).add(scores, n_threads);
  else
    BatchWalk<T, std::uint32_t>(forest, values, table, n_threads).add(scores, n_threads);
}

template bool fits_batch<float>(const tree::Forest&, std::int64_t);
template bool fits_batch<double>(const tree::Forest&, std::int64_t);
template void walk_batch(const tree::Forest&, const double*, const data::Table<float>&, double*,
                         int);
template void walk_batch(const tree::Forest&, const double*, const data::Table<double>&, double*,
                         int);

}  // namespace weald::predict
