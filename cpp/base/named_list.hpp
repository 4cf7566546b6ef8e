// A list of named types: looks up a criterion or loss by name.
#pragma once

#include <string_view>
#include <type_traits>

namespace weald {

template <class... Lists>
struct JoinedLists;

template <class... All>
struct NamedList {
  // The types for which Test<type>::value is true.
  template <template <class> class Test>
  using Where = typename JoinedLists<
      std::conditional_t<Test<All>::value, NamedList<All>, NamedList<>>...>::type;

  // Call visit(one) for each type in turn.
  template <class F>
  static void for_each(F&& visit) {
    (visit(All{}), ...);
  }
  // Call visit(one) for the type of that name; false if there is none.
  template <class F>
  static bool with_name(std::string_view name, F&& visit) {
    return ((name == All::name && (visit(All{}), true)) || ...);
  }
};

template <>
struct JoinedLists<> {
  using type = NamedList<>;
};
template <class... All>
struct JoinedLists<NamedList<All...>> {
  using type = NamedList<All...>;
};
template <class... A, class... B, class... Rest>
struct JoinedLists<NamedList<A...>, NamedList<B...>, Rest...>
    : JoinedLists<NamedList<A..., B...>, Rest...> {};

}  // namespace weald
