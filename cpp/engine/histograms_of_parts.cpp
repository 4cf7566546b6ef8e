// What the histogram engine asks of rows that lie in parts elsewhere (tree/parts.hpp).
#include "engine/histogram_engine.hpp"

namespace weald::engine {

// The rows of all these nodes are partitioned at once, and those of their lighter children counted.
std::vector<std::int64_t> HistogramEngine::divide_elsewhere(
    const std::vector<tree::Announced>& nodes) {
  std::vector<tree::Division> divisions;
  std::vector<std::int64_t*> histograms;
  for (const auto& [node, looks_on] : nodes) {
    const int child = growing_tree_.nodes[node].ahead;
    const bool count_left = is_left_lighter(node);
    divisions.push_back({node, child, &growing_tree_.nodes[node].split, count_left, looks_on});
    if (looks_on) slot_of_[child + (count_left ? 0 : 1)] = pool_.take();
  }
  for (const tree::Division& one : divisions)  // after all were taken, their places are final
    if (one.looks_on) histograms.push_back(cells_of_node(one.left + (one.counts_left ? 0 : 1)));
  std::vector<std::int64_t> middles =
      growing_tree_.parts->divide(divisions, histograms, layout_->size());
  for (std::size_t i = 0; i < divisions.size(); ++i)
    middles[i] += growing_tree_.nodes[divisions[i].node].begin;
  return middles;
}

}  // namespace weald::engine
