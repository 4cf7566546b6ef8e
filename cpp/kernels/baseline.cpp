// The kernels for baseline; CMakeLists.txt names the compiler's flags.
#include <bit>
#define WEALD_KERNELS baseline
#define WEALD_KERNELS_NAME "baseline"
#include "kernels/body.hpp"
