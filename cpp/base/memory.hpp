// Memory for large arrays with random access: huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weald {

// bad_alloc with a message that names what did not fit.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Throws std::bad_alloc. Large blocks are aligned to, and advised to use, pages of 2 MiB: rows of a
// node are scattered, and with pages of 4 KiB a TLB miss costs as much as the read itself. Free
// them with the number of bytes that was requested.
void* allocate_pages(std::size_t bytes);
void free_pages(void* block, std::size_t bytes) noexcept;

// The same for arrays written front to back whose final size is unknown: in small pages, since one
// byte in a huge page commits all of it.
void* allocate_small_pages(std::size_t bytes);
void free_small_pages(void* block, std::size_t bytes) noexcept;

// Prefault the pages of a range about to be written for the first time, instead of taking a page
// fault for each.
void expect_writes(void* begin, std::size_t bytes) noexcept;

template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) noexcept {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_pages(n * sizeof(T)));
  }
  void deallocate(T* block, std::size_t n) noexcept { free_pages(block, n * sizeof(T)); }

  template <class U>
  bool operator==(const LargePages<U>&) const noexcept {
    return true;
  }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

template <class T>
struct SmallPages : LargePages<T> {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = SmallPages<U>;
  };

  SmallPages() = default;
  template <class U>
  SmallPages(const SmallPages<U>&) noexcept {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_small_pages(n * sizeof(T)));
  }
  void deallocate(T* block, std::size_t n) noexcept { free_small_pages(block, n * sizeof(T)); }
};

}  // namespace weald
