#include "memory.hpp"

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace weald {
namespace {

constexpr std::size_t page = std::size_t{2} << 20, line = 64;

}  // namespace

void* allocate_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= 2 * page ? page : line;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
#if defined(_WIN32)
  void* const block = _aligned_malloc(rounded, unit);
#else
  void* const block = std::aligned_alloc(unit, rounded == 0 ? unit : rounded);
#endif
  if (block == nullptr) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // A wish: where it is not granted, everything works as before.
  if (unit == page) madvise(block, rounded, MADV_HUGEPAGE);
#endif
  return block;
}

void free_pages(void* block) noexcept {
#if defined(_WIN32)
  _aligned_free(block);
#else
  std::free(block);
#endif
}

}  // namespace weald
