#include "grow/forest_branches.hpp"

#include <chrono>
#include <utility>

#include "base/parallel.hpp"

namespace weald::grow {

void Branches::offer(std::shared_ptr<Branch> branch) {
  const std::scoped_lock hold(mutex_);
  offered_.push_back(std::move(branch));
  update_wanted();
  changed_.notify_all();
}

// The oldest offer; null after a timeout.
std::shared_ptr<Branch> Branches::take(std::unique_lock<std::mutex>& lock) {
  if (offered_.empty()) {
    ++n_waiting_;
    update_wanted();
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    --n_waiting_;
    update_wanted();
    lock.unlock();  // interrupted() may take a while
    if (interrupted()) throw Interrupted{};
    lock.lock();
    return nullptr;
  }
  std::shared_ptr<Branch> first = std::move(offered_.front());
  offered_.erase(offered_.begin());
  update_wanted();
  return first;
}

void Branches::count(int n_more) {
  const std::scoped_lock hold(mutex_);
  n_growing_ += n_more;
  if (n_growing_ == 0) changed_.notify_all();
}

void Branches::update_wanted() {
  n_wanted_.store(n_waiting_ - static_cast<int>(offered_.size()), std::memory_order_relaxed);
}

}  // namespace weald::grow
