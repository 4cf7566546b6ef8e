#include "explain/background_shap.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "explain/pair_walk.hpp"

namespace weald::explain {
namespace {

constexpr std::int64_t block_rows = 128;
constexpr double most_table_size = 1 << 22;  // numbers in the tables of a batch of trees

}  // namespace

BackgroundShap::BackgroundShap(const tree::Forest& forest, const std::int32_t* player_of_column,
                               std::int64_t n_columns, std::int64_t n_players)
    : forest_(forest),
      n_players_(n_players),
      columns_(forest, player_of_column, n_columns, n_players),
      sizes_(static_cast<std::size_t>(forest.n_trees)) {
  const std::vector<double> weight(static_cast<std::size_t>(forest.n_nodes), 0.0);
  ShapLayout layout(forest_, weight.data(), columns_);
  for (std::int64_t t = 0; t < forest_.n_trees; ++t) {
    if (interrupted()) throw Interrupted{};
    if (!layout.lay_out(t)) continue;
    TreeSize& size = sizes_[t];
    size.most_players = layout.n_players();
    size.n_steps = static_cast<double>(layout.depth());
    size.table_size = layout.n_patterns();
  }
  for (int n = 1; n <= (PatternWalk::most_bits + 1) / 2; ++n) rules_.emplace_back(n);
}

bool BackgroundShap::has_patterns() const {
  return std::all_of(sizes_.begin(), sizes_.end(), [](const TreeSize& size) {
    return size.most_players <= PatternWalk::most_bits;
  });
}

// By the number of steps, in units of about a nanosecond.
bool BackgroundShap::uses_patterns(std::int64_t tree, double n_rows, double n_background,
                                   Engine engine) const {
  const TreeSize& size = sizes_[tree];
  if (engine != Engine::automatic) return engine == Engine::patterns;
  if (size.most_players > PatternWalk::most_bits || size.table_size > most_table_size) return false;
  const auto n_leaves =
      static_cast<double>(forest_.first_leaf[tree + 1] - forest_.first_leaf[tree]);
  const double by_patterns = size.table_size * (size.most_players + 1) +
                             (n_rows * (size.most_players + 2) + n_background * 2) * n_leaves;
  return by_patterns < 10.0 * size.n_steps * n_rows * n_background;
}

// phi[row][player of all][output]; the tables are those of leaves of value 1.
void BackgroundShap::add_patterns(std::int64_t tree, const PatternTables& tables,
                                  const RowColumns& rows, const std::vector<int>& outputs,
                                  PatternWalk& walk, double* phi) const {
  const auto n_outputs = static_cast<std::int64_t>(outputs.size());
  walk.walk(tree, rows,
            [&](std::int32_t leaf, const std::vector<std::int32_t>& players,
                const std::vector<std::uint16_t>& patterns) {
              const double* const table = tables.of(leaf);
              const double* const value =
                  forest_.value + (forest_.first_leaf[tree] + leaf) * forest_.n_values;
              const std::size_t n = players.size();
              for (std::int64_t k = 0; k < n_outputs; ++k) {
                const int own = forest_.output[tree];
                if (own >= 0 && own != outputs[k]) continue;
                const double factor = forest_.tree_weight[tree] * value[own < 0 ? outputs[k] : 0];
                for (std::size_t row = 0; row < patterns.size(); ++row) {
                  const double* const from = table + patterns[row] * n;
                  double* const to = phi + row * n_players_ * n_outputs + k;
                  for (std::size_t j = 0; j < n; ++j)
                    to[columns_.players[players[j]] * n_outputs] += factor * from[j];
                }
              }
            });
}

void BackgroundShap::add_pairs(std::int64_t tree, const std::vector<double>& rows,
                               const Background& background, const std::vector<int>& outputs,
                               PairWalk& walk, double* phi) const {
  const std::size_t n_slots = columns_.columns.size();
  const std::size_t n_outputs = outputs.size(), n_background = background.by_row.size() / n_slots;
  const double share = 1.0 / static_cast<double>(n_background);
  std::vector<double> sums(columns_.players.size());
  InterruptSteps interrupts;
  walk.lay_out(tree);
  for (std::size_t row = 0; row < rows.size() / n_slots; ++row)
    for (std::size_t k = 0; k < n_outputs; ++k) {
      if (forest_.output[tree] >= 0 && forest_.output[tree] != outputs[k]) continue;
      interrupts.take(static_cast<std::int64_t>(16 * n_background));
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t other = 0; other < n_background; ++other)
        walk.add(rows.data() + row * n_slots, background.by_row.data() + other * n_slots,
                 outputs[k], sums.data());
      for (std::size_t j = 0; j < sums.size(); ++j)
        phi[(row * n_players_ + columns_.players[j]) * n_outputs + k] += share * sums[j];
    }
}

