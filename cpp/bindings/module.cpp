// The extension module: check arrays, release the GIL, call the core; nothing else.
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/cores.hpp"
#include "bindings/border.hpp"
#include "bindings/searches.hpp"
#include "kernels/kernels.hpp"

namespace {

// nanobind alone would raise a MemoryError with the text "std::bad_alloc".
void raise_memory_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const weald::OutOfMemory& e) {
    PyErr_SetString(PyExc_MemoryError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError,
                    "Out of memory in the compiled core. Use fewer rows, columns or classes, "
                    "fewer trees (n_estimators), smaller ones (max_leaf_nodes, max_depth, a larger "
                    "min_samples_leaf), or fewer threads (n_jobs).");
  }
}

}  // namespace

NB_MODULE(_native, m) {
  nanobind::register_exception_translator(raise_memory_error);
  // Read on import, while no other thread can change the environment. An unavailable instruction
  // set is an ImportError, so that tests and benchmarks never silently run another one.
  const char* const wanted = std::getenv("WEALD_INSTRUCTIONS");
  if (wanted && *wanted && std::string_view(wanted) != weald::kernels::active().name)
    throw std::runtime_error(std::string("WEALD_INSTRUCTIONS=") + wanted +
                             " cannot run here; unset it, or see weald.show_config()");
  weald::bindings::remember_main_thread();
#if defined(NDEBUG)
  // A daemon thread may hold objects when the interpreter exits: not a leak.
  nanobind::set_leak_warnings(false);
#endif
  m.doc() = "The compiled core.";
  m.def("usable_cores", &weald::usable_cores);
  m.def("instructions", [] { return std::string(weald::kernels::active().name); });
  m.def("runnable_instructions", [] {
    std::vector<std::string> names;
    for (const weald::kernels::Kernels* one : weald::kernels::runnable_kernels())
      names.emplace_back(one->name);
    return names;
  });
  weald::bindings::bind_data(m);
  weald::bindings::bind_explain(m);
  weald::bindings::bind_ranked_table(m);
  weald::bindings::bind_forests(m);
  weald::bindings::bind_grown_trees(m);
  weald::bindings::bind_isolation(m);
  weald::bindings::bind_losses(m);
  weald::bindings::bind_ranking(m);
  weald::bindings::bind_rotation(m);
  weald::bindings::bind_row_sums(m);
  weald::bindings::bind_options(m);
  weald::bindings::bind_part(m);
  weald::bindings::bind_parts_grower(m);
  weald::bindings::bind_searches(m);
  weald::bindings::bind_stumps(m);
  weald::bindings::bind_survival(m);
  weald::bindings::bind_trees(m);
  weald::bindings::bind_predictor(m);
}
