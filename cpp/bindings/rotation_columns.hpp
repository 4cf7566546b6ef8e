// The columns of rotations, as arrays from Python.
#pragma once

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/border.hpp"
#include "rotation/rotation_table.hpp"

namespace weald::bindings {

// rotated, centre, scale, kept, flagged
using ColumnsOfRotations = std::tuple<Vector<std::int32_t>, Vector<double>, Vector<double>,
                                      Vector<std::int32_t>, Vector<std::int32_t>>;

rotation::RotationColumns checked_columns(std::int64_t n_inputs, const ColumnsOfRotations& given);

}  // namespace weald::bindings
