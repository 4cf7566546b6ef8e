// The kernels for avx512; see CMakeLists.txt for the compiler flags.
#include <bit>
#define WEALD_KERNELS avx512
#define WEALD_KERNELS_NAME "avx512"
#include "kernels/body.hpp"
