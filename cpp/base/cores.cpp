#include "base/cores.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/parallel.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace weald {
namespace {

#if defined(__linux__)
using Clock = std::chrono::steady_clock;

// Read a small file; empty if it cannot be read. std::ifstream is avoided: streams need the locale
// of the C++ library, and a process may hold two copies of it, one linked into an extension.
std::string text_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "re"), [](std::FILE* f) { return fclose(f); });
  std::string text;
  char part[512];
  while (const std::size_t n = file ? std::fread(part, 1, sizeof part, file.get()) : 0)
    text.append(part, n);
  return text;
}

// Consume leading spaces and a number; -1 if there is no number ("max").
double taken_number(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  long long number = -1;
  const auto end = std::from_chars(text.data() + begin, text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return static_cast<double>(number);
}
double number_in(const std::string& path) {
  const std::string text = text_of(path);
  std::string_view rest = text;
  return taken_number(rest);
}

// A quota applies to the whole subtree, so every ancestor group is checked. The walk also finds the
// limit in a container that mounts its own group as the root but sees the host's path in /proc.
double tightest_quota(const std::string& root, std::string path) {
  double cores = kMaxThreads;
  for (;;) {
    double quota = -1, period = -1;
    if (const std::string v2 = text_of(root + path + "/cpu.max"); !v2.empty()) {
      std::string_view rest = v2;
      quota = taken_number(rest);
      period = taken_number(rest);
    } else {
      quota = number_in(root + path + "/cpu.cfs_quota_us");
      period = number_in(root + path + "/cpu.cfs_period_us");
    }
    if (quota > 0 && period > 0) cores = std::min(cores, quota / period);
    if (path.empty()) return cores;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

// Whether a controller list ("cpu,cpuacct") contains "cpu".
bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

// Parse /proc/self/cgroup; its lines are "number:controllers:path".
int read_cgroup_cores() {
  double cores = kMaxThreads;
  const std::string groups = text_of("/proc/self/cgroup");
  for (std::size_t begin = 0, end; begin < groups.size(); begin = end + 1) {
    end = std::min(groups.find('\n', begin), groups.size());
    const std::size_t first = groups.find(':', begin), second = groups.find(':', first + 1);
    if (first >= end || second >= end) continue;
    const auto controllers = std::string_view(groups).substr(first + 1, second - first - 1);
    const std::string path = groups.substr(second + 1, end - second - 1);
    if (controllers.empty()) {
      cores = std::min(cores, tightest_quota("/sys/fs/cgroup", path));
    } else if (names_cpu(controllers)) {
      // Distributions link "cpu" to the hierarchy named "cpu,cpuacct".
      cores = std::min(cores, tightest_quota("/sys/fs/cgroup/cpu", path));
    }
  }
  return std::max(1, static_cast<int>(cores));
}

int cgroup_cores() {
  // Two atomics instead of a lock: racing threads at worst read the files twice, and a fork cannot
  // leave a lock held. The count is stored before the expiry time, so a fresh expiry implies a
  // fresh count.
  static constinit std::atomic<int> cores{0};
  static constinit std::atomic<Clock::rep> expires{0};
  const auto now = Clock::now().time_since_epoch();
  if (now.count() < expires.load(std::memory_order_acquire)) {
    return cores.load(std::memory_order_relaxed);
  }
  const int fresh = read_cgroup_cores();
  cores.store(fresh, std::memory_order_relaxed);
  expires.store((now + std::chrono::seconds(1)).count(), std::memory_order_release);
  return fresh;
}

#endif

// The first number of OMP_NUM_THREADS ("4", "4,2"); kMaxThreads if unset or malformed.
int environment_cores() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return kMaxThreads;
  char* rest;
  const long number =
      std::strtol(text, &rest, 10);  // 0 if there is no number; saturates if too large
  while (*rest == ' ') ++rest;
  if (number < 1 || (*rest != '\0' && *rest != ',')) return kMaxThreads;
  return static_cast<int>(std::min<long>(number, kMaxThreads));
}

}  // namespace

int machine_cores() {
#if defined(__linux__)
  cpu_set_t mask[16];  // the kernel rejects a mask shorter than its own; this fits 16384 CPUs
  if (sched_getaffinity(0, sizeof(mask), mask) == 0) {
    return std::clamp(CPU_COUNT_S(sizeof(mask), mask), 1, cgroup_cores());
  }
#endif
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
}

int usable_cores() { return std::min(machine_cores(), environment_cores()); }

}  // namespace weald
