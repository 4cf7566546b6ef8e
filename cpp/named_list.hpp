// A list of types that have names: how the core finds a criterion or a loss by its name.
#pragma once

#include <string_view>

namespace weald {

template <class... All>
struct NamedList {
  // Calls visit(one) for each in turn.
  template <class F>
  static void for_each(F&& visit) {
    (visit(All{}), ...);
  }
  // Calls visit(one) for the one of that name; false if there is none.
  template <class F>
  static bool with_name(std::string_view name, F&& visit) {
    return ((name == All::name && (visit(All{}), true)) || ...);
  }
};

}  // namespace weald
