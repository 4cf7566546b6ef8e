// The rows of a tree's nodes: one array in which every node owns a range, partitioned in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"
#include "data/listed_codes.hpp"
#include "kernels/kernels.hpp"
#include "kernels/random_thresholds.hpp"

namespace weald::tree {

class Partition {
 public:
  // Of the first n_used of n_rows rows, those of positive copies (null: all of them), in order.
  // `buffer`: an external buffer of one entry per row, free until the tree is grown; null: allocate
  // one.
  void start(std::int64_t n_rows, std::int64_t n_used, const std::int64_t* copies,
             Row* buffer = nullptr, int n_threads = 1) {
    n_rows_ = n_rows;
    rows_.resize(static_cast<std::size_t>(n_used));
    if (!copies) {
      const std::int64_t block = 4 * few_rows;
      parallel_for((n_used + block - 1) / block, n_threads, [&](std::int64_t b, int) {
        const std::int64_t from = b * block, to = std::min(n_used, from + block);
        std::iota(rows_.begin() + from, rows_.begin() + to, static_cast<Row>(from));
      });
    } else {
      std::int64_t n = 0;
      for (std::int64_t row = 0; row < n_used; ++row) {
        rows_[n] = static_cast<Row>(row);
        n += copies[row] > 0;
      }
      rows_.resize(static_cast<std::size_t>(n));
    }
    holds_first_rows_ = size() == n_used;
    if (!buffer) own_buffer_.resize(rows_.size());
    spare_ = buffer ? buffer : own_buffer_.data();
  }

  // A list of rows out of n_rows, in the order given.
  void start(std::int64_t n_rows, const Row* rows, std::int64_t n) {
    n_rows_ = n_rows;
    holds_first_rows_ = false;
    rows_.assign(rows, rows + n);
    own_buffer_.resize(rows_.size());
    spare_ = own_buffer_.data();
  }

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  bool holds_all_rows() const { return size() == n_rows_; }
  // Whether the rows, before any split, are 0 .. size() - 1.
  bool holds_first_rows() const { return holds_first_rows_; }
  const Row* at(std::int64_t position) const { return rows_.data() + position; }

  // Split condition: left if codes[row * stride] - offset <= limit, unsigned; or, for categorical
  // columns, goes_left[code], where the code may be wide. The codes may be `listed`; the rows of a
  // range must then increase.
  struct Test {
    const Code* codes;
    std::int64_t stride;
    Code offset, limit;
    const std::uint8_t* goes_left = nullptr;
    const std::uint16_t* wide_codes = nullptr;
    data::ListedColumn listed = {};
  };

