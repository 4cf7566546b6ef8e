#include "base/memory.hpp"

#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace weald {
namespace {

constexpr std::size_t page = std::size_t{2} << 20, line = 64;
constexpr std::size_t small_page = 4096, few = std::size_t{512} << 10;

// Round up to a multiple of `unit`, at least one unit.
std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
}

}  // namespace

#if defined(__linux__) && defined(MADV_HUGEPAGE)
namespace {

// Bytes to map for a large block. Few large pages: all of the last one. Many: only the bytes
// requested, so that the remainder uses small pages instead of one more page of 2 MiB.
std::size_t mapped_size(std::size_t bytes) {
  return rounded(bytes, bytes < 4 * page ? page : small_page);
}

}  // namespace

// Mapped directly and unmapped when freed: an allocator would keep freed memory, which would add to
// the peak of later allocations.
void* allocate_pages(std::size_t bytes) {
  if (bytes < 2 * page) {
    void* const block = std::aligned_alloc(line, rounded(bytes, line));
    return block ? block : throw std::bad_alloc();
  }
  const std::size_t size = mapped_size(bytes);
  void* const mapped =
      mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(mapped);
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  char* const block = begin + before;
  if (before > 0) munmap(begin, before);
  if (before < page) munmap(block + size, page - before);
  madvise(block, size, MADV_HUGEPAGE);  // advisory: everything works without it
  return block;
}

void free_pages(void* block, std::size_t bytes) noexcept {
  bytes < 2 * page ? std::free(block) : void(munmap(block, mapped_size(bytes)));
}

void* allocate_small_pages(std::size_t bytes) {
  if (bytes < few) {
    // Not aligned to a cache line: aligned allocations are slower, and a tree has a dozen arrays.
    void* const block = std::malloc(bytes == 0 ? 1 : bytes);
    return block ? block : throw std::bad_alloc();
  }
  void* const mapped = mmap(nullptr, rounded(bytes, small_page), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped != MAP_FAILED ? mapped : throw std::bad_alloc();
}

void free_small_pages(void* block, std::size_t bytes) noexcept {
  bytes < few ? std::free(block) : void(munmap(block, rounded(bytes, small_page)));
}

void expect_writes(void* begin, std::size_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  constexpr std::size_t some = 16 * small_page;
  const std::size_t before = reinterpret_cast<std::uintptr_t>(begin) % small_page;
  if (bytes < some) return;
  // Advisory too; unknown to Linux before 5.14.
  madvise(static_cast<char*>(begin) - before, rounded(bytes + before, small_page),
          MADV_POPULATE_WRITE);
#else
  (void)begin, (void)bytes;
#endif
}
#else
void* allocate_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= 2 * page ? page : line;
#if defined(_WIN32)
  void* const block = _aligned_malloc(rounded(bytes, unit), unit);
#else
  void* const block = std::aligned_alloc(unit, rounded(bytes, unit));
#endif
  return block ? block : throw std::bad_alloc();
}

void free_pages(void* block, std::size_t) noexcept {
#if defined(_WIN32)
  _aligned_free(block);
#else
  std::free(block);
#endif
}

void* allocate_small_pages(std::size_t bytes) { return allocate_pages(bytes); }
void free_small_pages(void* block, std::size_t bytes) noexcept { free_pages(block, bytes); }
void expect_writes(void*, std::size_t) noexcept {}
#endif

}  // namespace weald
