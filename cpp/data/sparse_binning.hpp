// Binning of a sparse table from its stored values, in time proportional to their number. Cuts and
// codes are those of the same table stored densely (binning.hpp).
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "data/binning.hpp"
#include "data/sparse_table.hpp"

namespace weald::data {

// The cuts by the first n_learn rows; `mass` of these as in binning.hpp.
template <class T>
Cuts find_cuts(const SparseTable<T>& table, std::int64_t n_learn, const std::int64_t* mass,
               int max_bins, int n_threads);

// Writes the codes of the stored values, and the code of 0 in each column.
template <class T>
void apply_cuts(const SparseTable<T>& table, const Cuts& cuts, Code* codes, Code* usual,
                int n_threads);

}  // namespace weald::data
