// The searches over one node's packed cells, by themselves: what tests ask and no model needs.
#pragma once

#include "bindings/border.hpp"

namespace weald::bindings {

void bind_searches(nb::module_& m);

}  // namespace weald::bindings
