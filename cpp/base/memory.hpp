// Memory for arrays that are read here and there: large pages, where the system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weald {

// Where it can be said what would not fit; others throw std::bad_alloc itself.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Throws std::bad_alloc. Large blocks are aligned to, and asked to be backed by, pages of 2 MiB:
// rows of a node lie far apart, and with pages of 4 KiB looking up the page of each costs as much
// as reading it. They are given back by the number of bytes that was asked for.
void* allocate_pages(std::size_t bytes);
void free_pages(void* block, std::size_t bytes) noexcept;

// The same for arrays that are written from front to back and may end anywhere: in pages of the
// usual size, for of a large page all is taken as soon as one byte is.
void* allocate_small_pages(std::size_t bytes);
void free_small_pages(void* block, std::size_t bytes) noexcept;

// Before so many bytes of such an array are written for the first time: the system is asked for
// their pages at once. It would find each of them missing, else.
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
