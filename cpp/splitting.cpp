#include "splitting.hpp"

#include <algorithm>

namespace weald {

PackedSearch::PackedSearch(const Codes& codes, const HistogramLayout& layout,
                           const Channels& channels, const SplitLimits& limits, std::int64_t total)
    : codes_(codes), layout_(layout), channels_(channels), limits_(limits) {
  const double step = channels.packed_weight_step();
  const auto min_count = static_cast<double>(limits.min_samples_leaf);
  node_.total = total;
  node_.l2 = limits.penalty.l2 / step;
  // Where h counts copies it decides by itself.
  node_.min_weight =
      std::max(limits.min_child_weight / step, channels.target().weight ? 0.0 : min_count);
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
  constexpr double none = -std::numeric_limits<double>::infinity();
  double score = none;
  for (int g = 0; g < codes_.n_groups(); ++g)
    for (int lane = 0; lane < codes_.lanes_of(g); ++lane)
      score = std::max(score, bests[g].score[lane]);

  // Groups in which a cut that is not proven might win, with the copies in their cells.
  std::vector<LaneBests> exact = bests;
  std::vector<std::vector<std::int64_t>> counts(exact.size());
  for (int g = 0; g < codes_.n_groups(); ++g) {
    const double* const open = bests[g].undecided;
    const double most = *std::max_element(open, open + codes_.lanes_of(g));
    if (most == none || most < score) continue;
    counts[g].assign(static_cast<std::size_t>(layout_.group_end(g) - layout_.group_begin(g)), 0);
    std::int64_t* const group_counts = counts[g].data();
    kernels().add_packed(codes_, g, g + 1, channels_.target().copies, rows, 0, n_rows,
                         &group_counts);
    kernels().search_packed(cells + layout_.group_begin(g), group_counts, layout_.bins_of(g), node_,
                            exact[g]);
    for (int lane = 0; lane < codes_.lanes_of(g); ++lane)
      score = std::max(score, exact[g].score[lane]);
  }
  Split best;
  score = none;
  for (int g = 0; g < codes_.n_groups(); ++g)
    take(g, exact[g], cells, counts[g].empty() ? nullptr : counts[g].data(), score, best);
  if (!best.found()) return best;

  const auto g = static_cast<double>(packed_g(node_.total));
  const double parent = g * g / (static_cast<double>(packed_h(node_.total)) + node_.l2);
  const double gain = 0.5 * (score - parent);
  // In units of the cells; the true gain is larger by step_g^2 / step_h.
  best.gain =
      scale_by_power(gain, 2 * channels_.packed_sum_exponent()) / channels_.packed_weight_step();
  const bool worth =
      limits_.takes_any_gain() || (gain > 0.5e-13 * score && best.gain > limits_.min_gain);
  return worth ? best : Split{};
}

// Where copies were counted they, and not the sums, say whether a side holds rows: a row whose g
// and h round to zero has none of the latter.
void PackedSearch::take(int group, const LaneBests& bests, const std::int64_t* cells,
                        const std::int64_t* counts, double& score, Split& best) const {
  for (int lane = 0; lane < codes_.lanes_of(group); ++lane) {
    if (!(bests.score[lane] > score)) continue;
    score = bests.score[lane];
    best.column = group * lanes + lane;
    best.bin = static_cast<int>(bests.place[lane] / 2);
    best.missing_left = bests.place[lane] % 2 != 0;
    const std::int64_t* const column = cells + layout_.column_begin(best.column);
    const std::int64_t* const copies = counts ? counts + lane : column;
    const int n_bins = codes_.n_bins[best.column];
    std::int64_t left = 0, values_right = 0;
    for (int bin = 1; bin <= best.bin; ++bin) left += column[bin * layout_.bin_stride()];
    for (int bin = best.bin + 1; bin <= n_bins; ++bin)
      values_right |= column[bin * layout_.bin_stride()] | copies[bin * layout_.bin_stride()];
    if ((column[0] | copies[0]) == 0) {
      // No row is missing here: one that is when predicting goes with the heavier child.
      best.missing_left = packed_h(left) >= packed_h(node_.total - left);
    } else if (values_right == 0) {
      best.bin = n_bins;
    }
  }
}

}  // namespace weald
