#include "split/sparse_columns.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/parallel.hpp"
#include "target/labels.hpp"

namespace weald::split {
namespace {

// Smaller tables are counted so fast that building lists does not pay.
constexpr std::int64_t few_rows = 16'384;

// The most frequent codes are estimated from this many evenly spaced rows.
constexpr std::int64_t sample_rows = 4'096;

// One addition via a list costs about as much as two via columns.
constexpr double per_entry = 2.0;

// A group uses lists if at most this share of its codes is rare. Lists then also take less memory
// than codes.
constexpr double max_rare_share = 0.4;

// Additions saved that pay for one cell visit when the usual codes' sums are completed.
constexpr std::int64_t saved_per_cell = 1;

// Lists are padded to multiples of four, read as one word.
constexpr int four = 4;

constexpr std::int64_t most_cells = 1 << 16;  // cells addressable by 16 bits
constexpr std::int64_t block_rows = 8'192;    // rows per task

// The eight codes of a row; those past the last column are arbitrary.
std::uint64_t codes_of(const Codes& codes, int group, std::int64_t row) {
  std::uint64_t eight;
  std::memcpy(&eight, codes.group(group) + row * codes.stride(group), sizeof eight);
  return eight;
}

std::uint64_t lanes_mask(const Codes& codes, int group) {
  return ~std::uint64_t{0} >> (8 * (lanes - codes.lanes_of(group)));
}

// The highest bit of each non-zero byte.
std::uint64_t marks_of(std::uint64_t bytes) {
  constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7f;
  return (((bytes & low) + low) | bytes) & ~low;
}

// The most frequent code of each column of a group, in a sample of the rows.
struct UsualCodes {
  std::uint64_t codes = 0;      // packed like a row's codes
  double others_per_row = 0.0;  // mean number of columns with another code

