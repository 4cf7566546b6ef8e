// Random thresholds of small nodes: the parts of SmallSearch that differ by kind of target.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "forest/random_threshold_pairs.hpp"
#include "forest/random_threshold_values.hpp"
#include "forest/small_node_writer.hpp"
#include "forest/small_pair_rows.hpp"
#include "kernels/random_thresholds.hpp"

namespace weald::forest {

// Regression and two classes: the sums of several columns are found in one pass over the rows,
// eight columns with AVX-512 if a node draws more than two, else two columns. Extra trees with one
// column at a time take 1.56 times the processor time on 100,000 x 28 and 1.14 times on 20,640 x 8;
// without AVX-512 1.17 and 1.05 times (docs/decisions/0019). Kept apart from ThresholdByColumn
// because class counts do not fit the two words of a row.
template <class T, int most_rows>
class ThresholdsByBatch {
 public:
  int batch(int wanted) const { return has_kernel(wanted) ? kernels::RandomThresholds::most : 2; }

  template <class Search, class Node>
  void try_columns(Search& search, Node& node, const int* columns, int n_columns) {
    auto& kind = search.kind();
    cuts_.key = node.draws.key();
    cuts_.columns_as_bytes = 0;
    for (int c = 0; c < n_columns; ++c) {
      cuts_.column[c] = columns[c];
      cuts_.columns_as_bytes |= static_cast<std::uint64_t>(columns[c]) << (8 * c);
    }
    if (n_columns == 1) cuts_.column[1] = columns[0];
    const std::uint64_t* const rows = kind.words(node.begin);
    if (has_kernel(search.wanted()))
      kernels_.cut_columns(search.values(), search.stride(), rows, node.n, n_columns, &cuts_,
                           values_.data());
    else
      cut_two_columns(search.values(), search.stride(), rows, node.n, &cuts_, values_.data());
    for (int c = 0; c < n_columns && !search.best().is_perfect; ++c)
      if (!try_column(search, c)) kind.set_constant(node.constants, columns[c]);
  }

  template <class Search, class Node>
  int send(Search& search, const Node& node) {
    auto& kind = search.kind();
    const SmallCut& cut = search.best();
    const kernels::RandomThresholdTest<double> test{cut.threshold, cut.missing_left};
    const auto value = search.values_of(node.begin, cut.column);
    const auto part_words = kernels::active().drawn->doubles.part_words;
    if (part_words == nullptr || node.n <= scalar_rows)
      return kind.template part<typename Node::Sums>(
          node.begin, node.n, [=](int i) { return test.goes_left(static_cast<double>(value(i))); });
    for (int i = 0; i < node.n; ++i) values_[i] = static_cast<double>(value(i));
    return static_cast<int>(
        part_words(values_.data(), node.n, test, kind.words(node.begin), kind.spare_words()));
  }

 private:
  bool has_kernel(int wanted) const { return kernels_.cut_columns != nullptr && wanted > 2; }

  // Tries missing values on the right, then on the left. Returns whether the column varies; one
  // value beside missing ones does.
  template <class Search>
  bool try_column(Search& search, int c) {
    const auto& kind = search.kind();
    const bool varies = cuts_.varies(c), has_missing = cuts_.misses_some(c);
    if (!varies && !(has_missing && cuts_.least[c] == cuts_.largest[c])) return false;
    criteria::PairLeft left = kind.side_of(cuts_.left[0][c], cuts_.left[1][c]);
    const int rank = varies ? 0 : SmallCut::all_values;
    search.offer(left, {cuts_.column[c], rank, 0, false, cuts_.cut[c]}, has_missing);
    if (!has_missing || !varies) return true;
    left += kind.side_of(cuts_.missing[0][c], cuts_.missing[1][c]);
    search.offer(left, {cuts_.column[c], 0, 0, true, cuts_.cut[c]}, true);
    return true;
  }

  const kernels::RandomThresholdKernelsOf<T>& kernels_ = kernels::active().drawn->of<T>();
  kernels::RandomThresholds cuts_;
  alignas(64) std::array<double, kernels::RandomThresholds::most * most_rows> values_;
};

// Several classes: one column after another.
template <class T, int most_rows>
class ThresholdByColumn {
 public:
  template <class Search, class Node>
  bool try_column(Search& search, const Node& node, int column) {
    auto& kind = search.kind();
    const int trial = 1 - kept_;
    T* const x = x_[trial].data();
    const auto value = search.values_of(node.begin, column);
    const Range range = range_of(node.n, value, x);
    const bool has_missing = range.n_present < node.n, is_constant = !(range.least < range.most);
    if (range.n_present == 0 || (is_constant && !has_missing)) return false;
    const double cut = is_constant ? std::numeric_limits<double>::infinity()
                                   : draw_cut(column, static_cast<double>(range.least),
                                              static_cast<double>(range.most), node.draws);
    const T last = at_most<T>(cut);
    for (const bool missing_left : {false, true}) {
      if (missing_left && (!has_missing || is_constant)) break;
      const auto sums = sums_of<typename Node::Sums>(kind, node, x, last, missing_left);
      if (search.offer(kind.left_of(sums),
                       {column, is_constant ? SmallCut::all_values : 0, 0, missing_left, cut},
                       has_missing))
        kept_ = trial;
    }
    return true;
  }

  template <class Search, class Node>
  int send(Search& search, const Node& node) {
    const SmallCut& cut = search.best();
    const T* const x = x_[kept_].data();
    const T last = at_most<T>(cut.threshold);
    const auto part = [&](auto goes_left) {
      return search.kind().template part<typename Node::Sums>(node.begin, node.n, goes_left);
    };
    return cut.missing_left && search.has_missing(cut.column) ? part(up_to_or_missing(x, last))
                                                              : part(up_to(x, last));
  }

 private:
  struct Range {
    T least, most;
    int n_present;
  };

  static auto up_to(const T* x, T last) {
    return [=](int i) { return x[i] <= last; };
  }
  static auto up_to_or_missing(const T* x, T last) {
    return [=](int i) { return (x[i] <= last) | (x[i] != x[i]); };
  }
  template <class Sums, class Kind, class Node>
  static Sums sums_of(const Kind& kind, const Node& node, const T* x, T last, bool missing_left) {
    return missing_left ? kind.template sum_of<Sums>(node.begin, node.n, up_to_or_missing(x, last))
                        : kind.template sum_of<Sums>(node.begin, node.n, up_to(x, last));
  }

  // Copies the values of a column.
  template <class Value>
  static Range range_of(int n, Value value, T* x) {
    Range range{std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), 0};
    for (int i = 0; i < n; ++i) {
      const T a = x[i] = value(i);
      range.least = a < range.least ? a : range.least;
      range.most = a > range.most ? a : range.most;
      range.n_present += a == a;
    }
    return range;
  }

  std::array<T, most_rows> x_[2];  // of the column being tried, and of the best one
  int kept_ = 0;
};

}  // namespace weald::forest
