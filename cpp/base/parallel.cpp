// The thread pool behind parallel_for, and interrupt polling.
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/cores.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace weald {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPollInterval = std::chrono::milliseconds(50);
// How long an idle worker spins before it parks: several times the latency of waking a parked
// thread. Between two loops of one fit, Python's part of a round takes 50 to 100 microseconds; a
// parked worker would wake when half of the next loop is done, three times per round.
constexpr auto kSpin = std::chrono::microseconds(200);
constexpr int kPausesPerYield = 64;
// Affinity and quota seldom change, and a system call per loop would cost more than the loop.
constexpr unsigned kLoopsPerCoreCount = 1024;
// Wake-up tree: a thread wakes this many others before its own work, and each of them as many
// again, so that on 64 cores the caller pays for four system calls instead of 63.
constexpr int kWakeFan = 4;
constexpr std::size_t kCacheLine = 64;
// Stack size of a worker: ten times what the core needs. The process default may be as low as 128
// KiB or reserve 8 MiB.
constexpr std::size_t kStack = std::size_t{1} << 20;
// No worker is created with less free memory than this: the per-thread data of the system and of
// the C++ library must fit.
constexpr std::size_t kLeastMemory = std::size_t{1} << 20;

struct Job {
  const FunctionRef task;
  const std::int64_t n_tasks;
  const int n_threads;
  std::atomic<bool> failed{false};
  std::exception_ptr
      error{};  // written by the thread that sets `failed`, read when all workers are idle
  // Only a hint to stop early; results are published through the worker's state. Hence relaxed.
  std::atomic<bool> stop{false};
  // On its own cache line: the other fields are read by every worker and rarely written.
  alignas(kCacheLine) std::atomic<std::int64_t> next{0};
};

enum class State { idle, offered, running };

// One worker's mailbox. The caller moves idle -> offered, and offered -> idle if the loop ends
// before the worker started; the worker moves offered -> running -> idle. Only a running worker
// reads the job, so the job can live on the caller's stack, and the caller waits only for workers
// that have started.
struct Pool;
struct alignas(kCacheLine) Slot {
  std::atomic<State> state{State::idle};
  std::atomic<bool> parked{false};   // the worker sleeps on `changed` until this is false
  std::atomic<bool> awaited{false};  // the caller sleeps on `changed` until the worker is idle
  Job* job = nullptr;                // owned by the thread that may write `state`
  Pool* pool = nullptr;
  int worker = 0;          // index of this worker
  bool has_begun = false;  // guarded by the mutex
  std::mutex mutex;
  std::condition_variable changed;
};

struct Pool {
  std::atomic<bool> busy{false};
  std::atomic<bool> spin{false};
  // Only the holder of `busy` accesses these, except that workers read slots within the job's
  // count.
  int n_workers = 0;
  int cores = 0;
  unsigned loops = 0;
  Slot* slots[kMaxThreads] = {};  // slots[0], the caller's, stays empty
};

// Never deleted: detached workers sleep in it until the process exits, and joining them would hang
// an interpreter that shuts down after a fork or while a daemon thread is in a loop. All globals
// are constant-initialised and trivially destroyed, so neither order of construction nor exit
// handlers matter.
constinit std::atomic<Pool*> g_pool{nullptr};
constinit std::atomic<unsigned> g_forks{0};
// A library's thread-local variables are otherwise allocated at a thread's first use; if that
// fails, glibc aborts the process. With initial-exec these few bytes exist from the start of the
// thread.
#if defined(__GLIBC__)
#define WEALD_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] constinit thread_local
#else
#define WEALD_THREAD_LOCAL constinit thread_local
#endif
WEALD_THREAD_LOCAL Job* t_job = nullptr;  // the pool's loop whose task this thread runs
WEALD_THREAD_LOCAL InterruptScope* t_scope = nullptr;

#if !defined(_WIN32)
// A forked child has no workers, and any lock of the pool may be held by a thread that no longer
// exists: the child drops the pool, locks included, and creates a new one on demand.
void abandon_pool_in_child() {
  g_pool.store(nullptr, std::memory_order_relaxed);
  g_forks.fetch_add(1, std::memory_order_relaxed);
}

[[maybe_unused]] const int g_fork_handler = pthread_atfork(nullptr, nullptr, abandon_pool_in_child);
#endif

Pool* the_pool() {
  Pool* pool = g_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return pool;
  // Not a function-local static: its guard, if held by another thread at a fork, would hang the
  // child.
  auto fresh = std::make_unique<Pool>();
  if (g_pool.compare_exchange_strong(pool, fresh.get(), std::memory_order_acq_rel)) {
    return fresh.release();
  }
  return pool;
}

void cpu_pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
  asm volatile("yield");
#endif
}

