#include "predict/option_predictor.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_sum.hpp"
#include "base/parallel.hpp"

namespace weald::predict {
namespace {

constexpr std::int64_t row_block = 256;
constexpr std::int64_t worth_a_thread = 2'000;  // rows

}  // namespace

bool is_sound_option_tree(const tree::Forest& forest, const std::int32_t* next_option,
                          std::int64_t n_columns) {
  if (n_columns < 1 || !has_sound_sets(forest)) return false;
  std::int64_t leaves = 0;
  std::vector<std::int64_t> waiting;  // nodes still to visit, the next one last
  for (std::int64_t i = 0; i < forest.n_nodes; ++i) {
    if (next_option[i] != 0) waiting.push_back(next_option[i]);
    if (forest.feature[i] >= 0) {
      if (forest.feature[i] >= n_columns || forest.threshold[i] != forest.threshold[i])
        return false;
      if (forest.set_of(i) < -1 || forest.set_of(i) >= forest.n_sets) return false;
      waiting.push_back(forest.right[i]);
      continue;
    }
    if (forest.feature[i] != -1 || forest.right[i] != leaves++ || forest.set_of(i) != -1)
      return false;
    if (waiting.empty()) return i + 1 == forest.n_nodes && leaves == forest.n_leaves;
    if (waiting.back() != i + 1) return false;
    waiting.pop_back();
  }
  return false;
}

OptionPredictor::OptionPredictor(const tree::Forest& forest, const std::int32_t* next_option)
    : forest_(forest), next_option_(next_option) {
  for (std::int64_t i = 0; i < forest.n_nodes; ++i)
    nodes_.push_back({forest.threshold[i], forest.feature[i], forest.right[i], next_option[i],
                      forest.set_of(i), forest.missing_left[i] != 0});
  find_shares();
  count_leaves();
  double largest = 0.0;
  for (std::int64_t i = 0; i < forest.n_leaves * forest.n_values; ++i)
    largest = std::max(largest, std::abs(forest.value[i]));
  unit_ = exponent_above(largest);
}

void OptionPredictor::find_shares() {
  share_.assign(static_cast<std::size_t>(forest_.n_leaves), 0.0);
  std::vector<double> of_node(static_cast<std::size_t>(forest_.n_nodes), 0.0);
  // The first of several options divides the incoming share; the others follow in the array.
  const auto divide = [&](std::int64_t first, double share) {
    std::int64_t n = 0, at = first;
    for (++n; next_option_[at] != 0; ++n) at = next_option_[at];
    for (at = first;; at = next_option_[at]) {
      of_node[at] = share / static_cast<double>(n);
      if (next_option_[at] == 0) return;
    }
  };
  divide(0, 1.0);
  for (std::int64_t i = 0; i < forest_.n_nodes; ++i) {
    if (forest_.feature[i] < 0) {
      share_[forest_.right[i]] = of_node[i];
      continue;
    }
    divide(i + 1, of_node[i]);
    divide(forest_.right[i], of_node[i]);
  }
}

void OptionPredictor::count_leaves() {
  // Per node: maximum leaves reached through the node and the options after it.
  std::vector<std::int64_t> n_leaves(static_cast<std::size_t>(forest_.n_nodes));
  for (std::int64_t i = forest_.n_nodes; i-- > 0;) {
    n_leaves[i] =
        forest_.feature[i] < 0 ? 1 : std::max(n_leaves[i + 1], n_leaves[forest_.right[i]]);
    if (next_option_[i] != 0) n_leaves[i] += n_leaves[next_option_[i]];
  }
  max_leaves_ = n_leaves[0];
}

// Call visit(leaf) for the leaves a row reaches, in order.
template <class T, class Visit>
void OptionPredictor::walk(const data::Table<T>& table, std::int64_t row,
                           std::vector<std::int32_t>& waiting, Visit&& visit) const {
  waiting.assign(1, 0);
  while (!waiting.empty()) {
    std::int32_t at = waiting.back();
    waiting.pop_back();
    for (;;) {
      const WalkNode& node = nodes_[at];
      if (node.next_option != 0) waiting.push_back(node.next_option);
      if (node.feature < 0) break;
      const auto x = static_cast<double>(table.at(row, node.feature));
      const bool missing_left = node.missing_left != 0;
      // A branch: a single row is traversed, and speculation prefetches the likely side.
      if (node.set >= 0 ? forest_.sends_left(node.set, x, missing_left)
                        : x <= node.threshold || (x != x && missing_left))
        ++at;
      else
        at = node.right;
    }
    visit(nodes_[at].right);
  }
}

template <class T>
void OptionPredictor::predict(const data::Table<T>& table, double* scores, double* spread,
                              int n_threads) const {
  const int n_values = forest_.n_values;
  const std::int64_t n_blocks = (table.n_rows + row_block - 1) / row_block;
  parallel_for(
      n_blocks, table.n_rows < worth_a_thread ? 1 : n_threads, [&](std::int64_t task, int) {
        std::vector<std::int32_t> waiting, reached;
        const std::int64_t end = std::min(table.n_rows, (task + 1) * row_block);
        for (std::int64_t row = task * row_block; row < end; ++row) {
          double* const score = scores + row * n_values;
          std::fill_n(score, n_values, 0.0);
          double squares = 0.0;
          reached.clear();
          walk(table, row, waiting, [&](std::int32_t leaf) {
            const double share = share_[leaf];
            const double* const value = forest_.value + std::int64_t{leaf} * n_values;
            for (int k = 0; k < n_values; ++k) score[k] += share * value[k];
            squares += share * share;
            if (spread) reached.push_back(leaf);
          });
          if (!spread) continue;
          for (int k = 0; k < n_values; ++k) {
            double sum = 0.0;
            for (const std::int32_t leaf : reached) {
              const double off = scale_by_power(
                  forest_.value[std::int64_t{leaf} * n_values + k] - score[k], -unit_);
              sum += share_[leaf] * off * off;
            }
            spread[row * n_values + k] =
                reached.size() < 2 ? 0.0 : scale_by_power(std::sqrt(sum / (1.0 - squares)), unit_);
          }
        }
      });
}

template <class T>
void OptionPredictor::apply(const data::Table<T>& table, std::int32_t* leaves,
                            int n_threads) const {
  const std::int64_t n_blocks = (table.n_rows + row_block - 1) / row_block;
  parallel_for(n_blocks, table.n_rows < worth_a_thread ? 1 : n_threads,
               [&](std::int64_t task, int) {
                 std::vector<std::int32_t> waiting;
                 const std::int64_t end = std::min(table.n_rows, (task + 1) * row_block);
                 for (std::int64_t row = task * row_block; row < end; ++row) {
                   std::int32_t* out = leaves + row * max_leaves_;
                   walk(table, row, waiting, [&](std::int32_t leaf) { *out++ = leaf; });
                   std::fill(out, leaves + (row + 1) * max_leaves_, -1);
                 }
               });
}

template void OptionPredictor::predict(const data::Table<float>&, double*, double*, int) const;
template void OptionPredictor::predict(const data::Table<double>&, double*, double*, int) const;
template void OptionPredictor::apply(const data::Table<float>&, std::int32_t*, int) const;
template void OptionPredictor::apply(const data::Table<double>&, std::int32_t*, int) const;

}  // namespace weald::predict