  bool has_lists(int n_lanes) const { return others_per_row <= max_rare_share * n_lanes; }
};

UsualCodes usual_codes(const Codes& codes, int group) {
  const std::int64_t step = codes.n_rows / std::min(codes.n_rows, sample_rows);
  const std::int64_t n_sample = (codes.n_rows + step - 1) / step;
  std::vector<std::int64_t> counts(lanes * (max_value_bins + 1), 0);
  for (std::int64_t row = 0; row < codes.n_rows; row += step) {
    const std::uint64_t eight = codes_of(codes, group, row);
    for (int lane = 0; lane < lanes; ++lane)
      ++counts[lane * (max_value_bins + 1) + static_cast<Code>(eight >> (8 * lane))];
  }
  UsualCodes usual;
  std::int64_t n_rare = 0;
  for (int lane = 0; lane < codes.lanes_of(group); ++lane) {
    const auto begin = counts.begin() + lane * (max_value_bins + 1);
    const auto most = std::max_element(begin, begin + max_value_bins + 1);
    usual.codes |= static_cast<std::uint64_t>(most - begin) << (8 * lane);
    n_rare += n_sample - *most;
  }
  usual.others_per_row = static_cast<double>(n_rare) / static_cast<double>(n_sample);
  return usual;
}

}  // namespace

SparseColumns::SparseColumns(const Codes& codes, int n_threads)
    : least_rows_(std::numeric_limits<std::int64_t>::max()), n_columns_(codes.n_columns) {
  if (codes.n_rows < few_rows) return;
  choose(codes);
  make_blocks(codes);
  std::int64_t n_listed = 0, n_cells = 0, n_entries = 0;
  for (Block& block : blocks_) {
    if (!fill(codes, block, n_threads)) {
      blocks_.clear();
      return;
    }
    for (int g = block.first_group; g < block.last_group; ++g) n_listed += codes.lanes_of(g);
    n_cells += block.n_cells;
    n_entries += static_cast<std::int64_t>(block.cells.size());
  }
  const std::int64_t saved = n_listed * codes.n_rows - 2 * n_entries;  // over all rows
  if (saved <= 0) {
    blocks_.clear();
    return;
  }
  additions_per_row_ = static_cast<double>(n_entries) / static_cast<double>(codes.n_rows) +
                       static_cast<double>(n_columns_ - n_listed);
  const double rows = static_cast<double>(saved_per_cell * n_cells) /
                      (static_cast<double>(saved) / static_cast<double>(codes.n_rows));
  least_rows_ = static_cast<std::int64_t>(rows) + 1;
}

SparseColumns::SparseColumns(const Codes& codes, const data::ListedCodes& listed, int n_threads)
    : least_rows_(0), n_columns_(codes.n_columns) {
  has_lists_.assign(static_cast<std::size_t>(codes.n_groups()), 1);
  usual_.assign(has_lists_.size(), 0);
  for (int column = 0; column < n_columns_; ++column)
    usual_[column / lanes] |= std::uint64_t{listed.usual[column]} << (8 * (column % lanes));
  make_blocks(codes);
  parallel_for(static_cast<std::int64_t>(blocks_.size()), n_threads,
               [&](std::int64_t b, int) { fill(listed, codes.n_rows, blocks_[b]); });
  std::size_t n_entries = 0;
  for (const Block& block : blocks_) n_entries += block.cells.size();
  additions_per_row_ = static_cast<double>(n_entries) / static_cast<double>(codes.n_rows);
}

// Neighbouring groups with lists share a block while 16 bits can address their cells.
void SparseColumns::make_blocks(const Codes& codes) {
  const HistogramLayout layout(codes, {}, 1);
  const int n_groups = codes.n_groups();
  for (int g = 0; g < n_groups; ++g) first_cell_.push_back(layout.part_begin(g));
  for (int first = 0, last; first < n_groups; first = last) {
    last = first + 1;
    if (!has_lists_[first]) continue;
    const std::int64_t base = layout.part_begin(first);
    while (last < n_groups && has_lists_[last] && layout.part_end(last) - base <= most_cells)
      ++last;
    blocks_.push_back({first, last, base, layout.part_end(last - 1) - base, {}, {}});
  }
}

// Determine the usual codes of all columns, and the groups with few others.
void SparseColumns::choose(const Codes& codes) {
  for (int g = 0; g < codes.n_groups(); ++g) {
    const UsualCodes group = usual_codes(codes, g);
    usual_.push_back(group.codes);
    has_lists_.push_back(group.has_lists(codes.lanes_of(g)));
  }
}

double SparseColumns::estimated_additions(const Codes& codes) {
  double additions = 0.0;
  for (int g = 0; g < codes.n_groups(); ++g) {
    const UsualCodes group = usual_codes(codes, g);
    const int n_lanes = codes.lanes_of(g);
    additions += group.has_lists(n_lanes) ? per_entry * group.others_per_row : n_lanes;
  }
  return additions;
}

// Given the number of entries of each row in first[row + 1], determine where its list begins; false
// if there are too many entries for 32-bit offsets.
bool SparseColumns::place_lists(Block& block) {
  std::uint64_t n_fours = 0;
  for (std::uint32_t& first : block.first) {
    n_fours += (first + four - 1) / four;
    if (n_fours > std::numeric_limits<std::uint32_t>::max()) return false;
    first = static_cast<std::uint32_t>(n_fours);
  }
  block.cells.resize(static_cast<std::size_t>(n_fours) * four);
  return true;
}

std::uint16_t SparseColumns::cell_of(const Block& block, int group, int lane,
                                     std::uint64_t eight) const {
  const auto code = static_cast<Code>(eight >> (8 * lane));
  return static_cast<std::uint16_t>(first_cell_[group] - block.base + code * lanes + lane);
}

// Pad a row's list, whose entries end at `out`, with usual codes: `complete` sets their cells
// anyway. Neighbouring rows use different ones to avoid store-to-load stalls.
void SparseColumns::pad_list(Block& block, std::int64_t row, std::uint16_t* out) const {
  std::uint16_t* const end = block.cells.data() + std::int64_t{block.first[row + 1]} * four;
  const int n_groups = block.last_group - block.first_group;
  for (; out != end; ++out) {
    const int g = block.first_group + static_cast<int>(row % n_groups);
    const int n_lanes = std::min(lanes, n_columns_ - g * lanes);
    *out = cell_of(block, g, static_cast<int>(end - out) % n_lanes, usual_[g]);
  }
}

// Write the lists of all rows; false if there are too many entries.
bool SparseColumns::fill(const Codes& codes, Block& block, int n_threads) const {
  const auto for_rare = [&](std::int64_t row, auto&& visit) {
    for (int g = block.first_group; g < block.last_group; ++g)
      visit(g, marks_of((codes_of(codes, g, row) ^ usual_[g]) & lanes_mask(codes, g)));
  };
  const std::int64_t n_rows = codes.n_rows, n_tasks = (n_rows + block_rows - 1) / block_rows;
  const auto for_rows = [&](auto&& visit) {
    parallel_for(n_tasks, n_threads, [&](std::int64_t task, int) {
      const std::int64_t end = std::min((task + 1) * block_rows, n_rows);
      for (std::int64_t row = task * block_rows; row < end; ++row) visit(row);
    });
  };
  block.first.resize(static_cast<std::size_t>(n_rows) + 1);
  block.first[0] = 0;
  for_rows([&](std::int64_t row) {
    std::uint32_t n = 0;
    for_rare(row, [&](int, std::uint64_t marks) { n += std::popcount(marks); });
    block.first[row + 1] = n;
  });
  if (!place_lists(block)) return false;
  for_rows([&](std::int64_t row) {
    std::uint16_t* out = block.cells.data() + std::int64_t{block.first[row]} * four;
    for_rare(row, [&](int g, std::uint64_t marks) {
      const std::uint64_t eight = codes_of(codes, g, row);
      for (; marks; marks &= marks - 1)
        *out++ = cell_of(block, g, std::countr_zero(marks) / 8, eight);
    });
    pad_list(block, row, out);
  });
  return true;
}

// The same of lists by column.
void SparseColumns::fill(const data::ListedCodes& listed, std::int64_t n_rows, Block& block) const {
  const auto for_rare = [&](auto&& visit) {
    const int end = std::min(block.last_group * lanes, n_columns_);
    for (int c = block.first_group * lanes; c < end; ++c)
      for (std::int64_t i = listed.first[c]; i < listed.first[c + 1]; ++i)
        if (listed.codes[i] != listed.usual[c]) visit(c, listed.rows[i], listed.codes[i]);
  };
  block.first.assign(static_cast<std::size_t>(n_rows) + 1, 0);
  for_rare([&](int, Row row, Code) { ++block.first[row + std::size_t{1}]; });
  if (!place_lists(block)) throw std::length_error("a sparse table has too many values");
  LargeVector<std::uint32_t> written(static_cast<std::size_t>(n_rows), 0);
  const auto next = [&](std::int64_t row) {
    return block.cells.data() + std::int64_t{block.first[row]} * four + written[row];
  };
  for_rare([&](int column, Row row, Code code) {
    const int lane = column % lanes;
    *next(row) = cell_of(block, column / lanes, lane, std::uint64_t{code} << (8 * lane));
    ++written[row];
  });
  for (std::int64_t row = 0; row < n_rows; ++row) pad_list(block, row, next(row));
}

void SparseColumns::add(const Codes& codes, const HistogramLayout& layout,
                        const std::int64_t* words, const Row* rows, std::int64_t begin,
                        std::int64_t n, std::int64_t* cells) const {
  for (const Block& block : blocks_) add_block(block, words, rows, begin, n, cells + block.base);
  const int n_groups = codes.n_groups();
  for (int first = 0, last; first < n_groups; first = last) {
    last = first + 1;
    if (has_lists_[first]) continue;
    while (last < n_groups && !has_lists_[last]) ++last;
    add_packed(codes, layout, first, last, words, rows, begin, n, cells);
  }
}

// The lists of a node's rows are scattered: prefetch the offsets first, then the lists.
void SparseColumns::add_block(const Block& block, const std::int64_t* words, const Row* rows,
                              std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  constexpr std::int64_t early = 64, soon = 24;
  auto* const sums =
      reinterpret_cast<std::uint64_t*>(cells);  // cells of usual codes may wrap until complete()
  const std::uint32_t* const first = block.first.data();
  const std::uint16_t* const lists = block.cells.data();
  const auto add_list = [&](std::int64_t row) {
    const std::uint16_t* const end = lists + std::int64_t{first[row + 1]} * four;
    const auto word = words ? static_cast<std::uint64_t>(words[row]) : 1;
    for (const std::uint16_t* at = lists + std::int64_t{first[row]} * four; at != end; at += four) {
      std::uint64_t cell;
      std::memcpy(&cell, at, sizeof cell);
      sums[cell & 0xffff] += word;
      sums[cell >> 16 & 0xffff] += word;
      sums[cell >> 32 & 0xffff] += word;
      sums[cell >> 48] += word;
    }
  };
  if (!rows) {
    for (std::int64_t row = begin; row < begin + n; ++row) add_list(row);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + early < n) {
      __builtin_prefetch(first + rows[i + early]);
      if (words) __builtin_prefetch(words + rows[i + early]);
    }
    if (i + soon < n) {
      const std::uint16_t* const list = lists + std::int64_t{first[rows[i + soon]]} * four;
      __builtin_prefetch(list);
      __builtin_prefetch(list + 32);
    }
    add_list(rows[i]);
  }
}

