#include "histogram.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weald {
namespace {

constexpr std::int64_t prefetch_distance = 16;

inline std::uint64_t eight_codes(const Code* group, Row row) {
  std::uint64_t word;
  std::memcpy(&word, group + static_cast<std::int64_t>(row) * lanes, sizeof word);
  return word;
}

inline std::int64_t code_in(std::uint64_t word, int lane) {
  return static_cast<std::int64_t>((word >> (8 * lane)) & 0xff);
}

// Cells of a size known to the compiler: the common case of one channel, with or without a count.
template <int n_lanes, int cell_size>
void add_fixed(const Code* group, const std::int64_t* values, const Row* rows, std::int64_t n,
               std::int64_t* cells) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + prefetch_distance < n) {
      const std::int64_t next = rows[i + prefetch_distance];
      __builtin_prefetch(group + next * lanes);
      __builtin_prefetch(values + next * cell_size);
    }
    const std::uint64_t word = eight_codes(group, rows[i]);
    const std::int64_t* const value = values + static_cast<std::int64_t>(rows[i]) * cell_size;
    std::int64_t row_value[cell_size];
    for (int c = 0; c < cell_size; ++c) row_value[c] = value[c];
    for (int lane = 0; lane < n_lanes; ++lane) {
      std::int64_t* const cell = cells + (code_in(word, lane) * lanes + lane) * cell_size;
      for (int c = 0; c < cell_size; ++c) cell[c] += row_value[c];
    }
  }
}

void add_any(int n_lanes, int cell_size, const Code* group, const std::int64_t* values,
             const Row* rows, std::int64_t n, std::int64_t* cells) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t word = eight_codes(group, rows[i]);
    const std::int64_t* const value = values + static_cast<std::int64_t>(rows[i]) * cell_size;
    for (int lane = 0; lane < n_lanes; ++lane) {
      std::int64_t* const cell = cells + (code_in(word, lane) * lanes + lane) * cell_size;
      for (int c = 0; c < cell_size; ++c) cell[c] += value[c];
    }
  }
}

// One-hot channels: a row touches W, the sum of its class and, if kept, the count.
void add_classes(int n_lanes, const Channels& channels, const Code* group, const Row* rows,
                 std::int64_t n, std::int64_t* cells) {
  const Target& target = channels.target();
  const int cell_size = channels.cell_size(), count = channels.count_index();
  for (std::int64_t i = 0; i < n; ++i) {
    const Row row = rows[i];
    const std::uint64_t word = eight_codes(group, row);
    const std::int64_t weight = channels.values()[row];
    const std::int64_t copies = target.copies ? target.copies[row] : 1;
    const int hot = 1 + target.classes[row];
    for (int lane = 0; lane < n_lanes; ++lane) {
      std::int64_t* const cell = cells + (code_in(word, lane) * lanes + lane) * cell_size;
      cell[0] += weight;
      cell[hot] += weight;
      if (count > 0) cell[count] += copies;
    }
  }
}

template <int cell_size, int... lane_counts>
void dispatch_lanes(int n_lanes, std::integer_sequence<int, lane_counts...>, const Code* group,
                    const std::int64_t* values, const Row* rows, std::int64_t n,
                    std::int64_t* cells) {
  ((n_lanes == lane_counts + 1 &&
    (add_fixed<lane_counts + 1, cell_size>(group, values, rows, n, cells), true)) ||
   ...);
}

}  // namespace

HistogramLayout::HistogramLayout(const Codes& codes, int cell_size) : cell_size_(cell_size) {
  first_.push_back(0);
  for (int g = 0; g < codes.n_groups(); ++g) {
    const std::int32_t* const bins = codes.n_bins + g * lanes;
    const std::int64_t most = *std::max_element(bins, bins + codes.lanes_of(g)) + 1;
    first_.push_back(first_.back() + most * bin_stride());
  }
}

void add_rows(const Codes& codes, int group, const Channels& channels, const Row* rows,
              std::int64_t n, std::int64_t* group_cells) {
  const int n_lanes = codes.lanes_of(group), cell_size = channels.cell_size();
  const Code* const data = codes.group(group);
  const auto every_lane_count = std::make_integer_sequence<int, lanes>{};
  if (channels.target().classes) {
    add_classes(n_lanes, channels, data, rows, n, group_cells);
  } else if (cell_size == 2) {
    dispatch_lanes<2>(n_lanes, every_lane_count, data, channels.values(), rows, n, group_cells);
  } else if (cell_size == 3) {
    dispatch_lanes<3>(n_lanes, every_lane_count, data, channels.values(), rows, n, group_cells);
  } else {
    add_any(n_lanes, cell_size, data, channels.values(), rows, n, group_cells);
  }
}

}  // namespace weald
