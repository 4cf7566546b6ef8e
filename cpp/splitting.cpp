#include "splitting.hpp"

namespace weald {

PackedSearch::PackedSearch(const Codes& codes, const HistogramLayout& layout,
                           const Channels& channels, const SplitLimits& limits, std::int64_t total)
    : codes_(codes), layout_(layout), channels_(channels), limits_(limits) {
  const double step = channels.packed_weight_step();
  const auto min_count = static_cast<double>(limits.min_samples_leaf);
  node_.total = total;
  node_.l2 = limits.penalty.l2 / step;
  node_.min_weight = limits.min_child_weight / step;
  // A copy has at most packed_most_weight steps of h, so this much h takes min_count copies.
  node_.sure_weight = (min_count - 1.0) * static_cast<double>(channels.packed_most_weight()) + 1.0;
  node_.min_count = min_count;
}

LaneBests PackedSearch::look(int group, const std::int64_t* cells) const {
  LaneBests bests;
  kernels().search_packed(cells + layout_.group_begin(group), nullptr, layout_.bins_of(group),
                          node_, bests);
  return bests;
}

Split PackedSearch::decide(const std::vector<LaneBests>& bests, const std::int64_t* cells,
                           const Row* rows, std::int64_t n_rows) const {
  Split best;
  double score = -std::numeric_limits<double>::infinity();
  for (int g = 0; g < codes_.n_groups(); ++g) take(g, bests[g], score, best, cells);

  std::vector<std::int64_t> counts;
  bool recounted = false;
  std::vector<LaneBests> exact;
  for (int g = 0; g < codes_.n_groups(); ++g) {
    const double* const open = bests[g].undecided;
    if (!(*std::max_element(open, open + codes_.lanes_of(g)) >= score)) continue;
    if (!recounted) exact = bests;
    recounted = true;
    counts.assign(static_cast<std::size_t>(layout_.group_end(g) - layout_.group_begin(g)), 0);
    std::int64_t* const group_counts = counts.data();
    kernels().add_packed(codes_, g, g + 1, channels_.target().copies, rows, 0, n_rows,
                         &group_counts);
    kernels().search_packed(cells + layout_.group_begin(g), group_counts, layout_.bins_of(g), node_,
                            exact[g]);
    for (int lane = 0; lane < codes_.lanes_of(g); ++lane)
      score = std::max(score, exact[g].score[lane]);
  }
  if (recounted) {
    best = {};
    score = -std::numeric_limits<double>::infinity();
    for (int g = 0; g < codes_.n_groups(); ++g) take(g, exact[g], score, best, cells);
  }
  if (!best.found()) return best;

  const auto g = static_cast<double>(packed_g(node_.total));
  const double parent = g * g / (static_cast<double>(packed_h(node_.total)) + node_.l2);
  const double gain = 0.5 * (score - parent);
  // In units of the cells; the true gain is larger by step_g^2 / step_h.
  best.gain =
      scale_by_power(gain, 2 * channels_.packed_sum_exponent()) / channels_.packed_weight_step();
  const bool any_gain = limits_.min_gain == -std::numeric_limits<double>::infinity();
  const bool worth = any_gain || (gain > 0.5e-13 * score && best.gain > limits_.min_gain);
  return worth ? best : Split{};
}

void PackedSearch::take(int group, const LaneBests& bests, double& score, Split& best,
                        const std::int64_t* cells) const {
  for (int lane = 0; lane < codes_.lanes_of(group); ++lane) {
    if (!(bests.score[lane] > score)) continue;
    score = bests.score[lane];
    best.column = group * lanes + lane;
    best.bin = static_cast<int>(bests.place[lane] / 2);
    best.missing_left = bests.place[lane] % 2 != 0;
    const std::int64_t* const column = cells + layout_.column_begin(best.column);
    std::int64_t left = 0;
    for (int bin = 1; bin <= best.bin; ++bin) left += column[bin * layout_.bin_stride()];
    if (column[0] != 0) {
      if (left + column[0] == node_.total) best.bin = codes_.n_bins[best.column];
      continue;
    }
    // No row is missing here: one that is when predicting goes with the heavier child.
    best.missing_left = packed_h(left) >= packed_h(node_.total - left);
  }
}

}  // namespace weald