// Spin with occasional yields, so that a thread we wait for can get the core.
template <class Ready>
bool spin_until(Ready ready) {
  const auto end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < kPausesPerYield; ++i) {
      if (ready()) return true;
      cpu_pause();
    }
    std::this_thread::yield();
  } while (Clock::now() < end);
  return ready();
}

// Sleepers set their flag (parked, awaited) and then read `state`; wakers change `state` and then
// read the flags. All four accesses are sequentially consistent: anything weaker could lose a
// wake-up. The empty critical section keeps the notification from falling between a sleeper's last
// check and its wait.
void notify(Slot& slot) {
  std::unique_lock(slot.mutex).unlock();
  slot.changed.notify_all();
}

void wake_others(const Pool& pool, const Job& job, int worker) {
  const int first = kWakeFan * worker + 1;
  for (int w = first; w < std::min(first + kWakeFan, job.n_threads); ++w) {
    Slot& slot = *pool.slots[w];
    if (slot.parked.load() && slot.parked.exchange(false)) notify(slot);
  }
}

void park(Slot& slot) {
  std::unique_lock lock(slot.mutex);
  slot.parked.store(true);
  slot.changed.wait(lock,
                    [&] { return !slot.parked.load() || slot.state.load() == State::offered; });
  slot.parked.store(false);
}

void run_tasks(Job& job, int worker) noexcept {
  t_job = &job;
  try {
    while (!interrupted()) {
      const std::int64_t index = job.next.fetch_add(1, std::memory_order_relaxed);
      if (index >= job.n_tasks) break;
      job.task(index, worker);
    }
  } catch (...) {
    if (!job.failed.exchange(true)) job.error = std::current_exception();
    job.stop.store(true, std::memory_order_relaxed);
  }
  t_job = nullptr;
}

[[noreturn]] void serve(Slot& slot) noexcept {
  Pool* const pool = slot.pool;
  const auto offered = [&] { return slot.state.load(std::memory_order_relaxed) == State::offered; };
  for (;;) {
    if (!pool->spin.load(std::memory_order_relaxed) || !spin_until(offered)) park(slot);
    State expected = State::offered;
    // Acquire: see the job on offer. Failure: the offer was withdrawn.
    if (slot.state.compare_exchange_strong(expected, State::running, std::memory_order_acquire)) {
      wake_others(*pool, *slot.job, slot.worker);
      run_tasks(*slot.job, slot.worker);
      slot.state.store(State::idle);  // publishes the results of the tasks; the job may now be gone
      if (slot.awaited.load()) notify(slot);
    }
  }
}

void* begin_worker(void* its_slot) noexcept {
  Slot& slot = *static_cast<Slot*>(its_slot);
  prepare_to_throw();
  {
    const std::scoped_lock hold(slot.mutex);
    slot.has_begun = true;
  }
  slot.changed.notify_all();
  serve(slot);
}

// Returns whether the system created the thread.
bool start_thread(Slot& slot) {
#if defined(_WIN32)
  std::thread(begin_worker, &slot).detach();
  return true;
#else
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, begin_worker, &slot);
  pthread_attr_destroy(&attributes);
  return error == 0;
#endif
}

// Waits until the worker has allocated everything it needs before anything else allocates.
bool make_worker(Pool& pool, int worker) {
  void* volatile memory =
      std::malloc(kLeastMemory);  // volatile: the allocation must not be optimised away
  std::free(memory);
  if (memory == nullptr) return false;
  if (pool.slots[worker] == nullptr) pool.slots[worker] = new Slot;
  Slot& slot = *pool.slots[worker];
  slot.pool = &pool;
  slot.worker = worker;
  if (!start_thread(slot)) return false;
  std::unique_lock lock(slot.mutex);
  slot.changed.wait(lock, [&] { return slot.has_begun; });
  return true;
}

// Create the missing workers; fewer if the system refuses, which costs only speed.
void grow(Pool& pool, int n_threads) {
#if !defined(_WIN32)
  // A thread inherits its creator's signal mask, so a worker can never receive a SIGINT meant for
  // the main thread. Fault signals stay unblocked, or a crash in a task would escape faulthandler
  // and the sanitizers.
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
#endif
  try {
    for (int worker = pool.n_workers + 1; worker < n_threads; ++worker) {
      if (!make_worker(pool, worker)) break;
      pool.n_workers = worker;
    }
  } catch (const std::exception&) {
  }
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
}

