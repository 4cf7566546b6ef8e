#include "rotation/rotation_predictor.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/parallel.hpp"
#include "rotation/rotation.hpp"

namespace weald::rotation {
namespace {

constexpr std::int64_t few_rows = 8;           // fewer rows walk one by one
constexpr int together = 8;                    // trees that a row walks down at a time
constexpr std::int64_t most_values = 1 << 16;  // values of a block
constexpr std::int64_t least_block = 32, most_block = 8192;  // rows
constexpr std::int64_t worth_a_thread = 4'000;               // rows * trees

// Partitions rows: those that go left first, the others behind them in reverse. Both positions are
// written and the wrong one is overwritten later: no unpredictable branches.
template <class GoesLeft>
std::int32_t part_rows(const std::int32_t* from, std::int32_t* to, std::int32_t begin,
                       std::int32_t end, GoesLeft&& goes_left) {
  std::int32_t *left = to + begin, *right = to + end - 1;
  for (const std::int32_t *at = from + begin, *last = from + end; at != last; ++at) {
    const std::int64_t is_left = goes_left(*at) ? 1 : 0;
    *left = *at;
    *right = *at;
    left += is_left;
    right += is_left - 1;
  }
  return static_cast<std::int32_t>(left - to);
}

}  // namespace

// All components have width_ terms; short ones are padded with zeros.
RotationPredictor::RotationPredictor(const tree::Forest& forest, const RotationColumns& columns,
                                     const RotationsView& rotations)
    : forest_(forest), columns_(columns), n_slots_(columns.n_columns() + 1), width_(1) {
  nodes_.reserve(static_cast<std::size_t>(forest.n_nodes));
  for (std::int64_t t = 0; t < forest.n_trees; ++t)
    for (std::int64_t i = forest.first_node[t]; i < forest.first_node[t + 1]; ++i) {
      const bool is_leaf = forest.feature[i] < 0;
      const auto here = static_cast<std::int32_t>(i - forest.first_node[t]);
      nodes_.push_back({is_leaf ? std::numeric_limits<double>::quiet_NaN() : forest.threshold[i],
                        is_leaf ? 0 : 2 * forest.feature[i] + (forest.missing_left[i] != 0),
                        is_leaf ? here : forest.right[i]});
    }
  const auto& first = rotations.first_of_block;
  for (std::size_t b = 0; b + 1 < first.size(); ++b)
    width_ = std::max(width_, static_cast<int>(first[b + 1] - first[b]));
  if (width_ > 1) width_ = std::max(width_, 3);  // the default width has a loop of its own
  const std::int64_t n_columns = columns.n_columns(), n_rotated = columns.n_rotated();
  const std::vector<std::int64_t> first_loading = first_loadings(first);
  terms_.assign(static_cast<std::size_t>(forest.n_trees * n_columns * width_), {0.0, n_slots_ - 1});
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    Term* const tree_terms = terms_.data() + t * n_columns * width_;
    for (std::size_t b = 0; b + 1 < first.size(); ++b) {
      const std::int64_t size = first[b + 1] - first[b];
      const double* const loading = rotations.loading + t * first_loading.back() + first_loading[b];
      for (std::int64_t c = 0; c < size; ++c)
        for (std::int64_t i = 0; i < size; ++i)
          tree_terms[(first[b] + c) * width_ + i] = {loading[i * size + c],
                                                     rotations.order[t * n_rotated + first[b] + i]};
    }
    for (std::int64_t c = n_rotated; c < n_columns; ++c)
      tree_terms[c * width_] = {1.0, static_cast<std::int32_t>(c)};
  }
  only_.reserve(static_cast<std::size_t>(forest.n_leaves));
  for (std::int64_t leaf = 0; leaf < forest.n_leaves; ++leaf) {
    const double* const value = forest.value + leaf * forest.n_outputs;
    const auto is_zero = [](double x) { return x == 0.0; };
    const double* const end = value + forest.n_outputs;
    const double* const one = std::find_if_not(value, end - 1, is_zero);
    only_.push_back(std::all_of(one + 1, end, is_zero) ? static_cast<std::int32_t>(one - value)
                                                       : -1);
  }
}

// In groups of rows, so that cache lines of the table and the block are loaded once.
template <class T>
void RotationPredictor::standardise(const data::Table<T>& table, Block& block) const {
  constexpr std::int64_t group = 8;
  const std::int64_t n = block.n;
  block.values.resize(static_cast<std::size_t>(n * n_slots_));
  double* out = block.values.data();
  const auto add = [&](const std::vector<std::int32_t>& inputs, auto&& convert) {
    const auto n_inputs = static_cast<std::int64_t>(inputs.size());
    for (std::int64_t begin = 0; begin < n; begin += group) {
      const std::int64_t end = std::min(n, begin + group);
      for (std::int64_t i = 0; i < n_inputs; ++i)
        for (std::int64_t row = begin; row < end; ++row)
          out[i * n + row] =
              convert(i, static_cast<double>(table.at(block.first + row, inputs[i])));
    }
    out += n_inputs * n;
  };
  add(columns_.rotated,
      [&](std::int64_t i, double x) { return columns_.standardised(static_cast<int>(i), x); });
  add(columns_.kept, [](std::int64_t, double x) { return x; });
  add(columns_.flagged, [](std::int64_t, double x) { return flag_of(x); });
  std::fill_n(out, n, 0.0);
}

