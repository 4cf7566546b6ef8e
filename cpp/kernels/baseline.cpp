// The kernels for baseline; see CMakeLists.txt for the compiler flags.
#include <bit>
#define WEALD_KERNELS baseline
#define WEALD_KERNELS_NAME "baseline"
#include "kernels/body.hpp"
