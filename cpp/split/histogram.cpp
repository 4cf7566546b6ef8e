#include "split/histogram.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.hpp"
#include "target/labels.hpp"

namespace weald::split {
namespace {

// Adds one row's integers to the cells of its bins, lane by lane.
template <class AddToCell>
void add_wide(const Codes& codes, int group, int cell_size, const Row* rows, std::int64_t begin,
              std::int64_t n, std::int64_t* cells, AddToCell&& add) {
  const Code* const data = codes.group(group);
  const std::int64_t stride = codes.stride(group);
  const int n_lanes = codes.lanes_of(group);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows ? static_cast<std::int64_t>(rows[i]) : begin + i;
    const Code* const code = data + row * stride;
    for (int lane = 0; lane < n_lanes; ++lane)
      add(cells + (std::int64_t{code[lane]} * lanes + lane) * cell_size, row);
  }
}

// A row's integers are added to the cell as vectors.
void add_cells(const Codes& codes, int group, const target::Channels& channels, const Row* rows,
               std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  kernels::active().add_cells(codes, group, channels.values(), channels.cell_size(), rows, begin, n,
                              cells);
}

// One-hot channels: a row updates W, the sum of its class and, if tracked, the count.
void add_classes(const Codes& codes, int group, const target::Channels& channels, const Row* rows,
                 std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  const target::Target& target = channels.target();
  const std::int64_t* const weights = channels.values();
  const int count = channels.count_index();
  add_wide(codes, group, channels.cell_size(), rows, begin, n, cells,
           [&target, weights, count](std::int64_t* cell, std::int64_t row) {
             cell[0] += weights[row];
             cell[1 + target.classes[row]] += weights[row];
             if (count > 0) cell[count] += target.copies ? target.copies[row] : 1;
           });
}

// Several outputs: a row updates the sum of one class of each.
void add_labels(const Codes& codes, int group, const target::Channels& channels, const Row* rows,
                std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  add_wide(codes, group, channels.cell_size(), rows, begin, n, cells,
           [add = target::AddLabels(channels)](std::int64_t* cell, std::int64_t row) {
             add(cell, static_cast<Row>(row));
           });
}

}  // namespace

HistogramLayout::HistogramLayout(const Codes& codes, const data::Categories& categories,
                                 int cell_size)
    : cell_size_(cell_size),
      n_bins_(codes.n_bins, codes.n_bins + codes.n_columns),
      wide_part_(static_cast<std::size_t>(codes.n_columns), -1) {
  first_.push_back(0);
  for (int g = 0; g < codes.n_groups(); ++g) {
    const std::int32_t* const bins = codes.n_bins + g * lanes;
    const std::int64_t most = *std::max_element(bins, bins + codes.lanes_of(g)) + 1;
    first_.push_back(first_.back() + most * lanes * cell_size);
  }
  for (const data::WideColumn& wide : categories.wide) {
    wide_part_[wide.column] = n_parts();
    n_bins_[wide.column] = wide.n_levels;
    first_.push_back(first_.back() + (std::int64_t{wide.n_levels} + 1) * cell_size);
  }
}

void add_wide_column(const data::WideColumn& wide, const target::Channels& channels,
                     const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  const std::int64_t* const values = channels.values();
  const target::Target& target = channels.target();
  const target::AddLabels add(channels);
  const int size = channels.cell_size();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows ? static_cast<std::int64_t>(rows[i]) : begin + i;
    std::int64_t* const cell = cells + std::int64_t{wide.codes[row]} * size;
    if (!target.classes) {
      for (int c = 0; c < size; ++c) cell[c] += values[row * size + c];
      continue;
    }
    add(cell, static_cast<Row>(row));
  }
}

void add_rows(const Codes& codes, const HistogramLayout& layout, int first, int last,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells) {
  if (channels.is_packed()) {
    std::int64_t* group_cells[tile / lanes];
    for (int g = first; g < last; ++g) group_cells[g - first] = cells + layout.part_begin(g);
    kernels::active().add_packed(codes, first, last, channels.values(), rows, begin, n,
                                 group_cells);
    return;
  }
  const target::Target& target = channels.target();
  const auto add = target.n_labels > 1 ? add_labels : target.classes ? add_classes : add_cells;
  for (int g = first; g < last; ++g)
    add(codes, g, channels, rows, begin, n, cells + layout.part_begin(g));
}

void add_wide_columns(const data::Categories& categories, const HistogramLayout& layout,
                      const target::Channels& channels, const Row* rows, std::int64_t begin,
                      std::int64_t n, std::int64_t* cells) {
  for (const data::WideColumn& wide : categories.wide)
    add_wide_column(wide, channels, rows, begin, n, cells + layout.column_begin(wide.column));
}

void add_rows(const Codes& codes, const data::Categories& categories, const HistogramLayout& layout,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells) {
  constexpr int step = tile / lanes;
  for (int first = 0; first < codes.n_groups(); first += step)
    add_rows(codes, layout, first, std::min(first + step, codes.n_groups()), channels, rows, begin,
             n, cells);
  add_wide_columns(categories, layout, channels, rows, begin, n, cells);
}

}  // namespace weald::split