// One component of all rows. Terms are added in the order of the block.
void RotationPredictor::rotate(const Term* term, const Block& block, double* out) const {
  const std::int64_t n = block.n;
  const double* const first = block.values.data() + term[0].slot * n;
  for (std::int64_t i = 0; i < n; ++i) out[i] = term[0].loading * first[i];
  for (int t = 1; t < width_; ++t) {
    const double by = term[t].loading;
    const double* const from = block.values.data() + term[t].slot * n;
    for (std::int64_t i = 0; i < n; ++i) out[i] += by * from[i];
  }
}

// One component of one row, whose values are `stride` apart.
double RotationPredictor::component(const Term* term, const double* row,
                                    std::int64_t stride) const {
  double sum = term[0].loading * row[term[0].slot * stride];
  for (int t = 1; t < width_; ++t) sum += term[t].loading * row[term[t].slot * stride];
  return sum;
}

// Whether a row with this value of the node's column goes left.
bool RotationPredictor::goes_left(std::int64_t i, double x) const {
  const bool missing_left = (nodes_[i].feature & 1) != 0;
  if (const std::int32_t set = forest_.set_of(i); set >= 0)
    return forest_.sends_left(set, x, missing_left);
  return x <= nodes_[i].threshold || (x != x && missing_left);
}

// Partitions the rows at a node; returns where the right ones begin. A component needed by half of
// the rows is computed for all, because some will need it again.
std::int32_t RotationPredictor::part(std::int64_t tree, const Waiting& rows, Block& block) const {
  const Node node = nodes_[forest_.first_node[tree] + rows.node];
  const std::int32_t column = node.feature >> 1;
  const std::int64_t n = block.n;
  const std::int32_t* const from = block.lists[rows.list].data();
  std::int32_t* const to = block.lists[1 - rows.list].data();
  const auto part_by = [&](auto&& goes_left) {
    return part_rows(from, to, rows.begin, rows.end, goes_left);
  };
  const double threshold = node.threshold;
  const double* const values = block.values.data();
  if (column >= columns_.n_rotated())
    return part_by([&, x = values + column * n](std::int32_t row) {
      return goes_left(forest_.first_node[tree] + rows.node, x[row]);
    });
  const Term* const term = terms_of(tree) + std::int64_t{column} * width_;
  double* const whole = block.components.data() + column * n;
  if (std::int64_t& needed = block.needed[column]; 2 * needed < n) {
    needed += rows.end - rows.begin;
    if (2 * needed >= n) {
      rotate(term, block, whole);
    } else if (width_ == 3) {
      const double a = term[0].loading, b = term[1].loading, c = term[2].loading;
      const double* const x = values + term[0].slot * n;
      const double* const y = values + term[1].slot * n;
      const double* const z = values + term[2].slot * n;
      return part_by(
          [=](std::int32_t row) { return a * x[row] + b * y[row] + c * z[row] <= threshold; });
    } else {
      return part_by(
          [&](std::int32_t row) { return component(term, values + row, n) <= threshold; });
    }
  }
  return part_by([=](std::int32_t row) { return whole[row] <= threshold; });
}

template <class Visit>
void RotationPredictor::pass(std::int64_t tree, Block& block, Visit&& visit) const {
  const Node* const nodes = nodes_.data() + forest_.first_node[tree];
  const auto n_rotated = static_cast<std::size_t>(columns_.n_rotated());
  block.components.resize(n_rotated * static_cast<std::size_t>(block.n));
  block.needed.assign(n_rotated, 0);
  for (auto& list : block.lists) list.resize(static_cast<std::size_t>(block.n));
  std::iota(block.lists[0].begin(), block.lists[0].end(), 0);
  block.waiting.assign(1, {0, 0, block.n, 0});
  while (!block.waiting.empty()) {
    Waiting rows = block.waiting.back();
    block.waiting.pop_back();
    while (nodes[rows.node].right != rows.node) {
      const std::int32_t right = nodes[rows.node].right;
      const std::int32_t middle = part(tree, rows, block), other = 1 - rows.list;
      if (middle == rows.begin) {
        rows = {right, middle, rows.end, other};
        continue;
      }
      if (middle < rows.end) block.waiting.push_back({right, middle, rows.end, other});
      rows = {rows.node + 1, rows.begin, middle, other};
    }
    visit(tree, leaf_at(tree, rows.node), block.first, block.lists[rows.list].data() + rows.begin,
          rows.end - rows.begin);
  }
}

