#include "explain/tree_shap.hpp"

#include <algorithm>
#include <memory>

#include "base/parallel.hpp"
#include "explain/shap_block.hpp"
#include "kernels/kernels.hpp"
#include "kernels/tree_shap.hpp"

namespace weald::explain {

TreeShap::TreeShap(const tree::Forest& forest, const double* weight,
                   const std::int32_t* player_of_column, std::int64_t n_columns,
                   std::int64_t n_players)
    : forest_(forest),
      weight_(weight),
      n_players_(n_players),
      columns_(forest, player_of_column, n_columns, n_players) {
  ShapLayout layout(forest_, weight_, columns_);
  InterruptSteps interrupts;
  for (std::int64_t t = 0; t < forest_.n_trees; ++t) {
    interrupts.take(forest_.first_node[t + 1] - forest_.first_node[t]);
    if (!layout.lay_out(t)) continue;
    most_players_ = std::max(most_players_, layout.n_players());
    if (most_players_ > most_players_of_path) return;
    scratch_ = std::max(scratch_, kernels::shap_scratch(layout.depth(), layout.n_points()));
    rules_.try_emplace(layout.n_points(), layout.n_points());
  }
}

void TreeShap::expected(double* scores) const {
  std::copy(forest_.base_score, forest_.base_score + forest_.n_outputs, scores);
  std::vector<double> share;  // of the nodes that are yet to be visited, the next one last
  for (std::int64_t t = 0; t < forest_.n_trees; ++t) {
    const std::int64_t begin = forest_.first_node[t];
    double* const to = scores + std::max(forest_.output[t], 0);
    share.assign(1, forest_.tree_weight[t]);
    for (std::int64_t i = begin; i < forest_.first_node[t + 1]; ++i) {
      const double own = share.back();
      share.pop_back();
      if (forest_.feature[i] >= 0) {
        const double left = share_of_left(weight_[i + 1], weight_[begin + forest_.right[i]]);
        share.push_back(own * (1.0 - left));
        share.push_back(own * left);
        continue;
      }
      const double* const value =
          forest_.value + (forest_.first_leaf[t] + forest_.right[i]) * forest_.n_values;
      for (int k = 0; k < forest_.n_values; ++k) to[k] += own * value[k];
    }
  }
}

// All trees of one output.
void TreeShap::explain_block(ShapBlock& block, ShapLayout& layout, int output,
                             bool has_pairs) const {
  InterruptSteps interrupts;
  std::vector<std::uint8_t> sides;
  for (std::int64_t t = 0; t < forest_.n_trees; ++t) {
    if (forest_.output[t] >= 0 && forest_.output[t] != output) continue;
    if (!layout.lay_out(t)) continue;
    layout.set_values(output);
    layout.set_constants(has_pairs, rules_.at(layout.n_points()));
    const kernels::ShapTree tree = layout.tree();
    for (std::int64_t tile = 0; tile < block.n_tiles(); ++tile) {
      interrupts.take(tree.n_steps * tree.n_points);
      layout.set_sides(block.x(tile), sides);
      kernels::active().shap_tree(tree, block.rows(tile, sides.data()));
    }
  }
}

template <class T>
void TreeShap::explain(const data::Table<T>& table, const std::vector<int>& outputs, bool has_pairs,
                       double* phi, int n_threads) const {
  if (columns_.players.empty()) return;
  const std::int64_t share = (table.n_rows - 1) / (ShapBlock::tile_rows * n_threads) + 1;
  const std::int64_t size =
      ShapBlock::tile_rows * std::min(ShapBlock::tiles_of(columns_, has_pairs), share);
  const std::int64_t n_blocks = (table.n_rows + size - 1) / size;
  const auto n_outputs = static_cast<std::int64_t>(outputs.size());
  std::vector<std::unique_ptr<ShapBlock>> blocks(static_cast<std::size_t>(n_threads));
  std::vector<std::unique_ptr<ShapLayout>> layouts(static_cast<std::size_t>(n_threads));
  parallel_for(n_blocks * n_outputs, n_threads, [&](std::int64_t task, int worker) {
    if (!layouts[worker]) {
      blocks[worker] = std::make_unique<ShapBlock>(columns_, has_pairs, scratch_);
      layouts[worker] = std::make_unique<ShapLayout>(forest_, weight_, columns_);
    }
    const std::int64_t begin = task / n_outputs * size, i = task % n_outputs;
    blocks[worker]->fill(table, begin, std::min(size, table.n_rows - begin));
    explain_block(*blocks[worker], *layouts[worker], outputs[i], has_pairs);
    blocks[worker]->give(phi, n_players_, i, n_outputs);
  });
}

template void TreeShap::explain(const data::Table<float>&, const std::vector<int>&, bool, double*,
                                int) const;
template void TreeShap::explain(const data::Table<double>&, const std::vector<int>&, bool, double*,
                                int) const;

}  // namespace weald::explain
