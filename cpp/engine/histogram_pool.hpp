// Reusable memory for the histograms of a tree's nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

namespace weald::engine {

// Slots of equal size. take, give and n_in_use may be called by several threads; a slot that is
// taken belongs to its taker. Slots must not be created concurrently: reserve them first.
class HistogramPool {
 public:
  // Frees all slots, and drops them if their size changes.
  void start(std::int64_t slot_size) {
    if (slot_size != slot_size_) slots_.clear();
    slot_size_ = slot_size;
    free_.resize(slots_.size());
    std::iota(free_.rbegin(), free_.rend(), 0);
  }
  void reserve(std::size_t n_free) {
    while (free_.size() < n_free) free_.push_back(created());
  }

  int take() {
    const std::scoped_lock lock(lock_);
    if (free_.empty()) return created();
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }
  // A negative slot is ignored.
  void give(int slot) {
    if (slot < 0) return;
    const std::scoped_lock lock(lock_);
    free_.push_back(slot);
  }
  std::size_t n_in_use() {
    const std::scoped_lock lock(lock_);
    return slots_.size() - free_.size();
  }

  std::int64_t* cells_of(int slot) { return slots_[slot].data(); }

 private:
  int created() {
    slots_.emplace_back(static_cast<std::size_t>(slot_size_));
    return static_cast<int>(slots_.size()) - 1;
  }

  std::int64_t slot_size_ = 0;
  std::vector<std::vector<std::int64_t>> slots_;
  std::vector<int> free_;
  std::mutex lock_;
};

}  // namespace weald::engine
