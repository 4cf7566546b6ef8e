// Cells of several channels in half words: two sums in each 64-bit word.
//
// Fast path: with wide cells default fits of digits take 1.7 times the time, four targets 2 to 3.6.
//
// Sum f of a wide cell (W, the channels, the copies) is in the low half of word f / 2 if f is even,
// else in the high half. A word is high * 2^32 + low, so that words are added and subtracted as
// integers. W is unsigned, all other sums are signed. Cells have an even number of words, which are
// added by vectors; the last ones may be unused.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "target/packing.hpp"

namespace weald::target {

constexpr int words_of_sums(int n_sums) { return (n_sums + 3) / 4 * 2; }

// Whether a search can keep the sums of a cell at hand.
constexpr bool fits_half_words(int n_sums) {
  return words_of_sums(n_sums) <= kernels::most_half_words;
}

// The sums of a wide cell.
inline void sums_of_words(const std::int64_t* words, int n_sums, std::int64_t* sums) {
  sums[0] = kernels::packed_h(words[0]);
  sums[1] = kernels::packed_g(words[0]);
  for (int f = 2; f < n_sums; ++f) {
    const std::int64_t word = words[f / 2], low = static_cast<std::int32_t>(word);
    sums[f] = f % 2 == 0 ? low : (word - low) >> 32;
  }
}

// The words of the sums of a wide cell.
inline void words_of_cell(const std::int64_t* sums, int n_sums, std::int64_t* words) {
  std::fill_n(words, words_of_sums(n_sums), 0);
  for (int f = 0; f < n_sums; ++f)
    words[f / 2] += sums[f] * (f % 2 == 0 ? 1 : std::int64_t{1} << 32);
}

// The numbers of all channels of rows; `weight` null: 1 each, `copies` null: 1 each.
struct SeveralSums {
  const double* sums;  // [n_channels][stride]
  std::int64_t stride;
  int n_channels;
  const double* weight;
  const std::int64_t* copies;
  std::int64_t n_rows;
  bool counts;  // also the copies, after the channels

  int n_sums() const { return 1 + n_channels + (counts ? 1 : 0); }
  int n_words() const { return words_of_sums(n_sums()); }
  // One channel of rows that occur at most once.
  Pairs channel(int k) const { return {sums + k * stride, weight, copies, n_rows, nullptr}; }
};

// Coarse sums of all channels as those of one: the largest sums, the mean of the squares. The gain
// of a split is summed over the channels, so what counts is a step beside the root mean square of
// all of them.
class CoarseOfSeveral {
 public:
  void add(const Coarse& channel);
  Coarse coarse() const;

 private:
  Coarse all_;
  int n_channels_ = 0;
};

// Writes words[row][n_words], times the copies; their sums to totals[n_words].
void write_half_words(const SeveralSums& rows, const Rounding& rounding, std::int64_t* words,
                      std::int64_t* totals, int n_threads);

}  // namespace weald::target
