// The core's only interface to threads: a parallel loop that can be interrupted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace weald {

// Upper limit on the threads of one loop.
inline constexpr int kMaxThreads = 1024;

// Prepare the calling thread to throw without allocating. The C++ library allocates its per-thread
// exception state at the first throw; if that fails, as it may when std::bad_alloc is thrown, glibc
// aborts the process.
void prepare_to_throw() noexcept;

// Returns whether the calling thread's work should stop. Called only on the thread that installed
// it; must not throw.
using InterruptCheck = bool (*)();

// Thrown by parallel_for, or by a long serial loop, when the caller's work was interrupted.
struct Interrupted {};

// Installs a check for the calling thread until the end of the scope. Once the check has returned
// true it is not called again, and every loop in the scope ends with Interrupted.
class InterruptScope {
 public:
  explicit InterruptScope(InterruptCheck check);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Calls the check if the last result is older than 50 ms.
  bool poll() noexcept;
  bool stopped() const { return stopped_; }

 private:
  InterruptCheck check_;
  InterruptScope* outer_;
  std::chrono::steady_clock::time_point next_poll_;
  bool stopped_ = false;
};

// Whether the calling thread should stop: its own scope was interrupted, or the loop whose task it
// runs was interrupted or has failed elsewhere. Costs a clock read, about 30 ns: a long serial loop
// calls it every few hundred rows.
bool interrupted();

// Counts the steps of long serial loops and throws Interrupted when the thread should stop; checks
// once in 65,536 steps of a few nanoseconds each.
class InterruptSteps {
 public:
  void take(std::int64_t n_steps = 1) {
    if ((left_ -= n_steps) > 0) return;
    left_ = most_;
    if (interrupted()) throw Interrupted{};
  }

 private:
  static constexpr std::int64_t most_ = 1 << 16;
  std::int64_t left_ = most_;
};

// Whether the calling thread runs a task of a loop, so that a nested loop would run serially.
bool inside_a_loop();

// A non-owning reference to a callable (std::int64_t index, int worker).
class FunctionRef {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
             std::is_invocable_v<F&, std::int64_t, int>)
  FunctionRef(F&& callable)  // implicit, so that a lambda can be passed directly
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, std::int64_t index, int worker) {
          (*static_cast<std::remove_reference_t<F>*>(object))(index, worker);
        }) {}

  void operator()(std::int64_t index, int worker) const { call_(object_, index, worker); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, int);
};

// Run task(index, worker) once for every index in [0, n_tasks) on at most n_threads threads;
// returns when all are done. The caller is worker 0, the others are 1 .. n_threads - 1; a worker
// runs one task at a time, so it can own scratch space. The assignment of tasks to workers is
// unspecified: results must not depend on it.
//
// The whole loop runs in the caller, as worker 0, if n_threads <= 1 or n_tasks <= 1, inside a task
// of another loop, while another thread uses the pool, or if no thread can be created.
//
// The first exception thrown by a task is rethrown here, after the running tasks have ended and
// with the rest skipped. Interrupted is thrown likewise, and takes precedence.
void parallel_for(std::int64_t n_tasks, int n_threads, FunctionRef task);

// Rows of a task of a loop over consecutive rows: no more than a core's cache holds, and no more
// than leave every thread something to do. Few rows are one task.
inline std::int64_t rows_of_task(std::int64_t n_rows, int n_threads) {
  constexpr std::int64_t least = 2'048, most = 8'192;
  if (n_rows < most) return most;
  return std::clamp((n_rows + n_threads - 1) / std::max(1, n_threads), least, most);
}

}  // namespace weald
