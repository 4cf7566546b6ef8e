// The kernels for avx2; CMakeLists.txt names the compiler's flags.
#include <bit>
#define WEALD_KERNELS avx2
#define WEALD_KERNELS_NAME "avx2"
#include "kernels/body.hpp"
