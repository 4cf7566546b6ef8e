#include "engine/shared_roots.hpp"

#include <algorithm>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace weald::engine {
namespace {

// Rows whose words stay in the second-level cache while the columns are counted two at a time: the
// cells of two columns fill the first-level cache.
constexpr std::int64_t near_rows = 2'048;

// Minimum rows per thread; with fewer, threads divide the columns.
constexpr std::int64_t part_rows = 8'192;

// Below this many vector additions a second thread does not pay.
constexpr std::int64_t worth_a_thread = 20'000;

// Size limit of the cells of all trees; wider tables are counted tree by tree.
constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

// With fewer rows per bin, clearing and distributing the cells costs more than it saves.
constexpr std::int64_t rows_per_cell = 32;

// Up to eight trees whose words are added as one vector, and the cells [column][bin][tree] of the
// rows counted by one thread.
class RootCount {
 public:
  RootCount(const Codes& codes, const Row* rows, std::int64_t n_rows,
            std::vector<const std::int64_t*> words)
      : codes_(codes),
        rows_(rows),
        n_rows_(n_rows),
        words_(std::move(words)),
        width_(words_.size() <= 4 ? 4 : 8) {
    first_.push_back(0);
    for (int column = 0; column < codes.n_columns; ++column)
      first_.push_back(first_.back() + std::int64_t{codes.n_bins[column] + 1} * width_);
  }

  std::int64_t bytes() const { return first_.back() * 8; }
  bool pays() const {
    return bytes() <= most_bytes &&
           n_rows_ * codes_.n_columns >= rows_per_cell * (first_.back() / width_);
  }

  void run(int n_threads) {
    const std::int64_t work = n_rows_ * codes_.n_columns;
    const std::int64_t most = work < worth_a_thread ? 1 : n_threads;
    const std::int64_t fitting = std::max<std::int64_t>(1, most_bytes / bytes());
    const std::int64_t n_row_parts =
        std::clamp<std::int64_t>(n_rows_ / part_rows, 1, std::min(most, fitting));
    const std::int64_t n_pairs = (codes_.n_columns + 1) / 2;
    const std::int64_t n_column_parts = std::clamp<std::int64_t>(most / n_row_parts, 1, n_pairs);
    parts_.resize(static_cast<std::size_t>(n_row_parts));
    for (auto& cells : parts_) cells.assign(static_cast<std::size_t>(first_.back()), 0);
    parallel_for(n_row_parts * n_column_parts, n_threads, [&](std::int64_t task, int) {
      const std::int64_t part = task / n_column_parts, c = task % n_column_parts;
      count(parts_[part].data(), n_rows_ * part / n_row_parts, n_rows_ * (part + 1) / n_row_parts,
            static_cast<int>(n_pairs * c / n_column_parts),
            static_cast<int>(n_pairs * (c + 1) / n_column_parts));
    });
  }

  // Write the histograms of all trees.
  void write(const split::HistogramLayout& layout, const std::vector<std::int64_t*>& cells) const {
    for (int column = 0; column < codes_.n_columns; ++column)
      for (int code = 0; code <= codes_.n_bins[column]; ++code) {
        const std::int64_t to = layout.column_begin(column) + code * layout.stride_of(column);
        for (const auto& part : parts_) {
          const std::int64_t* const sums = part.data() + first_[column] + code * width_;
          for (std::size_t tree = 0; tree < cells.size(); ++tree) cells[tree][to] += sums[tree];
        }
      }
  }

 private:
  void count(std::int64_t* cells, std::int64_t begin, std::int64_t end, int first_pair,
             int last_pair) const {
    LargeVector<std::int64_t> near(static_cast<std::size_t>(near_rows * width_), 0);
    for (std::int64_t at = begin; at < end; at += near_rows) {
      const std::int64_t size = std::min(near_rows, end - at);
      interleave(at, size, near.data());
      for (int pair = first_pair; pair < last_pair; ++pair) {
        const int column = 2 * pair, group = column / lanes;
        const bool has_next = column + 1 < codes_.n_columns;
        const std::int64_t stride = codes_.stride(group);
        const Code* const codes = codes_.group(group) + column % lanes;
        kernels::active().add_shared(
            rows_ ? codes : codes + at * stride, stride, rows_ ? rows_ + at : nullptr, size, width_,
            near.data(), cells + first_[column], has_next ? cells + first_[column + 1] : nullptr);
      }
    }
  }

  void interleave(std::int64_t at, std::int64_t size, std::int64_t* near) const {
    constexpr std::int64_t few = 64;  // rows kept in cache from tree to tree
    for (std::int64_t begin = 0; begin < size; begin += few) {
      const std::int64_t end = std::min(begin + few, size);
      for (std::size_t tree = 0; tree < words_.size(); ++tree) {
        const std::int64_t* const words = words_[tree];
        std::int64_t* const to = near + tree;
        for (std::int64_t i = begin; i < end; ++i)
          to[i * width_] = words[rows_ ? static_cast<std::int64_t>(rows_[at + i]) : at + i];
      }
    }
  }

  const Codes& codes_;
  const Row* rows_;
  std::int64_t n_rows_;
  std::vector<const std::int64_t*> words_;
  int width_;
  std::vector<std::int64_t> first_;  // of each column
  std::vector<LargeVector<std::int64_t>> parts_;
};

}  // namespace

void count_roots(const split::HistogramTable& table, const Row* rows, std::int64_t n_rows,
                 int n_threads, std::vector<RootState>& root_states) {
  std::vector<RootState*> packed;
  for (RootState& one : root_states) {
    one.root_cells.clear();
    if (one.channels.is_packed()) packed.push_back(&one);
  }
  if (packed.size() < 2 || !table.counted_categories.wide.empty()) return;
  const split::HistogramLayout layout(table.counted, table.counted_categories, 1);
  // Batches of equal size: nine trees are counted as five and four.
  const std::size_t n_turns = (packed.size() + kernels::most_shared - 1) / kernels::most_shared;
  for (std::size_t turn = 0; turn < n_turns; ++turn) {
    const std::size_t first = packed.size() * turn / n_turns;
    const std::size_t last = packed.size() * (turn + 1) / n_turns;
    std::vector<const std::int64_t*> words;
    for (std::size_t k = first; k < last; ++k) words.push_back(packed[k]->channels.values());
    RootCount count(table.counted, rows, n_rows, std::move(words));
    if (!count.pays()) return;
    count.run(n_threads);
    std::vector<std::int64_t*> cells;
    for (std::size_t k = first; k < last; ++k) {
      packed[k]->root_cells.assign(static_cast<std::size_t>(layout.size()), 0);
      cells.push_back(packed[k]->root_cells.data());
    }
    count.write(layout, cells);
  }
}

}  // namespace weald::engine
