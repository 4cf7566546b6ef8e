#include "rotated_predictor.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"
#include "rotation.hpp"

namespace weald {
namespace {

constexpr int together = 8;                     // rows that walk side by side
constexpr std::int64_t most_ready = 1 << 16;    // values of rows that are made ready at once
constexpr std::int64_t worth_a_thread = 4'000;  // pairs of a row and a tree

}  // namespace

// All components have `width_` terms: short ones are filled up with products of zeros.
RotatedPredictor::RotatedPredictor(const Forest& forest, const RotationColumns& columns,
                                   const RotationsView& rotations)
    : forest_(forest), columns_(columns), n_slots_(columns.n_columns() + 1), width_(1) {
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
  if (width_ > 1) width_ = std::max(width_, 3);  // the usual width has a loop of its own
  const std::int64_t n_columns = columns.n_columns(), n_rotated = columns.n_rotated();
  const std::vector<std::int64_t> first_loading = first_loadings(first);
  terms_.assign(static_cast<std::size_t>(forest.n_trees * n_columns * width_), {0.0, n_slots_ - 1});
  for (std::int64_t t = 0; t < forest.n_trees; ++t) {
    Term* const of_tree = terms_.data() + t * n_columns * width_;
    for (std::size_t b = 0; b + 1 < first.size(); ++b) {
      const std::int64_t size = first[b + 1] - first[b];
      const double* const loading = rotations.loading + t * first_loading.back() + first_loading[b];
      for (std::int64_t c = 0; c < size; ++c)
        for (std::int64_t i = 0; i < size; ++i)
          of_tree[(first[b] + c) * width_ + i] = {loading[i * size + c],
                                                  rotations.order[t * n_rotated + first[b] + i]};
    }
    for (std::int64_t c = n_rotated; c < n_columns; ++c)
      of_tree[c * width_] = {1.0, static_cast<std::int32_t>(c)};
  }
}

template <class T>
void RotatedPredictor::make_ready(const Table<T>& table, std::int64_t begin, std::int64_t end,
                                  double* rows) const {
  const int n_rotated = columns_.n_rotated();
  for (std::int64_t row = begin; row < end; ++row, rows += n_slots_) {
    double* out = rows;
    for (int i = 0; i < n_rotated; ++i)
      *out++ = columns_.ready(i, static_cast<double>(table.at(row, columns_.rotated[i])));
    for (const std::int32_t column : columns_.kept)
      *out++ = static_cast<double>(table.at(row, column));
    for (const std::int32_t column : columns_.flagged)
      *out++ = flag_of(static_cast<double>(table.at(row, column)));
    *out = 0.0;
  }
}

template <int width>
double RotatedPredictor::component(const Term* terms, std::int32_t column,
                                   const double* row) const {
  if constexpr (width == 3) {
    const Term* const term = terms + std::int64_t{column} * 3;
    return term[0].loading * row[term[0].slot] + term[1].loading * row[term[1].slot] +
           term[2].loading * row[term[2].slot];
  } else {
    const Term* const term = terms + std::int64_t{column} * width_;
    double sum = term[0].loading * row[term[0].slot];
    for (int i = 1; i < width_; ++i) sum += term[i].loading * row[term[i].slot];
    return sum;
  }
}

// Not `?:`, which compilers turn into a branch that is mispredicted half of the time.
std::int32_t RotatedPredictor::next_node(std::int64_t first, std::int32_t at, double x) const {
  const Node& node = nodes_[first + at];
  std::int32_t goes_left = (x <= node.threshold) | ((x != x) & (node.feature & 1));
  if (forest_.n_sets > 0)
    if (const std::int32_t set = forest_.set_of(first + at); set >= 0)
      goes_left = forest_.sends_left(set, x, node.feature & 1);
  return node.right + ((at + 1 - node.right) & -goes_left);
}

// Calls visit(tree, row, leaf) for all rows of [begin, end), for each of them in the order of the
// trees; the last of a group that is not full walks for those that are not there.
template <int width, class Visit>
void RotatedPredictor::walk(const double* rows, std::int64_t begin, std::int64_t end,
                            Visit&& visit) const {
  const std::int64_t n_columns = columns_.n_columns();
  for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) {
    const std::int64_t first_node = forest_.first_node[tree];
    const Node* const nodes = nodes_.data() + first_node;
    const Term* const terms = terms_.data() + tree * n_columns * width_;
    for (std::int64_t first = begin; first < end; first += together) {
      std::int32_t at[together] = {};
      const double* of_row[together];
      for (int i = 0; i < together; ++i)
        of_row[i] = rows + (std::min(first + i, end - 1) - begin) * n_slots_;
      for (std::int32_t moved = 1; moved != 0;) {
        moved = 0;
        for (int i = 0; i < together; ++i) {
          const double x = component<width>(terms, nodes[at[i]].feature >> 1, of_row[i]);
          const std::int32_t next = next_node(first_node, at[i], x);
          moved |= next ^ at[i];
          at[i] = next;
        }
      }
      for (int i = 0; i < together && first + i < end; ++i)
        visit(tree, first + i, forest_.right[first_node + at[i]]);
    }
  }
}

