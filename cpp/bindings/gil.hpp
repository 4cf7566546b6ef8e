// Releasing and re-acquiring the GIL around native work.
#pragma once

#include <Python.h>

#include <utility>

#include "base/parallel.hpp"

namespace weald::bindings {

// Acquire the GIL. Never returns in a thread that outlives the interpreter: see gil.cpp.
void take_gil(PyThreadState* thread) noexcept;

// Releases the GIL until the end of the scope.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() { take_gil(thread_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

// Store the id of Python's main thread, the only one that handles signals. Called once, on import.
void remember_main_thread();

// The check for Ctrl-C on the main thread; null elsewhere, because signals are not handled there.
// Runs no Python code, which could lose the GIL where that cannot be handled.
weald::InterruptCheck check_of_this_thread();

[[noreturn]] void raise_interrupt();

// Run the work without the GIL. On Ctrl-C the KeyboardInterrupt set by Python is raised.
template <class Work>
void run(Work&& work) {
  const weald::InterruptCheck check = check_of_this_thread();
  weald::prepare_to_throw();
  try {
    WithoutGil released;
    weald::InterruptScope scope(check);
    work();
  } catch (const weald::Interrupted&) {
    raise_interrupt();
  }
}

// The same, or with the GIL held if there is too little work to release it or to be interrupted.
template <class Work>
void run(std::size_t n_numbers, Work&& work) {
  n_numbers < 4096 ? work() : run(work);
}

}  // namespace weald::bindings
