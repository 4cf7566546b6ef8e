// Work sharing within trees: branches that idle threads grow for others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "base/draws.hpp"
#include "base/exact_sum.hpp"
#include "data/column_sampling.hpp"
#include "split/splitting.hpp"
#include "tree/tree.hpp"

namespace weald::grow {

class ForestGrower;

// A node that is not yet grown.
struct OpenNode {
  std::int64_t begin, end;  // of the rows
  Draws draws;
  data::ConstantFeatures constants;
  std::int32_t depth, parent;  // parent: of a right child; -1: left child
  Bounds bounds = {};          // of leaf values, with monotonic constraints
};

// A subtree to be grown. Its rows are a range of those of the tree and its random draws depend only
// on its path, so that the result does not depend on the thread.
struct Branch {
  const ForestGrower& from;  // the grower of the tree or branch it belongs to
  OpenNode root;
  std::vector<std::int64_t> sums;  // integer sums of the rows

  // The result, as members of ForestGrower.
  tree::Tree tree = {};
  std::vector<std::uint32_t> limits = {};
  RawGrowingVector<double> medians = {}, gains = {};
  std::vector<Int128> exact = {};
  double score = 0.0;

  bool is_grown = false;  // or failed; guarded by Branches
  std::exception_ptr failure = nullptr;
};

// Trees take different times and their number need not be a multiple of the number of threads.
// Threads without a tree, or waiting for a branch, ask for work; a thread that grows a tree then
// offers its largest branch that is not yet begun. docs/decisions/0010: one extra tree of a million
// rows takes 0.56 of the time with two threads.
class Branches {
 public:
  // Smaller branches are grown before another thread could start on them.
  static constexpr std::int64_t least_rows = 8192;

  // Whether more threads wait than branches are on offer.
  bool are_wanted() const { return n_wanted_.load(std::memory_order_relaxed) > 0; }
  void offer(std::shared_ptr<Branch> branch);

  // While this object lives, its thread may offer branches.
  class Growing {
   public:
    explicit Growing(Branches& branches) : branches_(branches) { branches_.count(1); }
    ~Growing() { branches_.count(-1); }
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;

   private:
    Branches& branches_;
  };

  // Grows offered branches by grow(branch) until `branch` is grown (rethrows its failure), or until
  // no thread can offer any.
  template <class Grow>
  void help_until_grown(const Branch& branch, Grow&& grow) {
    help([&] { return branch.is_grown; }, grow);
    if (branch.failure) std::rethrow_exception(branch.failure);
  }
  template <class Grow>
  void help_to_the_end(Grow&& grow) {
    help([&] { return n_growing_ == 0; }, grow);
  }

 private:
  template <class IsOver, class Grow>
  void help(IsOver&& is_over, Grow&& grow) {
    std::unique_lock lock(mutex_);
    while (!is_over()) {
      const std::shared_ptr<Branch> branch = take(lock);
      if (!branch) continue;
      lock.unlock();
      try {
        grow(*branch);
      } catch (...) {
        branch->failure = std::current_exception();
      }
      lock.lock();
      branch->is_grown = true;
      changed_.notify_all();
      if (branch->failure) std::rethrow_exception(branch->failure);
    }
  }
  std::shared_ptr<Branch> take(std::unique_lock<std::mutex>& lock);
  void count(int n_more);
  void update_wanted();

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Branch>> offered_;
  int n_growing_ = 0, n_waiting_ = 0;
  std::atomic<int> n_wanted_{0};
};

}  // namespace weald::grow
