// The door to Python: check arrays, release the GIL, call the core; nothing else.
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "bindings/border.hpp"
#include "bindings/searches.hpp"
#include "cores.hpp"
#include "kernels/kernels.hpp"

namespace {

// nanobind alone would raise a MemoryError that says "std::bad_alloc".
void raise_memory_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const weald::OutOfMemory& e) {
    PyErr_SetString(PyExc_MemoryError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError,
                    "Memory ran out in the compiled core. Take fewer rows, columns or classes, "
                    "fewer trees (n_estimators), smaller ones (max_leaf_nodes, max_depth, a larger "
                    "min_samples_leaf), or fewer threads (n_jobs).");
  }
}

}  // namespace

NB_MODULE(_native, m) {
  nanobind::register_exception_translator(raise_memory_error);
  // Read now, while nobody else can change the environment. A wish that cannot be granted is an
  // ImportError: whoever forces an instruction set must not measure or test another one.
  const char* const wanted = std::getenv("WEALD_INSTRUCTIONS");
  if (wanted && *wanted && std::string_view(wanted) != weald::kernels().name)
    throw std::runtime_error(std::string("WEALD_INSTRUCTIONS=") + wanted +
                             " cannot run here; unset it, or see weald.show_config()");
  weald::border::remember_main_thread();
#if defined(NDEBUG)
  // A daemon thread may hold objects of ours when the interpreter ends: no leak to warn of.
  nanobind::set_leak_warnings(false);
#endif
  m.doc() = "The core: arrays in, arrays out.";
  m.def("usable_cores", &weald::usable_cores);
  m.def("instructions", [] { return std::string(weald::kernels().name); });
  m.def("runnable_instructions", [] {
    std::vector<std::string> names;
    for (const weald::Kernels* one : weald::runnable_kernels()) names.emplace_back(one->name);
    return names;
  });
  weald::border::bind_data(m);
  weald::border::bind_forests(m);
  weald::border::bind_grown_trees(m);
  weald::border::bind_losses(m);
  weald::border::bind_rotation(m);
  weald::border::bind_options(m);
  weald::border::bind_searches(m);
  weald::border::bind_stumps(m);
  weald::border::bind_trees(m);
}
