// Large arrays that are not filled with zeros before they are written.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/memory.hpp"

namespace weald {

// As LargePages or SmallPages; but whoever makes room in such a vector must write it all.
template <class T, template <class> class Pages = LargePages>
struct RawPages : Pages<T> {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = RawPages<U, Pages>;
  };

  RawPages() = default;
  template <class U>
  RawPages(const RawPages<U, Pages>&) noexcept {}

  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... From>
  void construct(U* at, From&&... from) {
    ::new (static_cast<void*>(at)) U(std::forward<From>(from)...);
  }
};

template <class T>
using RawVector = std::vector<T, RawPages<T>>;

template <class T>
using RawGrowingVector = std::vector<T, RawPages<T, SmallPages>>;

}  // namespace weald
