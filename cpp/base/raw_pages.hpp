// Large vectors that are not zero-initialised.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/memory.hpp"

namespace weald {

// As LargePages or SmallPages, without value initialisation: after a resize every element must be
// written before it is read.
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
