// Sparse columns: where most rows have the same code, only the other codes are counted.
//
// If nine of ten values are zero, a row is stored as a short list of its other cells, and counting
// costs one addition per list entry instead of one per column. The sum of the usual code is the
// node's total minus the others: sums are integers, so the histogram is the same.
//
// A table whose codes are lists already (data/listed_codes.hpp) is always counted so.
//
// Benchmark row `sparse`: without it 100,000 x 100, mostly zeros, take 1.5 times the processor
// time; without prefetching the lists 1.3 times.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/listed_codes.hpp"
#include "split/histogram.hpp"

namespace weald::split {

class SparseColumns {
 public:
  // Selects the groups of columns that use lists.
  SparseColumns(const Codes& codes, int n_threads);
  // All columns use lists, for any number of rows; `codes` has no data.
  SparseColumns(const Codes& codes, const data::ListedCodes& listed, int n_threads);

  // The additions for each row if lists are used, in units of those of whole columns; an estimate.
  static double estimated_additions(const Codes& codes);

  // Whether lists save more for this many rows than completing the usual codes costs.
  bool pays_for(std::int64_t n_rows) const { return n_rows >= least_rows_; }

  // Adds words[row] (null: 1) to packed cells of all groups, but not of wide columns; `rows` null:
  // rows begin .. begin + n - 1. Cells of usual codes are valid only after `complete`.
  void add(const Codes& codes, const HistogramLayout& layout, const std::int64_t* words,
           const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells) const;

  // The same with cells of several integers, if all columns use lists.
  void add_wide(const target::Channels& channels, const Row* rows, std::int64_t begin,
                std::int64_t n, std::int64_t* cells) const;

  // Mean number of additions for each row, of lists and of the codes of other groups.
  double additions_per_row() const { return additions_per_row_; }

  // Sets the cells of a group's usual codes to `totals`, the integers of a cell of all rows, minus
  // the other codes.
  void complete(int group, const HistogramLayout& layout, const std::int64_t* totals,
                std::int64_t* cells) const;

 private:
  // Groups whose cells are addressable by 16 bits, and the lists of all rows: the cells of a row
  // start at 4 * first[row].
  struct Block {
    int first_group, last_group;
    std::int64_t base, n_cells;  // first cell, and how many
    LargeVector<std::uint32_t> first;
    LargeVector<std::uint16_t> cells;
  };
  void choose(const Codes& codes);
  void make_blocks(const Codes& codes);
  static bool place_lists(Block& block);
  std::uint16_t cell_of(const Block& block, int group, int lane, std::uint64_t eight) const;
  void pad_list(Block& block, std::int64_t row, std::uint16_t* out) const;
  bool fill(const Codes& codes, Block& block, int n_threads) const;
  void fill(const data::ListedCodes& listed, std::int64_t n_rows, Block& block) const;
  void complete_wide(int group, const HistogramLayout& layout, const std::int64_t* totals,
                     std::uint64_t* bins) const;
  static void add_block(const Block& block, const std::int64_t* words, const Row* rows,
                        std::int64_t begin, std::int64_t n, std::int64_t* cells);

  std::int64_t least_rows_;
  double additions_per_row_ = 0.0;
  int n_columns_;
  std::vector<std::uint64_t>
      usual_;  // of each group: the usual codes of its columns, packed like a row's codes
  std::vector<std::uint8_t> has_lists_;   // of each group
  std::vector<std::int64_t> first_cell_;  // of each group, for cells of one integer
  std::vector<Block> blocks_;
};

}  // namespace weald::split