  // How many rows a block should have that threads share with others: with few rows a thread takes
  // one block, because each thread that visits a node keeps sums of its own; with many it takes
  // several, because threads differ in speed.
  static std::int64_t block_of(std::int64_t n_rows, int n_threads) {
    if (n_rows < few_rows_each * n_threads)
      return std::max<std::int64_t>(least_block, (n_rows + n_threads - 1) / n_threads);
    return std::clamp<std::int64_t>(n_rows / (4 * n_threads), 2 * least_block, 8'192);
  }

  // A range of rows to be partitioned.
  struct Division {
    std::int64_t begin, end;
    Test test;

    std::int64_t size() const { return end - begin; }
  };

  // Stable partition of ranges that do not overlap: rows that go left come first; returns where the
  // right ones of each begin. visit(i, left, n_left, right, n_right, worker) is called for every
  // block of rows of the i-th range while it is in cache. The threads share the blocks of all
  // ranges.
  //
  // rows_   [ a b c d | e f g h ]        blocks of rows, partitioned in parallel
  // spare_  [ a c d b | f h g e ]        lefts from the front of a block, rights from its back
  // rows_   [ a c d f | h b e g ]        copied to their final position, rights reversed back
  template <class Visit>
  std::vector<std::int64_t> split(const std::vector<Division>& ranges, int n_threads,
                                  Visit&& visit) {
    std::vector<Block> blocks = blocks_of(ranges, n_threads);
    parallel_for(static_cast<std::int64_t>(blocks.size()), n_threads,
                 [&](std::int64_t b, int worker) {
                   Block& block = blocks[b];
                   Row* const sent = spare_ + block.begin;
                   const std::int64_t n_left =
                       send(ranges[block.range].test, rows_.data() + block.begin, block.size, sent);
                   visit(block.range, sent, n_left, sent + n_left, block.size - n_left, worker);
                   block.n_left = n_left;
                   if (block.is_alone) take_back(block, block.begin, block.begin + n_left);
                 });
    std::vector<std::int64_t> middles;
    for (const Division& range : ranges) middles.push_back(range.begin);
    std::int64_t n_shared = 0;  // rows of ranges of several blocks
    for (const Block& block : blocks) {
      middles[block.range] += block.n_left;
      n_shared += block.is_alone ? 0 : block.size;
    }
    if (n_shared == 0) return middles;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      Block& block = blocks[b];
      const bool is_first = b == 0 || blocks[b - 1].range != block.range;
      block.left = is_first ? block.begin : blocks[b - 1].left + blocks[b - 1].n_left;
      block.right = is_first ? middles[block.range] : blocks[b - 1].right + blocks[b - 1].n_right();
    }
    parallel_for(static_cast<std::int64_t>(blocks.size()), n_shared < copied_alone ? 1 : n_threads,
                 [&](std::int64_t b, int) {
                   const Block& block = blocks[b];
                   if (!block.is_alone) take_back(block, block.left, block.right);
                 });
    return middles;
  }

  static constexpr auto visits_nothing = [](int, const Row*, std::int64_t, const Row*, std::int64_t,
                                            int) {};

  // An upper bound of the workers that `split` calls `visit` with, summed over the ranges.
  static std::size_t most_visits(const std::vector<Division>& ranges, int n_threads) {
    std::size_t most = 0;
    const std::int64_t block = block_of(total_of(ranges), n_threads);
    for (const Division& range : ranges)
      most += static_cast<std::size_t>(
          std::min<std::int64_t>(n_threads, n_blocks(range.size(), block)));
    return most;
  }

  // The same in the calling thread, by a predicate of the row.
  template <class GoesLeft>
  std::int64_t split_by(std::int64_t begin, std::int64_t end, GoesLeft&& goes_left) {
    return split_by_place(begin, end, [&](std::int64_t, Row row) { return goes_left(row); });
  }
  // By a predicate of the position in the range, counted from 0.
  template <class GoesLeft>
  std::int64_t split_by_place(std::int64_t begin, std::int64_t end, GoesLeft&& goes_left) {
    std::int64_t n_left = 0, n_right = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const Row row = rows_[i];
      const bool is_left = goes_left(i - begin, row);
      rows_[begin + n_left] = row;
      spare_[begin + n_right] = row;
      n_left += is_left;
      n_right += !is_left;
    }
    std::copy_n(spare_ + begin, n_right, rows_.begin() + begin + n_left);
    return begin + n_left;
  }
  // By values x stored contiguously, one per row.
  template <class T>
  std::int64_t split_by_values(std::int64_t begin, std::int64_t end, const T* x,
                               kernels::RandomThresholdTest<T> test) {
    if (const auto part_rows = kernels::active().drawn->of<T>().part_rows)
      return begin + part_rows(x, end - begin, test, rows_.data() + begin, spare_ + begin);
    return split_by_place(begin, end, [=](std::int64_t i, Row) { return test.goes_left(x[i]); });
  }

 private:
  struct Block {
    int range;
    std::int64_t begin, size;
    bool is_alone;  // the only block of its range
    std::int64_t n_left = 0, left = 0, right = 0;

    std::int64_t n_right() const { return size - n_left; }
  };

