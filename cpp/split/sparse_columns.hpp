// Columns in which most rows hold the same: only what other rows hold is counted.
//
// Where nine rows of ten hold zero, a row's codes are mostly the usual ones. What a row holds
// besides lies in a short list, and counting costs an addition for each entry of it instead of one
// for each column. The usual code's sum is what the others leave of the node's total: sums are
// integers, so the histogram is the same.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "split/histogram.hpp"

namespace weald::split {

class SparseColumns {
 public:
  // Looks which groups of columns are worth lists.
  SparseColumns(const Codes& codes, int n_threads);

  // Does it save more to count so many rows by lists than it costs to find the usual codes' sums?
  bool pays_for(std::int64_t n_rows) const { return n_rows >= least_rows_; }

  // Adds the words of the rows to packed cells, all groups of columns but no wide ones; `rows`
  // null: rows begin .. begin + n - 1. The cells of the usual codes are right only after
  // `complete`.
  void add(const Codes& codes, const HistogramLayout& layout, const target::Channels& channels,
           const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells) const;

  // Gives the usual codes of a group what the other codes leave of `total`.
  void complete(int group, const HistogramLayout& layout, std::int64_t total,
                std::int64_t* cells) const;

 private:
  // Groups whose cells a 16-bit number tells apart, and the lists of all rows: the cells of a row
  // are those from 4 * first[row] on.
  struct Block {
    int first_group, last_group;
    std::int64_t base;  // of the cells
    LargeVector<std::uint32_t> first;
    LargeVector<std::uint16_t> cells;
  };
  void choose(const Codes& codes);
  bool fill(const Codes& codes, Block& block, int n_threads) const;
  static void add_block(const Block& block, const std::int64_t* words, const Row* rows,
                        std::int64_t begin, std::int64_t n, std::int64_t* cells);

  std::int64_t least_rows_;
  int n_columns_;
  std::vector<std::uint64_t> usual_;  // of each group: the usual codes of its columns, as a row's
  std::vector<std::uint8_t> has_lists_;   // of each group
  std::vector<std::int64_t> first_cell_;  // of each group, where a cell is one integer
  std::vector<Block> blocks_;
};

}  // namespace weald::split