template <class T, class Visit>
void RotatedPredictor::walk_all(const Table<T>& table, int n_threads, Visit&& visit) const {
  const std::int64_t n_rows = std::clamp<std::int64_t>(most_ready / n_slots_, together, 256);
  const bool pays = table.n_rows * forest_.n_trees >= worth_a_thread;
  parallel_for((table.n_rows + n_rows - 1) / n_rows, pays ? n_threads : 1,
               [&](std::int64_t task, int) {
                 const std::int64_t begin = task * n_rows;
                 const std::int64_t end = std::min(table.n_rows, begin + n_rows);
                 std::vector<double> rows(static_cast<std::size_t>((end - begin) * n_slots_));
                 make_ready(table, begin, end, rows.data());
                 width_ == 3 ? walk<3>(rows.data(), begin, end, visit)
                             : walk<0>(rows.data(), begin, end, visit);
               });
}

template <class T>
void RotatedPredictor::predict(const Table<T>& table, double* sums, int n_threads) const {
  const int n = forest_.n_outputs;
  std::fill_n(sums, table.n_rows * n, 0.0);
  walk_all(table, n_threads, [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
    const double* const value = forest_.value + (forest_.first_leaf[tree] + leaf) * n;
    for (int k = 0; k < n; ++k) sums[row * n + k] += value[k];
  });
}

template <class T>
void RotatedPredictor::spread(const Table<T>& table, const double* centre, double* squares,
                              int n_threads) const {
  const int n = forest_.n_outputs;
  std::fill_n(squares, table.n_rows * n, 0.0);
  walk_all(table, n_threads, [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
    const double* const value = forest_.value + (forest_.first_leaf[tree] + leaf) * n;
    for (int k = 0; k < n; ++k) {
      const double d = value[k] - centre[row * n + k];
      squares[row * n + k] += d * d;
    }
  });
}

template <class T>
void RotatedPredictor::apply(const Table<T>& table, std::int32_t* leaves, int n_threads) const {
  walk_all(table, n_threads, [&](std::int64_t tree, std::int64_t row, std::int32_t leaf) {
    leaves[row * forest_.n_trees + tree] = leaf;
  });
}

template void RotatedPredictor::predict(const Table<float>&, double*, int) const;
template void RotatedPredictor::predict(const Table<double>&, double*, int) const;
template void RotatedPredictor::spread(const Table<float>&, const double*, double*, int) const;
template void RotatedPredictor::spread(const Table<double>&, const double*, double*, int) const;
template void RotatedPredictor::apply(const Table<float>&, std::int32_t*, int) const;
template void RotatedPredictor::apply(const Table<double>&, std::int32_t*, int) const;

}  // namespace weald