  static std::vector<Block> blocks_of(const std::vector<Division>& ranges, int n_threads) {
    const std::int64_t most = block_of(total_of(ranges), n_threads);
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::int64_t n = n_blocks(ranges[i].size(), most), size = ranges[i].size();
      for (std::int64_t b = 0; b < n; ++b) {
        const std::int64_t from = size * b / n, to = size * (b + 1) / n;
        blocks.push_back({static_cast<int>(i), ranges[i].begin + from, to - from, n == 1});
      }
    }
    return blocks;
  }
  static std::int64_t total_of(const std::vector<Division>& ranges) {
    return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                           [](std::int64_t sum, const Division& one) { return sum + one.size(); });
  }
  static std::int64_t n_blocks(std::int64_t n_rows, std::int64_t block) {
    return std::max<std::int64_t>(1, (n_rows + block / 2) / block);
  }

  // With still fewer rows, copying back alone is faster than waking a second thread.
  static constexpr std::int64_t copied_alone = 8'192;
  static constexpr std::int64_t few_rows = 16'384, few_rows_each = 4'096, least_block = 512;

  // Copies the rows of a block that `send` sent to their final positions.
  void take_back(const Block& block, std::int64_t left, std::int64_t right) {
    const Row* const sent = spare_ + block.begin;
    std::copy(sent, sent + block.n_left, rows_.data() + left);
    std::reverse_copy(sent + block.n_left, sent + block.size, rows_.data() + right);
  }

  // Partitions rows[0, n) into `sent`: left rows from the front, right rows from the back in
  // reverse; returns the number of left rows.
  static std::int64_t send(const Test& test, const Row* rows, std::int64_t n, Row* sent) {
    if (!test.goes_left) {
      const Code offset = test.offset, limit = test.limit;
      const auto is_left = [=](Code code) { return static_cast<Code>(code - offset) <= limit; };
      if (test.listed.any()) return send_listed(test.listed, is_left, rows, n, sent);
      return send_each(test.codes, test.stride, is_left, rows, n, sent);
    }
    const auto is_left = [sides = test.goes_left](auto code) { return sides[code] != 0; };
    if (test.wide_codes) return send_each(test.wide_codes, 1, is_left, rows, n, sent);
    return send_each(test.codes, test.stride, is_left, rows, n, sent);
  }
  // Both sides are written, one advances: a branch would be mispredicted half of the time. Codes of
  // tables without a column-major copy (histogram_table.hpp) are prefetched. Benchmark row
  // `growth_rows`: without it a fit of 4,000,000 x 28 takes 1.3 times the processor time.
  template <class AnyCode, class IsLeft>
  static std::int64_t send_each(const AnyCode* codes, std::int64_t stride, IsLeft is_left,
                                const Row* rows, std::int64_t n, Row* sent) {
    const std::int64_t ahead = stride > 1 ? 48 : n;
    Row* left = sent;
    Row* right = sent + n - 1;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i + ahead < n) __builtin_prefetch(codes + rows[i + ahead] * stride);
      const Row row = rows[i];
      const bool goes_left = is_left(codes[row * stride]);
      *left = row;
      *right = row;
      left += goes_left;
      right -= !goes_left;
    }
    return left - sent;
  }

  // Walks over the rows of a node and those that the column lists.
  template <class IsLeft>
  static std::int64_t send_listed(const data::ListedColumn& column, IsLeft is_left, const Row* rows,
                                  std::int64_t n, Row* sent) {
    if (n == 0) return 0;
    const Row* listed = std::lower_bound(column.rows, column.end, rows[0]);
    const bool usual_goes_left = is_left(column.usual);
    Row* left = sent;
    Row* right = sent + n - 1;
    for (std::int64_t i = 0; i < n; ++i) {
      const Row row = rows[i];
      while (listed != column.end && *listed < row) ++listed;
      const bool is_listed = listed != column.end && *listed == row;
      const bool goes_left =
          is_listed ? is_left(column.codes[listed - column.rows]) : usual_goes_left;
      *left = row;
      *right = row;
      left += goes_left;
      right -= !goes_left;
    }
    return left - sent;
  }

  std::int64_t n_rows_ = 0;  // of the table
  bool holds_first_rows_ = false;
  LargeVector<Row> rows_, own_buffer_;
  Row* spare_ = nullptr;
};

}  // namespace weald::tree
