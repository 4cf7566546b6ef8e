#include "rotated_predictor.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"
#include "rotation.hpp"

namespace weald {
namespace {

constexpr int together = 8;                     // rows that walk side by side
constexpr std::int64_t most_ready = 1 << 16;    // values of rows that are made ready at once
constexpr int few_columns = 40;                 // a walk asks for some dozen components
constexpr std::int64_t worth_a_thread = 4'000;  // pairs of a row and a tree

}  // namespace

// All components have `width_` terms: short ones are filled up with products of zeros.
RotatedPredictor::RotatedPredictor(const Forest& forest, const RotationColumns& columns,
                                   const RotationsView& rotations)
    : forest_(forest),
      columns_(columns),
      n_slots_(columns.n_columns() + 1),
      width_(1),
      rotates_first_(columns.n_columns() <= few_columns) {
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
void RotatedPredictor::make_ready(const Table<T>& table, const ReadyRows& rows,
                                  double* values) const {
  const auto n_rotated = static_cast<std::size_t>(columns_.n_rotated());
  const std::size_t n_kept = n_rotated + columns_.kept.size();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    double* const out = values + (row - rows.begin) * rows.row_stride;
    const auto at = [&](std::int32_t column) { return static_cast<double>(table.at(row, column)); };
    for (std::size_t i = 0; i < n_rotated; ++i)
      out[i * rows.slot_stride] = columns_.ready(static_cast<int>(i), at(columns_.rotated[i]));
    for (std::size_t i = 0; i < columns_.kept.size(); ++i)
      out[(n_rotated + i) * rows.slot_stride] = at(columns_.kept[i]);
    for (std::size_t i = 0; i < columns_.flagged.size(); ++i)
      out[(n_kept + i) * rows.slot_stride] = flag_of(at(columns_.flagged[i]));
    out[(n_slots_ - 1) * rows.slot_stride] = 0.0;
  }
}

// All components of a tree: [columns][rows]. Terms are added in the order of the block.
void RotatedPredictor::rotate(std::int64_t tree, const ReadyRows& rows, double* components) const {
  const std::int64_t n = rows.end - rows.begin;
  const Term* term = terms_.data() + tree * columns_.n_columns() * width_;
  for (int column = 0; column < columns_.n_columns(); ++column, term += width_) {
    double* const out = components + column * rows.slot_stride;
    const double* const first = rows.values + term[0].slot * rows.slot_stride;
    for (std::int64_t i = 0; i < n; ++i) out[i] = term[0].loading * first[i];
    for (int t = 1; t < width_; ++t) {
      const double by = term[t].loading;
      const double* const from = rows.values + term[t].slot * rows.slot_stride;
      if (by == 0.0 && term[t].slot == n_slots_ - 1) break;  // only zeros follow
      for (std::int64_t i = 0; i < n; ++i) out[i] += by * from[i];
    }
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

// Calls visit(tree, row, leaf) for all rows; component(column, i) is asked of row begin + i. Rows
// walk side by side, so that one waits for memory while others go on; the last of a group that is
// not full walks for those that are not there.
template <bool has_sets, class Component, class Visit>
void RotatedPredictor::walk(std::int64_t tree, const ReadyRows& rows, Component&& component,
                            Visit&& visit) const {
  const std::int64_t first_node = forest_.first_node[tree], n = rows.end - rows.begin;
  const Node* const nodes = nodes_.data() + first_node;
  for (std::int64_t first = 0; first < n; first += together) {
    std::int32_t at[together] = {};
    std::int64_t row[together];
    for (int i = 0; i < together; ++i) row[i] = std::min(first + i, n - 1);
    for (std::int32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int i = 0; i < together; ++i) {
        const Node node = nodes[at[i]];
        const double x = component(node.feature >> 1, row[i]);
        std::int32_t goes_left = (x <= node.threshold) | ((x != x) & (node.feature & 1));
        if constexpr (has_sets)
          if (const std::int32_t set = forest_.set_of(first_node + at[i]); set >= 0)
            goes_left = forest_.sends_left(set, x, node.feature & 1);
        // Not `?:`, which compilers turn into a branch that is mispredicted half of the time.
        const std::int32_t next = node.right + ((at[i] + 1 - node.right) & -goes_left);
        moved |= next ^ at[i];
        at[i] = next;
      }
    }
    for (int i = 0; i < together && first + i < n; ++i)
      visit(tree, rows.begin + first + i, forest_.right[first_node + at[i]]);
  }
}

template <class Visit>
void RotatedPredictor::walk_tree(std::int64_t tree, const ReadyRows& rows, double* components,
                                 Visit&& visit) const {
  const auto go = [&](auto&& component_of) {
    forest_.n_sets > 0 ? walk<true>(tree, rows, component_of, visit)
                       : walk<false>(tree, rows, component_of, visit);
  };
  const Term* const terms = terms_.data() + tree * columns_.n_columns() * width_;
  const double* const values = rows.values;
  const std::int64_t stride = rows.slot_stride, width = rows.row_stride;
  if (components) {
    rotate(tree, rows, components);
    const double* const all = components;
    go([=](std::int32_t column, std::int64_t i) { return all[column * stride + i]; });
  } else if (width_ == 3) {
    go([=, this](std::int32_t column, std::int64_t i) {
      return component<3>(terms, column, values + i * width);
    });
  } else {
    go([=, this](std::int32_t column, std::int64_t i) {
      return component<0>(terms, column, values + i * width);
    });
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
                 const bool first = rotates_first_ && end - begin >= together;
                 std::vector<double> values(static_cast<std::size_t>((end - begin) * n_slots_));
                 std::vector<double> components(first ? values.size() : 0);
                 const ReadyRows rows{begin, end, first ? 1 : n_slots_, first ? end - begin : 1,
                                      values.data()};
                 make_ready(table, rows, values.data());
                 for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree)
                   walk_tree(tree, rows, first ? components.data() : nullptr, visit);
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
