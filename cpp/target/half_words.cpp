#include "target/half_words.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace weald::target {
namespace {

constexpr std::int64_t near_rows = LossAt::near_rows;
constexpr double zeros[near_rows] = {};

// The words of some rows, one word of each row after another.
class WordWriter {
 public:
  WordWriter(const SeveralSums& rows, const Rounding& rounding)
      : rows_(rows), sum_(rounding.sum()), weight_(rounding.weight()) {}

  // Word j of rows begin .. begin + n - 1.
  void write(int j, std::int64_t begin, std::int64_t n, std::int64_t* words) const {
    const double* const low = j == 0 ? weight_from(begin) : channel_from(2 * j - 1, begin);
    kernels::active().pack_words(channel_from(2 * j, begin), low, n, sum_.factors,
                                 (j == 0 ? weight_ : sum_).factors, words);
    const std::int64_t count = count_in(j);
    for (std::int64_t i = 0; count != 0 && i < n; ++i) words[i] += count;
    for (std::int64_t i = 0; rows_.copies && i < n; ++i) words[i] *= rows_.copies[begin + i];
  }

 private:
  const double* weight_from(std::int64_t begin) const {
    return rows_.weight ? rows_.weight + begin : nullptr;
  }
  const double* channel_from(int k, std::int64_t begin) const {
    return k < rows_.n_channels ? rows_.sums + k * rows_.stride + begin : zeros;
  }
  // One copy in word j, if its place is there.
  std::int64_t count_in(int j) const {
    const int place = 1 + rows_.n_channels;
    if (!rows_.counts || place / 2 != j) return 0;
    return place % 2 == 0 ? 1 : kernels::pack(1, 0);
  }

  const SeveralSums& rows_;
  FixedPoint sum_, weight_;
};

}  // namespace

void CoarseOfSeveral::add(const Coarse& channel) {
  all_.positive = std::max(all_.positive, channel.positive);
  all_.negative = std::max(all_.negative, channel.negative);
  all_.weight = channel.weight;
  all_.squares += channel.squares;
  ++n_channels_;
}

Coarse CoarseOfSeveral::coarse() const {
  Coarse mean = all_;
  mean.squares /= n_channels_;
  return mean;
}

void write_half_words(const SeveralSums& rows, const Rounding& rounding, std::int64_t* words,
                      std::int64_t* totals, int n_threads) {
  const int n_words = rows.n_words();
  const WordWriter writer(rows, rounding);
  std::mutex lock;
  std::fill_n(totals, n_words, 0);
  const std::int64_t n = rows.n_rows, task_rows = rows_of_task(n, n_threads);
  parallel_for((n + task_rows - 1) / task_rows, n_threads, [&](std::int64_t task, int) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(n_words), 0);
    std::int64_t near[near_rows];
    const std::int64_t end = std::min(n, (task + 1) * task_rows);
    for (std::int64_t at = task * task_rows; at < end; at += near_rows) {
      const std::int64_t size = std::min(near_rows, end - at);
      for (int j = 0; j < n_words; ++j) {
        writer.write(j, at, size, near);
        for (std::int64_t i = 0; i < size; ++i) {
          words[(at + i) * n_words + j] = near[i];
          sums[j] += near[i];
        }
      }
    }
    const std::scoped_lock hold(lock);
    for (int j = 0; j < n_words; ++j) totals[j] += sums[j];
  });
}

}  // namespace weald::target
