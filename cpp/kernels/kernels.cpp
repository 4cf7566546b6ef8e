#include "kernels/kernels.hpp"

#include <cstdlib>

namespace weald::kernels {

namespace baseline {
extern const Kernels table;
}
#ifdef WEALD_X86_KERNELS
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

std::vector<const Kernels*> runnable_kernels() {
  std::vector<const Kernels*> all{&baseline::table};
#ifdef WEALD_X86_KERNELS
  __builtin_cpu_init();
  // At least the features that CMakeLists.txt enables in the compiler.
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  if (has_avx2) all.push_back(&avx2::table);
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    all.push_back(&avx512::table);
#endif
  return all;
}

const Kernels& active() {
  static const Kernels& chosen = []() -> const Kernels& {
    const auto all = runnable_kernels();
    // The caller compares the name with the request: the core has no user messages.
    if (const char* wanted = std::getenv("WEALD_INSTRUCTIONS"))
      for (const Kernels* one : all)
        if (std::string_view(one->name) == wanted) return *one;
    return *all.back();
  }();
  return chosen;
}

}  // namespace weald::kernels
