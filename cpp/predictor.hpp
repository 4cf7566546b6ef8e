// Rows and trees to scores and leaves.
#pragma once

#include <cstdint>

#include "forest.hpp"
#include "table.hpp"

namespace weald {

// scores[row][output] = base score + the trees' values, added in the order of the trees.
template <class T>
void predict(const Forest& forest, const Table<T>& table, double* scores, int n_threads);

// leaves[row][tree]: the leaf a row ends in, counted from the tree's first leaf.
template <class T>
void apply(const Forest& forest, const Table<T>& table, std::int32_t* leaves, int n_threads);

}  // namespace weald