void SparseColumns::add_wide(const target::Channels& channels, const Row* rows, std::int64_t begin,
                             std::int64_t n, std::int64_t* cells) const {
  const target::AddLabels add_labels(channels);
  const std::int64_t* const values = channels.values();
  const int size = channels.cell_size();
  const bool has_classes = channels.target().classes != nullptr;
  for (const Block& block : blocks_)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = rows ? static_cast<std::int64_t>(rows[i]) : begin + i;
      const std::uint16_t* at = block.cells.data() + std::int64_t{block.first[row]} * four;
      const std::uint16_t* const end =
          block.cells.data() + std::int64_t{block.first[row + 1]} * four;
      for (; at != end; ++at) {
        std::int64_t* const cell = cells + (block.base + *at) * size;
        if (has_classes)
          add_labels(cell, static_cast<Row>(row));
        else
          for (int c = 0; c < size; ++c) cell[c] += values[row * size + c];
      }
    }
}

void SparseColumns::complete(int group, const HistogramLayout& layout, const std::int64_t* totals,
                             std::int64_t* cells) const {
  if (!has_lists_[group]) return;
  const int size = layout.cell_size(), width = lanes * size;  // integers of a cell and of a bin
  auto* const bins = reinterpret_cast<std::uint64_t*>(cells + layout.part_begin(group));
  if (size > 2) return complete_wide(group, layout, totals, bins);
  std::uint64_t sums[2 * lanes] = {};
  for (int bin = 0; bin <= layout.bins_of(group); ++bin)
    for (int i = 0; i < width; ++i) sums[i] += bins[bin * width + i];
  const int n_lanes = std::min(lanes, n_columns_ - group * lanes);
  for (int lane = 0; lane < n_lanes; ++lane) {
    const auto usual = static_cast<Code>(usual_[group] >> (8 * lane));
    for (int c = 0; c < size; ++c)
      bins[usual * width + lane * size + c] +=
          static_cast<std::uint64_t>(totals[c]) - sums[lane * size + c];
  }
}

// Cells of any number of integers.
void SparseColumns::complete_wide(int group, const HistogramLayout& layout,
                                  const std::int64_t* totals, std::uint64_t* bins) const {
  const int size = layout.cell_size(), n_lanes = std::min(lanes, n_columns_ - group * lanes);
  for (int lane = 0; lane < n_lanes; ++lane) {
    const auto usual = static_cast<Code>(usual_[group] >> (8 * lane));
    for (int c = 0; c < size; ++c) {
      std::uint64_t rest = static_cast<std::uint64_t>(totals[c]);
      for (int bin = 0; bin <= layout.bins_of(group); ++bin)
        rest -= bins[(std::int64_t{bin} * lanes + lane) * size + c];
      bins[(std::int64_t{usual} * lanes + lane) * size + c] += rest;
    }
  }
}

}  // namespace weald::split
