// Class counts of rows by the bits of binary columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "kernels/kernels.hpp"

namespace weald::forest {

// Several bits of a row form a code, and rows are counted by code and class: one increment per row
// for several columns (data/binary_columns.hpp).
class BitCounts {
 public:
  // Bits in ascending order. Row i of the node is rows[i], its bits are words[rows[i]]; of_row(i)
  // returns its class `k` and copies `w`.
  template <class OfRow>
  void count(const std::uint64_t* words, const Row* rows, std::int64_t n,
             const std::vector<int>& bits, int n_classes, OfRow of_row) {
    n_classes_ = n_classes;
    place_of_.fill(-1);
    ones_.assign(bits.size() * static_cast<std::size_t>(n_classes), 0);
    const auto n_bits = static_cast<int>(bits.size());
    const int together = most_together(n);
    for (int first = 0; first < n_bits; first += together) {
      const int some = std::min(together, n_bits - first);
      std::array<int, kernels::most_code_bits> shifts{};
      std::copy_n(bits.begin() + first, some, shifts.begin());
      for (int j = 0; j < some; ++j) place_of_[shifts[j]] = first + j;
      count_together(words, rows, n, shifts, some, of_row);
      add_up(first, some);
    }
  }

  // Counts by class of the rows that have the bit.
  const std::int64_t* ones(int bit) const {
    return ones_.data() + place_of_[bit] * static_cast<std::int64_t>(n_classes_);
  }

 private:
  static constexpr int turns = 4;
  static constexpr std::int64_t most_cells = 1024, block = 512;

  // Cells must be cleared and summed, so there should be fewer of them than rows.
  int most_together(std::int64_t n) const {
    int m = 1;
    while (m < kernels::most_code_bits &&
           (std::int64_t{2} << m) * n_classes_ <= std::min(n, most_cells))
      ++m;
    return m;
  }

  // Most rows have the same code. Several sets of cells, used in turn, keep increments of one cell
  // from waiting for each other.
  template <class OfRow>
  void count_together(const std::uint64_t* words, const Row* rows, std::int64_t n,
                      const std::array<int, kernels::most_code_bits>& shifts, int m, OfRow of_row) {
    const std::int64_t size = (std::int64_t{1} << m) * n_classes_, stride = n_classes_;
    cells_.assign(static_cast<std::size_t>(turns * size), 0);
    std::array<std::uint8_t, block> codes;
    for (std::int64_t begin = 0; begin < n; begin += block) {
      const std::int64_t some = std::min(block, n - begin);
      kernels::active().bit_codes(words, rows + begin, some, shifts.data(), m, codes.data());
      for (std::int64_t i = 0; i < some; ++i) {
        const auto one = of_row(begin + i);
        cells_[i % turns * size + codes[i] * stride + one.k] += one.w;
      }
    }
    for (std::int64_t cell = size; cell < turns * size; ++cell) cells_[cell % size] += cells_[cell];
  }

  void add_up(int first, int some) {
    for (int code = 0; code < 1 << some; ++code) {
      const std::int32_t* const cell = cells_.data() + code * std::int64_t{n_classes_};
      for (int j = 0; j < some; ++j) {
        if ((code >> j & 1) == 0) continue;
        std::int64_t* const to = ones_.data() + (first + j) * std::int64_t{n_classes_};
        for (int k = 0; k < n_classes_; ++k) to[k] += cell[k];
      }
    }
  }

  int n_classes_ = 1;
  std::array<int, 64> place_of_{};   // of a bit in ones_; -1: not counted
  std::vector<std::int64_t> ones_;   // [place][class]
  std::vector<std::int32_t> cells_;  // [turn][code][class]
};

}  // namespace weald::forest
