// The root histograms of several trees, counted in one pass over the codes.
//
// The trees of the classes of one round begin with the same rows. Their words lie side by side,
// eight of a row in one cache line, and so do the cells of a bin: one addition of vectors does
// what each tree would do by itself. Sums are integers, so the histograms are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/histogram_engine.hpp"
#include "target/channels.hpp"

namespace weald::engine {

// What a tree starts from, where that is made for several trees at once.
struct RootState {
  target::Channels channels;
  std::vector<std::int64_t> root_cells;  // the root's histogram; empty: not counted
};

// Counts the roots of those of the root_states that have packed words. `rows` null: all rows of the
// table, in order.
void count_roots(const split::HistogramTable& table, const Row* rows, std::int64_t n_rows,
                 int n_threads, std::vector<RootState>& root_states);

}  // namespace weald::engine
