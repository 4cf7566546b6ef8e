// A stress test of cpp/base/parallel: prints what fails and exits non-zero; ends by itself in
// seconds.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/cores.hpp"
#include "base/parallel.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

#if defined(__SANITIZE_THREAD__)
constexpr bool kCanFork = false;
#else
constexpr bool kCanFork = true;
#endif
#if defined(__SANITIZE_ADDRESS__)
// Its allocator's lock, held by a thread that allocates or starts during a fork, hangs the child.
constexpr bool kCanForkBesideThreads = false;
#else
constexpr bool kCanForkBesideThreads = true;
#endif
constexpr int kTinyLoops = 100'000;
constexpr std::int64_t kEndless = std::int64_t{1} << 50;  // only skipping the rest ends such a loop

int passed = 0;
int failed = 0;

void check(bool ok, const std::string& what) {
  ok ? ++passed : ++failed;
  if (!ok) std::printf("FAILED: %s\n", what.c_str());
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// What every loop below must add up to, whichever worker does what.
std::int64_t sum_of_squares(std::int64_t n, int n_threads) {
  struct alignas(64) Sum {
    std::int64_t value = 0;
  };
  std::vector<Sum> sums(static_cast<std::size_t>(n_threads < 1 ? 1 : n_threads));
  weald::parallel_for(n, n_threads, [&](std::int64_t index, int worker) {
    sums.at(static_cast<std::size_t>(worker)).value += index * index;
  });
  std::int64_t total = 0;
  for (const Sum& sum : sums) total += sum.value;
  return total;
}

std::int64_t expected_sum(std::int64_t n) { return n < 1 ? 0 : (n - 1) * n * (2 * n - 1) / 6; }

// Waits in a task until `count` reaches `target`, that is, until others run at the same time.
bool meet(std::atomic<int>& count, int target) {
  ++count;
  const auto start = Clock::now();
  while (count < target && ms_since(start) < 5000) std::this_thread::yield();
  return count >= target;
}

void test_sums() {
  for (std::int64_t n : {0, 1, 2, 3, 7, 64, 1000, 20'000}) {
    for (int n_threads : {-1, 0, 1, 2, 3, 8}) {
      check(sum_of_squares(n, n_threads) == expected_sum(n),
            "sum over " + std::to_string(n) + " on " + std::to_string(n_threads));
    }
  }
  // Every index exactly once, and what workers wrote is seen without further ado.
  std::vector<int> hits(10'000, 0);
  weald::parallel_for(10'000, 8, [&](std::int64_t i, int) { ++hits[static_cast<std::size_t>(i)]; });
  bool once = true;
  for (int h : hits) once = once && h == 1;
  check(once, "every index exactly once");
}

void test_really_parallel() {
  for (int n_threads : {2, 8, 40}) {
    std::atomic<int> count{0};
    std::atomic<bool> met{true};
    std::vector<std::atomic<int>> used(static_cast<std::size_t>(n_threads));
    weald::parallel_for(n_threads, n_threads, [&](std::int64_t, int worker) {
      ++used[static_cast<std::size_t>(worker)];
      if (!meet(count, n_threads)) met = false;
    });
    bool each_once = true;
    for (const auto& u : used) each_once = each_once && u == 1;
    check(met && each_once, std::to_string(n_threads) + " tasks at once on as many threads");
  }
}

void test_nested() {
  std::atomic<std::int64_t> total{0};
  std::atomic<bool> as_worker_0{true};
  weald::parallel_for(50, 4, [&](std::int64_t, int) {
    weald::parallel_for(20, 4, [&](std::int64_t, int middle) {
      if (middle != 0) as_worker_0 = false;
      total += sum_of_squares(10, 8);
    });
  });
  check(total == 50 * 20 * expected_sum(10), "nested sums");
  check(as_worker_0, "a nested loop runs in its caller");
}

void test_many_callers() {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&, c] {
      for (int k = 0; k < 5000; ++k) {
        const std::int64_t n = 1 + (k * 37 + c) % 300;
        if (sum_of_squares(n, 2 + (k + c) % 4) != expected_sum(n)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  check(wrong == 0, "sums of six callers at once");
}

template <class Error>
bool throws(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  } catch (...) {
  }
  return false;
}

void test_exceptions() {
  for (int n_threads : {1, 2, 8}) {
    const std::string on = " on " + std::to_string(n_threads);
    for (int k = 0; k < 100; ++k) {
      const bool caught = throws<std::bad_alloc>([&] {
        weald::parallel_for(kEndless, n_threads, [&](std::int64_t i, int) {
          if (i == k) throw std::bad_alloc();
        });
      });
      check(caught, "bad_alloc rethrown, the rest skipped" + on);
    }
    check(throws<std::runtime_error>([&] {
            weald::parallel_for(64, n_threads,
                                [](std::int64_t, int) { throw std::runtime_error("all of them"); });
          }),
          "every task throws" + on);
    check(sum_of_squares(1000, n_threads) == expected_sum(1000), "usable after exceptions" + on);
  }
  // Thrown in a worker, while the caller is busy; the caller's task sees that it can give up.
  std::atomic<int> count{0};
  std::atomic<bool> gave_up{false};
  check(throws<std::runtime_error>([&] {
          weald::parallel_for(2, 2, [&](std::int64_t, int worker) {
            meet(count, 2);
            if (worker != 0) throw std::runtime_error("in a worker");
            const auto start = Clock::now();
            while (!weald::interrupted() && ms_since(start) < 5000) std::this_thread::yield();
            gave_up = weald::interrupted();
          });
        }),
        "an exception of a worker");
  check(gave_up, "interrupted() after a failure elsewhere");
  check(!weald::interrupted(), "interrupted() is false after the failed loop");
}

Clock::time_point stop_at;
std::atomic<int> checks{0};
std::thread::id scope_thread;
std::atomic<bool> asked_elsewhere{false};

bool time_is_up() {
  ++checks;
  if (std::this_thread::get_id() != scope_thread) asked_elsewhere = true;
  return Clock::now() >= stop_at;
}

void start_clock(int ms) {
  checks = 0;
  scope_thread = std::this_thread::get_id();
  stop_at = Clock::now() + milliseconds(ms);
}

void interrupt_endless_loop(int n_threads) {
  const std::string on = " on " + std::to_string(n_threads);
  start_clock(120);
  {
    const weald::InterruptScope scope(time_is_up);
    check(throws<weald::Interrupted>([&] {
            weald::parallel_for(kEndless, n_threads, [](std::int64_t, int) {
              std::this_thread::sleep_for(milliseconds(1));
            });
          }),
          "Interrupted" + on);
    const double late = ms_since(stop_at);
    check(late >= 0 && late < 200, "interrupted after " + std::to_string(late) + " ms" + on);
    check(checks >= 1 && checks <= 8, std::to_string(checks) + " checks in 200 ms" + on);
    check(weald::interrupted(), "the scope stays interrupted" + on);
    check(throws<weald::Interrupted>([&] { sum_of_squares(10, n_threads); }),
          "a later loop of the scope stops at once" + on);
  }
  check(!weald::interrupted(), "the interruption ends with its scope" + on);
  check(sum_of_squares(1000, n_threads) == expected_sum(1000), "usable afterwards" + on);
}

// The caller has nothing left to do and polls while it waits; the worker's long task sees it.
void interrupt_waiting_caller() {
  start_clock(100);
  const weald::InterruptScope scope(time_is_up);
  std::atomic<int> count{0};
  std::atomic<bool> seen{false};
  check(throws<weald::Interrupted>([&] {
          weald::parallel_for(2, 2, [&](std::int64_t, int worker) {
            meet(count, 2);
            if (worker == 0) return;
            const auto start = Clock::now();
            while (!weald::interrupted() && ms_since(start) < 5000) std::this_thread::yield();
            seen = weald::interrupted();
          });
        }),
        "Interrupted while waiting");
  check(seen, "a worker's long task sees the interruption");
  check(ms_since(stop_at) < 200, "interrupted in time while waiting");
}

void interrupt_serial_loop() {
  start_clock(60);
  const weald::InterruptScope scope(time_is_up);
  while (!weald::interrupted() && ms_since(stop_at) < 5000) {
  }
  check(ms_since(stop_at) < 200, "a serial loop is interrupted");
}

void interrupt_nested_loops() {
  start_clock(60);
  const weald::InterruptScope scope(time_is_up);
  check(throws<weald::Interrupted>([] {
          weald::parallel_for(2, 2, [](std::int64_t, int) {
            weald::parallel_for(1'000'000, 2, [](std::int64_t, int) {
              std::this_thread::sleep_for(milliseconds(1));
            });
          });
        }),
        "Interrupted in nested loops");
  check(ms_since(stop_at) < 200, "nested loops are interrupted in time");
}

// An inner scope hides the outer one and leaves it as it was.
void nest_interrupt_scopes() {
  start_clock(-1);
  const weald::InterruptScope outer(time_is_up);
  {
    const weald::InterruptScope inner(nullptr);
    std::this_thread::sleep_for(milliseconds(60));
    check(!weald::interrupted(), "a scope without a check");
    check(sum_of_squares(100, 2) == expected_sum(100), "a loop in a scope without a check");
  }
  check(weald::interrupted(), "the outer scope is back");
}

void test_interruption() {
  for (int n_threads : {1, 2, 8}) interrupt_endless_loop(n_threads);
  interrupt_waiting_caller();
  interrupt_serial_loop();
  interrupt_nested_loops();
  nest_interrupt_scopes();
  check(!asked_elsewhere, "the check is called on its own thread only");
}

void test_oversubscription() {
  const int n_threads = 4 * weald::usable_cores() + 3;
  const auto start = Clock::now();
  bool right = true;
  for (int k = 0; k < 300; ++k)
    right = right && sum_of_squares(200, n_threads) == expected_sum(200);
  check(right, "sums on four times the cores");
  check(ms_since(start) < 4000, "four times the cores, 300 loops in 4 s");
  check(sum_of_squares(5000, 64) == expected_sum(5000), "sum on 64 threads");
  check(sum_of_squares(5000, 64) == expected_sum(5000), "sum on 64 threads again");
}

void print_cost(const char* what, int loops, Clock::time_point start) {
  std::printf("%s: %d loops, %.2f us each\n", what, loops, 1000 * ms_since(start) / loops);
}

void test_tiny_loops() {
  std::int64_t values[8] = {};
  const auto add = [&](std::int64_t index, int) { ++values[index]; };
  auto start = Clock::now();
  for (int k = 0; k < kTinyLoops; ++k) weald::parallel_for(2, 2, add);
  print_cost("2 empty tasks on 2 threads", kTinyLoops, start);
  check(values[0] == kTinyLoops && values[1] == kTinyLoops, "tiny loops");

  start = Clock::now();
  for (int k = 0; k < kTinyLoops / 10; ++k) weald::parallel_for(8, 8, add);
  print_cost("8 empty tasks on 8 threads", kTinyLoops / 10, start);
  check(values[0] == kTinyLoops / 10 * 11 && values[7] == kTinyLoops / 10, "tiny loops on 8");

  // Here the second thread must come, so this is the price of a true hand-over.
  bool met = true;
  start = Clock::now();
  for (int k = 0; k < kTinyLoops / 50; ++k) {
    std::atomic<int> count{0};
    weald::parallel_for(2, 2, [&](std::int64_t, int) {
      for (++count; count < 2;) std::this_thread::yield();
    });
    met = met && count == 2;
  }
  print_cost("2 tasks that meet", kTinyLoops / 50, start);
  check(met, "tiny loops whose tasks meet");

  // With pauses, so that workers are met spinning, about to park, parked and waking.
  std::atomic<std::int64_t> total{0};
  for (int k = 0; k < 3000; ++k) {
    weald::parallel_for(3, 3, [&](std::int64_t i, int) { total += i; });
    start = Clock::now();
    while (ms_since(start) < 0.001 * (k % 100)) {
    }
  }
  check(total == 3000 * 3, "tiny loops with pauses");
}

void test_usable_cores() {
  const int before = weald::usable_cores();
  check(before >= 1 && before <= weald::kMaxThreads, "usable_cores is positive");
#if !defined(_WIN32)
  const char* old = std::getenv("OMP_NUM_THREADS");
  const std::string saved = old == nullptr ? "" : old;
  unsetenv("OMP_NUM_THREADS");
  const int cores = weald::usable_cores();
  const int two = cores < 2 ? cores : 2;
  const struct {
    const char* text;
    int expected;
  } cases[] = {{"1", 1},          {" 1 ", 1},
               {"1,4", 1},        {"2 ,1", two},
               {"100000", cores}, {"", cores},
               {"0", cores},      {"-1", cores},
               {"1x", cores},     {"many", cores},
               {",1", cores},     {"1.5", cores},
               {"1 2", cores},    {"99999999999999999999", cores}};
  for (const auto& c : cases) {
    setenv("OMP_NUM_THREADS", c.text, 1);
    check(weald::usable_cores() == c.expected, "OMP_NUM_THREADS='" + std::string(c.text) + "'");
  }
  unsetenv("OMP_NUM_THREADS");
#if defined(__linux__)
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof(all), &all) == 0) {
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    check(weald::usable_cores() == 1, "usable_cores follows the affinity");
    sched_setaffinity(0, sizeof(all), &all);
    check(weald::usable_cores() == cores, "and follows it back");
  }
#endif
  if (old != nullptr) setenv("OMP_NUM_THREADS", saved.c_str(), 1);
#endif
}

#if !defined(_WIN32)
std::atomic<int> signals_seen{0};
std::atomic<bool> signal_in_worker{false};
thread_local bool is_main = false;

void on_signal(int) {
  ++signals_seen;
  if (!is_main) signal_in_worker = true;
}

void test_signals() {
  is_main = true;
  struct sigaction action = {}, before;
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, &before);
  for (int k = 0; k < 200; ++k) {
    weald::parallel_for(8, 8, [](std::int64_t i, int) {
      if (i == 3) kill(getpid(), SIGUSR1);
    });
  }
  const auto start = Clock::now();
  while (signals_seen == 0 && ms_since(start) < 2000) std::this_thread::yield();
  check(signals_seen > 0, "signals arrive");
  check(!signal_in_worker, "no worker takes a signal");

  // With the main thread deaf only a worker could take it; it must stay pending.
  sigset_t usr1, mask;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  const int seen = signals_seen;
  kill(getpid(), SIGUSR1);
  sum_of_squares(1000, 8);
  std::this_thread::sleep_for(milliseconds(20));
  check(signals_seen == seen, "workers block signals");
  pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
  check(signals_seen == seen + 1 && !signal_in_worker, "the main thread takes it when it listens");

  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  check(sigismember(&mask, SIGINT) == 0, "the caller's signal mask is as before");
  sigaction(SIGUSR1, &before, nullptr);
}

// Runs `work` in a forked child and says whether it returned true; an alarm ends a child that
// hangs.
bool in_child(const std::function<bool()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(5);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Runs a task on each of n_threads threads at once; after it their start is behind them.
bool gather(int n_threads) {
  std::atomic<int> count{0};
  std::atomic<bool> met{true};
  weald::parallel_for(n_threads, n_threads, [&](std::int64_t, int) {
    if (!meet(count, n_threads)) met = false;
  });
  return met;
}

bool sums_right() {
  for (int k = 0; k < 20; ++k) {
    if (sum_of_squares(1000, 1 + k % 5) != expected_sum(1000)) return false;
  }
  return gather(5);
}

void test_fork_beside_loops() {
  if (!kCanForkBesideThreads) {
    std::printf("note: forks beside a running loop are skipped under AddressSanitizer\n");
    return;
  }
  std::atomic<bool> enough{false};
  std::atomic<int> wrong{0};
  std::thread other([&] {
    for (int k = 0; !enough; ++k) {
      if (sum_of_squares(100, 4) != expected_sum(100)) ++wrong;
      if (k % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  int lost = 0;
  for (int k = 0; k < 60; ++k) lost += in_child(sums_right) ? 0 : 1;
  enough = true;
  other.join();
  check(lost == 0, std::to_string(lost) + " of 60 children forked beside a loop");
  check(wrong == 0, "the loops beside the forks");
}

void test_fork() {
  if (!kCanFork) {
    std::printf("note: the fork tests are skipped under ThreadSanitizer\n");
    return;
  }
  check(gather(8), "eight threads before the fork");
  check(in_child(sums_right), "fork after use");
  check(in_child([] { return sums_right() && in_child(sums_right); }), "a child of a child");
  check(sums_right(), "the parent's pool after forks");

  test_fork_beside_loops();

  // By a task: the child has lost the tasks of its workers and must say so, not wait for them.
  std::atomic<int> count{0};
  std::atomic<bool> child_right{false};
  const pid_t parent = getpid();
  bool told = false;
  try {
    weald::parallel_for(2, 2, [&](std::int64_t, int worker) {
      meet(count, 2);
      if (worker == 0) {
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
          alarm(5);
          return;
        }
        int status = 1;
        waitpid(child, &status, 0);
        child_right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        ++count;
      } else {
        const auto start = Clock::now();
        while (count < 3 && ms_since(start) < 6000) std::this_thread::yield();
      }
    });
  } catch (const std::runtime_error&) {
    told = true;
  }
  if (getpid() != parent) _exit(told && sums_right() ? 0 : 1);
  check(!told && child_right, "a fork by a task");
}
#else
void test_signals() {}
void test_fork() { std::printf("note: no fork on this system\n"); }
#endif

// Loops must also work, and the process still end, while statics are being destroyed.
struct AtExit {
  ~AtExit() {
    if (sum_of_squares(1000, 4) != expected_sum(1000)) std::_Exit(1);
  }
} at_exit;

}  // namespace

int main() {
  const auto start = Clock::now();
#if !defined(_WIN32)
  alarm(60);  // a deadlock is a failure, not a wait
#endif
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"sums", test_sums},
               {"really parallel", test_really_parallel},
               {"nested", test_nested},
               {"many callers", test_many_callers},
               {"exceptions", test_exceptions},
               {"interruption", test_interruption},
               {"signals", test_signals},
               {"fork", test_fork},
               {"oversubscription", test_oversubscription},
               {"tiny loops", test_tiny_loops},
               {"usable cores", test_usable_cores}};
  for (const auto& test : tests) {
    const auto began = Clock::now();
    test.run();
    std::printf("%-16s %6.0f ms\n", test.name, ms_since(began));
  }
  std::printf("%d usable cores, %.1f s\n", weald::usable_cores(), ms_since(start) / 1000);
  std::printf("pool stress: %d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