template <class T>
void BackgroundShap::explain(const data::Table<T>& table, const data::Table<double>& background,
                             const std::vector<int>& outputs, double* phi, int n_threads,
                             Engine engine) const {
  if (columns_.players.empty()) return;
  const auto n_slots = static_cast<std::int64_t>(columns_.columns.size());
  Background other{RowColumns(background, 0, background.n_rows, columns_), {}};
  other.by_row = other.columns.by_row(n_slots);
  const auto n_rows = static_cast<double>(table.n_rows);
  const auto n_background = static_cast<double>(background.n_rows);
  const std::int64_t n_blocks = (table.n_rows + block_rows - 1) / block_rows;
  Batch batch{0, 0, {}};
  while (batch.end < forest_.n_trees) {
    batch.first = batch.end;
    std::vector<std::uint8_t> by_patterns;
    for (double size = 0.0; batch.end < forest_.n_trees; ++batch.end) {
      const bool patterns = uses_patterns(batch.end, n_rows, n_background, engine);
      if (patterns) size += sizes_[batch.end].table_size;
      if (size > most_table_size && batch.end > batch.first) break;
      by_patterns.push_back(patterns);
    }
    const std::int64_t n_trees = batch.end - batch.first;
    batch.tables.clear();
    batch.tables.resize(static_cast<std::size_t>(n_trees));
    parallel_for(n_trees, n_threads, [&](std::int64_t i, int) {
      if (!by_patterns[i]) return;
      const std::int64_t tree = batch.first + i;
      PatternWalk walk(forest_, columns_);
      batch.tables[i] = std::make_unique<PatternTables>(
          tree, forest_.first_leaf[tree + 1] - forest_.first_leaf[tree], other.columns, walk,
          rules_);
    });
    parallel_for(n_blocks, n_threads, [&](std::int64_t block, int) {
      const std::int64_t begin = block * block_rows;
      const RowColumns rows(table, begin, std::min(block_rows, table.n_rows - begin), columns_);
      const std::vector<double> by_row = rows.by_row(n_slots);
      PatternWalk patterns(forest_, columns_);
      PairWalk pairs(forest_, columns_);
      double* const own = phi + begin * n_players_ * static_cast<std::int64_t>(outputs.size());
      for (std::int64_t i = 0; i < n_trees; ++i) {
        const std::int64_t tree = batch.first + i;
        if (interrupted()) throw Interrupted{};
        if (batch.tables[i])
          add_patterns(tree, *batch.tables[i], rows, outputs, patterns, own);
        else
          add_pairs(tree, by_row, other, outputs, pairs, own);
      }
    });
  }
}

template void BackgroundShap::explain(const data::Table<float>&, const data::Table<double>&,
                                      const std::vector<int>&, double*, int, Engine) const;
template void BackgroundShap::explain(const data::Table<double>&, const data::Table<double>&,
                                      const std::vector<int>&, double*, int, Engine) const;

}  // namespace weald::explain
