// Branches of trees that wait to be grown, for whoever has no tree of his own.
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

// A node whose rows wait.
struct OpenNode {
  std::int64_t begin, end;  // of its rows
  Draws draws;
  data::ConstantFeatures constants;
  std::int32_t depth, parent;  // parent: the place it is the right child of; -1: it is a left one
  Bounds bounds = {};          // of the answers of its leaves, where columns have directions
};

// A node and all that will be below it. Its rows are a range of those of the tree, and its draws
// are named by its place in it: who grows it cannot matter.
struct Branch {
  const ForestGrower& from;  // whose tree it belongs to, or a branch that it belongs to
  OpenNode root;
  std::vector<std::int64_t> sums;  // the integer sums of its rows

  // What was grown, as the parts of ForestGrower.
  tree::Tree tree = {};
  std::vector<std::uint32_t> limits = {};
  RawGrowingVector<double> medians = {}, gains = {};
  std::vector<Int128> exact = {};
  double score = 0.0;

  bool is_grown = false;  // or has failed; guarded by `Branches`
  std::exception_ptr failure = nullptr;
};

// The trees of a loop take unlike times, and their number is no multiple of the threads'. Whoever
// has none left, or waits for a branch, asks for work; who grows a tree then gives away the largest
// branch it has not begun.
class Branches {
 public:
  // Fewer rows are grown before another thread has come.
  static constexpr std::int64_t least_rows = 8192;

  // Whether anybody waits for more than is on offer.
  bool are_wanted() const { return n_wanted_.load(std::memory_order_relaxed) > 0; }
  void offer(std::shared_ptr<Branch> branch);

  // While this lives a thread may offer branches.
  class Growing {
   public:
    explicit Growing(Branches& branches) : branches_(branches) { branches_.count(1); }
    ~Growing() { branches_.count(-1); }
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;

   private:
    Branches& branches_;
  };

  // Grows what others offer by grow(branch), until the branch is grown (throws what went wrong with
  // it), or nobody is left who could offer any.
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
  void tell_wanted();

  std::mutex mutex_;  // what is below
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Branch>> offered_;
  int n_growing_ = 0, n_waiting_ = 0;
  std::atomic<int> n_wanted_{0};
};

}  // namespace weald::grow
