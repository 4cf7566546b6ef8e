#include "bindings/gil.hpp"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace weald::bindings {
namespace {

constinit std::atomic<unsigned long> g_main_thread{0};

bool python_was_interrupted() {
  take_gil(PyGILState_GetThisThreadState());
  const bool stop = PyErr_CheckSignals() != 0;
  PyEval_SaveThread();
  return stop;
}

[[noreturn]] void wait_for_the_end_of_the_process() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

// Once the interpreter shuts down, no other thread gets the GIL again. Python 3.14 blocks a thread
// that requests it until the process exits. Earlier versions end it by pthread_exit, which in glibc
// unwinds the stack like an exception; the first noexcept function on the way (nanobind has some,
// and every destructor is one) would call std::terminate and abort the process. So the unwinding
// stops here, and the thread blocks as in Python 3.14. Python is written in C: nothing else can be
// thrown.
void take_gil(PyThreadState* thread) noexcept {
  try {
    PyEval_RestoreThread(thread);
  } catch (...) {
    wait_for_the_end_of_the_process();
  }
}

void remember_main_thread() {
  namespace nb = nanobind;
  const nb::object main = nb::module_::import_("threading").attr("main_thread")().attr("ident");
  g_main_thread = nb::cast<unsigned long>(main);
#if !defined(_WIN32)
  // In a forked child the thread that called fork is the main thread.
  pthread_atfork(nullptr, nullptr, [] { g_main_thread = PyThread_get_thread_ident(); });
#endif
}

weald::InterruptCheck check_of_this_thread() {
  return g_main_thread == PyThread_get_thread_ident() ? python_was_interrupted : nullptr;
}

void raise_interrupt() { throw nanobind::python_error(); }

}  // namespace weald::bindings
