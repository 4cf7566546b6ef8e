// Adds words to wide cells, block by block: rows are added to packed cells, and before the sums of
// these can overflow, they are added to the wide ones and cleared.
//
// For sums of so many rows that they do not fit packed cells. Benchmark row `growth_rows` with
// 10,000,000 rows: with a weight and a sum for each row instead of a word, a fit of 12 trees takes
// 2.0 times the processor time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "split/histogram.hpp"

namespace weald::split {

class WordBlocks {
 public:
  // Forgets rows that were added. `rows_of_block` is that of the channels; with 0 nothing is kept.
  void start(const Codes& codes, const data::Categories& categories, std::int64_t rows_of_block,
             int n_threads);

  bool are_used() const { return rows_of_block_ > 0; }

  // Adds n rows to wide cells, which a worker must have for itself until `finish`:
  // add(layout, first, size, cells) adds the rows [first, first + size) of them to packed cells.
  template <class Add>
  void add(int worker, std::int64_t n, std::int64_t* wide, Add&& add_packed) {
    Block& block = blocks_[worker];
    if (block.wide != wide) empty(block);
    block.wide = wide;
    block.packed.resize(static_cast<std::size_t>(layout_->size()));
    for (std::int64_t first = 0, size; first < n; first += size) {
      size = std::min(n - first, rows_of_block_ - block.n_rows);
      add_packed(*layout_, first, size, block.packed.data());
      block.n_rows += size;
      if (block.n_rows == rows_of_block_) empty(block);
    }
  }

  // Adds what is left in the blocks of all workers.
  void finish();

 private:
  struct Block {
    std::int64_t* wide = nullptr;  // the cells to which its rows belong
    std::int64_t n_rows = 0;
    std::vector<std::int64_t> packed = {};
  };
  void empty(Block& block) const;

  std::int64_t rows_of_block_ = 0;
  std::optional<HistogramLayout> layout_;  // of packed cells
  std::vector<Block> blocks_;              // of each worker
};

}  // namespace weald::split