// Returns whether the worker became idle; it never does in a child forked by a task of this loop.
bool await(Slot& slot, Job& job, bool spin, unsigned forks) noexcept {
  const auto done = [&] { return slot.state.load() != State::running; };
  if (spin && spin_until(done)) return true;
  while (!done()) {
    if (interrupted()) job.stop.store(true, std::memory_order_relaxed);
    if (g_forks.load(std::memory_order_relaxed) != forks) return false;
    std::unique_lock lock(slot.mutex);
    slot.awaited.store(true);
    slot.changed.wait_for(lock, kPollInterval, done);
    slot.awaited.store(false);
  }
  return true;
}

void run_serially(std::int64_t n_tasks, FunctionRef task) {
  for (std::int64_t index = 0; index < n_tasks; ++index) {
    if (interrupted()) throw Interrupted{};
    task(index, 0);
  }
  if (t_scope != nullptr && t_scope->stopped()) throw Interrupted{};
}

// Returns whether all workers that started also ended. Once an offer is made, only this function
// knows that others hold the job; hence noexcept.
bool run_on(Pool& pool, Job& job) noexcept {
  const unsigned forks = g_forks.load(std::memory_order_relaxed);
  const bool spin = pool.spin.load(std::memory_order_relaxed);
  for (int w = 1; w < job.n_threads; ++w) {
    pool.slots[w]->job = &job;
    pool.slots[w]->state.store(State::offered);
  }
  wake_others(pool, job, 0);
  run_tasks(job, 0);
  if (t_scope != nullptr && t_scope->stopped()) job.stop.store(true, std::memory_order_relaxed);
  for (int w = 1; w < job.n_threads; ++w) {
    State expected = State::offered;
    pool.slots[w]->state.compare_exchange_strong(expected, State::idle, std::memory_order_relaxed);
  }
  bool complete = true;
  for (int w = 1; w < job.n_threads; ++w) {
    complete = await(*pool.slots[w], job, spin, forks) && complete;
  }
  return complete;
}

}  // namespace

void prepare_to_throw() noexcept {
  [[maybe_unused]] const volatile int any =
      std::uncaught_exceptions();  // volatile: the call must not be optimised away
}

InterruptScope::InterruptScope(InterruptCheck check)
    : check_(check), outer_(t_scope), next_poll_(Clock::now() + kPollInterval) {
  t_scope = this;
}

InterruptScope::~InterruptScope() { t_scope = outer_; }

bool InterruptScope::poll() noexcept {
  if (stopped_ || check_ == nullptr) return stopped_;
  if (Clock::now() < next_poll_) return false;
  next_poll_ = Clock::time_point::max();  // a check that runs Python may re-enter this function
  stopped_ = check_();
  next_poll_ =
      Clock::now() + kPollInterval;  // measured from its end: it may have waited long for the GIL
  return stopped_;
}

bool interrupted() {
  if (t_job != nullptr && t_job->stop.load(std::memory_order_relaxed)) return true;
  return t_scope != nullptr && t_scope->poll();
}

bool inside_a_loop() { return t_job != nullptr; }

void parallel_for(std::int64_t n_tasks, int n_threads, FunctionRef task) {
  n_threads = static_cast<int>(std::min<std::int64_t>({n_tasks, n_threads, kMaxThreads}));
  Pool* pool = n_threads > 1 && t_job == nullptr ? the_pool() : nullptr;
  if (pool == nullptr || pool->busy.exchange(true, std::memory_order_acquire)) {
    return run_serially(n_tasks, task);
  }
  const auto release = [](Pool* p) { p->busy.store(false, std::memory_order_release); };
  std::unique_ptr<Pool, decltype(release)> claim(pool, release);

  if (pool->n_workers + 1 < n_threads) grow(*pool, n_threads);
  n_threads = std::min(n_threads, pool->n_workers + 1);
  if (pool->loops++ % kLoopsPerCoreCount == 0) {
    pool->cores =
        machine_cores();  // without OMP_NUM_THREADS: Python may be writing the environment
  }
  pool->spin.store(n_threads <= pool->cores, std::memory_order_relaxed);
  Job job{.task = task, .n_tasks = n_tasks, .n_threads = n_threads};
  const bool complete = run_on(*pool, job);
  claim.reset();
  if (t_scope != nullptr && t_scope->stopped()) throw Interrupted{};
  if (job.failed.load()) std::rethrow_exception(std::move(job.error));
  if (!complete) throw std::runtime_error("the process was forked by a task of a parallel loop");
}

}  // namespace weald
