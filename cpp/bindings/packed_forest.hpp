// The trees of a forest, as arrays for Python.
#pragma once

#include "bindings/border.hpp"
#include "grow/forest_writer.hpp"

namespace weald::bindings {

// The arrays of `weald.trees.Forest` that are the trees'.
nb::dict arrays_of_all(grow::PackedForest&& forest);

}  // namespace weald::bindings
