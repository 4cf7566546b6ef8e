// The kernels for avx2; see CMakeLists.txt for the compiler flags.
#include <bit>
#define WEALD_KERNELS avx2
#define WEALD_KERNELS_NAME "avx2"
#include "kernels/body.hpp"
