// The rows of a tree's nodes: one array in which every node owns a range, partitioned in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"
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

  // Number of blocks into which `split` divides this many rows, an upper bound of the workers used.
  static std::int64_t n_blocks(std::int64_t n_rows) {
    return (n_rows + block_of(n_rows) - 1) / block_of(n_rows);
  }

  // Split condition: left if codes[row * stride] - offset <= limit, unsigned; or, for categorical
  // columns, goes_left[code], where the code may be wide.
  struct Test {
    const Code* codes;
    std::int64_t stride;
    Code offset, limit;
    const std::uint8_t* goes_left = nullptr;
    const std::uint16_t* wide_codes = nullptr;
  };

  // Stable partition of [begin, end): rows that go left come first; returns where the right ones
  // begin. visit(left, n_left, right, n_right, worker) is called for every block of rows while it
  // is in cache. Several nodes may be partitioned concurrently, each by one thread.
  //
  // rows_   [ a b c d | e f g h ]        blocks of rows, partitioned in parallel
  // spare_  [ a c d b | f h g e ]        lefts from the front of a block, rights from its back
  // rows_   [ a c d f | h b e g ]        copied to their final position, rights reversed back
  template <class Visit>
  std::int64_t split(std::int64_t begin, std::int64_t end, const Test& test, int n_threads,
                     Visit&& visit) {
    const std::int64_t n_blocks = Partition::n_blocks(end - begin), block = block_of(end - begin);
    if (n_blocks == 1) {
      Row* const sent = spare_ + begin;
      const std::int64_t size = end - begin;
      const std::int64_t n_left = send(test, rows_.data() + begin, size, sent);
      visit(sent, n_left, sent + n_left, size - n_left, 0);
      take_back(sent, n_left, size, begin, begin + n_left);
      return begin + n_left;
    }
    std::vector<std::int64_t> lefts(static_cast<std::size_t>(n_blocks) + 1, 0);
    parallel_for(n_blocks, n_threads, [&](std::int64_t b, int worker) {
      const std::int64_t from = begin + b * block, size = std::min(block, end - from);
      Row* const sent = spare_ + from;
      const std::int64_t n_left = send(test, rows_.data() + from, size, sent);
      lefts[b + 1] = n_left;
      visit(sent, n_left, sent + n_left, size - n_left, worker);
    });
    for (std::int64_t b = 0; b < n_blocks; ++b) lefts[b + 1] += lefts[b];
    const std::int64_t middle = begin + lefts[n_blocks];
    parallel_for(n_blocks, end - begin < copied_alone ? 1 : n_threads, [&](std::int64_t b, int) {
      const std::int64_t from = begin + b * block, size = std::min(block, end - from);
      const std::int64_t n_left = lefts[b + 1] - lefts[b];
      take_back(spare_ + from, n_left, size, begin + lefts[b], middle + (b * block - lefts[b]));
    });
    return middle;
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
  // With few rows, short blocks balance the threads better; with still fewer, copying back alone is
  // faster than waking a second thread.
  static constexpr std::int64_t few_rows = 16'384, copied_alone = 8'192;
  static std::int64_t block_of(std::int64_t n_rows) { return n_rows < 8 * few_rows ? 2048 : 8192; }

  // Copies the rows of a block that `send` sent to their final positions.
  void take_back(const Row* sent, std::int64_t n_left, std::int64_t size, std::int64_t left,
                 std::int64_t right) {
    std::copy(sent, sent + n_left, rows_.data() + left);
    std::reverse_copy(sent + n_left, sent + size, rows_.data() + right);
  }

  // Partitions rows[0, n) into `sent`: left rows from the front, right rows from the back in
  // reverse; returns the number of left rows.
  static std::int64_t send(const Test& test, const Row* rows, std::int64_t n, Row* sent) {
    if (!test.goes_left) {
      const Code offset = test.offset, limit = test.limit;
      const auto is_left = [=](Code code) { return static_cast<Code>(code - offset) <= limit; };
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

  std::int64_t n_rows_ = 0;  // of the table
  bool holds_first_rows_ = false;
  LargeVector<Row> rows_, own_buffer_;
  Row* spare_ = nullptr;
};

}  // namespace weald::tree
