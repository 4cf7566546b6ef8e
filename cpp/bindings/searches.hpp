// The searches over one node's packed cells on their own, for tests only.
#pragma once

#include "bindings/border.hpp"

namespace weald::bindings {

void bind_searches(nb::module_& m);

}  // namespace weald::bindings