// The only row of a block walks down several trees at a time, so that cache misses overlap.
template <class Visit>
void RotationPredictor::walk(const Block& block, Visit&& visit) const {
  const std::int32_t row = 0;
  for (std::int64_t first = 0; first < forest_.n_trees; first += together) {
    const auto n = static_cast<int>(std::min<std::int64_t>(together, forest_.n_trees - first));
    std::int32_t at[together] = {};
    for (std::int32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int i = 0; i < n; ++i) {
        const std::int64_t here = forest_.first_node[first + i] + at[i];
        const Node node = nodes_[here];
        const std::int32_t column = node.feature >> 1;
        const Term* const term = terms_of(first + i) + std::int64_t{column} * width_;
        const double x = component(term, block.values.data(), 1);
        std::int32_t is_left = x <= node.threshold;
        if (column >= columns_.n_rotated() && node.right != at[i]) is_left = goes_left(here, x);
        // Not `?:`, which compilers turn into an unpredictable branch.
        const std::int32_t next = node.right + ((at[i] + 1 - node.right) & -is_left);
        moved |= next ^ at[i];
        at[i] = next;
      }
    }
    for (int i = 0; i < n; ++i) visit(first + i, leaf_at(first + i, at[i]), block.first, &row, 1);
  }
}

// Calls visit(tree, leaf, first row, rows, n) for the rows of every leaf. Every thread gets equally
// many blocks, none larger than fits the cache.
template <class T, class Visit>
void RotationPredictor::visit_leaves(const data::Table<T>& table, int n_threads,
                                     Visit&& visit) const {
  const std::int64_t n_rows = table.n_rows;
  if (n_rows * forest_.n_trees < worth_a_thread) n_threads = 1;
  const auto parts = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  const bool is_few = n_rows < few_rows;
  std::int64_t size = 1;
  if (!is_few) {
    const std::int64_t most = std::clamp(most_values / n_slots_, least_block, most_block);
    const std::int64_t n_blocks = parts(parts(n_rows, most), n_threads) * n_threads;
    size = std::max(least_block, parts(n_rows, n_blocks));
  }
  std::vector<Block> blocks(static_cast<std::size_t>(n_threads));  // one per thread
  parallel_for(parts(n_rows, size), n_threads, [&](std::int64_t task, int thread) {
    Block& block = blocks[thread];
    block.first = task * size;
    block.n = static_cast<std::int32_t>(std::min(size, n_rows - block.first));
    standardise(table, block);
    if (is_few)
      walk(block, visit);
    else
      for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) pass(tree, block, visit);
  });
}

template <class T>
void RotationPredictor::predict(const data::Table<T>& table, double* sums, int n_threads) const {
  const int n = forest_.n_outputs;
  std::fill_n(sums, table.n_rows * n, 0.0);
  visit_leaves(table, n_threads,
               [&](std::int64_t tree, std::int64_t leaf, std::int64_t first,
                   const std::int32_t* rows, std::int32_t n_rows) {
                 leaf += forest_.first_leaf[tree];
                 const double* const value = forest_.value + leaf * n;
                 double* const block_sums = sums + first * n;
                 if (const std::int32_t k = only_[leaf]; k >= 0)
                   for (std::int32_t i = 0; i < n_rows; ++i)
                     block_sums[rows[i] * n + k] += value[k];
                 else
                   for (std::int32_t i = 0; i < n_rows; ++i)
                     for (int j = 0; j < n; ++j) block_sums[rows[i] * n + j] += value[j];
               });
}

template <class T>
void RotationPredictor::spread(const data::Table<T>& table, const double* centre, double* squares,
                               int n_threads) const {
  const int n = forest_.n_outputs;
  std::fill_n(squares, table.n_rows * n, 0.0);
  visit_leaves(table, n_threads,
               [&](std::int64_t tree, std::int64_t leaf, std::int64_t first,
                   const std::int32_t* rows, std::int32_t n_rows) {
                 const double* const value = forest_.value + (forest_.first_leaf[tree] + leaf) * n;
                 for (std::int32_t i = 0; i < n_rows; ++i)
                   for (int k = 0; k < n; ++k) {
                     const std::int64_t at = (first + rows[i]) * n + k;
                     const double d = value[k] - centre[at];
                     squares[at] += d * d;
                   }
               });
}

template <class T>
void RotationPredictor::apply(const data::Table<T>& table, std::int32_t* leaves,
                              int n_threads) const {
  visit_leaves(table, n_threads,
               [&](std::int64_t tree, std::int32_t leaf, std::int64_t first,
                   const std::int32_t* rows, std::int32_t n_rows) {
                 for (std::int32_t i = 0; i < n_rows; ++i)
                   leaves[(first + rows[i]) * forest_.n_trees + tree] = leaf;
               });
}

template void RotationPredictor::predict(const data::Table<float>&, double*, int) const;
template void RotationPredictor::predict(const data::Table<double>&, double*, int) const;
template void RotationPredictor::spread(const data::Table<float>&, const double*, double*,
                                        int) const;
template void RotationPredictor::spread(const data::Table<double>&, const double*, double*,
                                        int) const;
template void RotationPredictor::apply(const data::Table<float>&, std::int32_t*, int) const;
template void RotationPredictor::apply(const data::Table<double>&, std::int32_t*, int) const;

}  // namespace weald::rotation
