#include "split/histogram.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"
#include "target/labels.hpp"

namespace weald::split {
namespace {

// The codes of eight columns: those of row r at data[r * stride].
template <class AnyCode>
struct Group {
  const AnyCode* data;
  std::int64_t stride;
  int n_lanes;
};

// Adds one row's integers to the cells of its bins, lane by lane.
template <class AnyCode, class AddToCell>
void add_wide(Group<AnyCode> group, int cell_size, const Row* rows, std::int64_t begin,
              std::int64_t n, std::int64_t* cells, AddToCell&& add) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows ? static_cast<std::int64_t>(rows[i]) : begin + i;
    const AnyCode* const code = group.data + row * group.stride;
    for (int lane = 0; lane < group.n_lanes; ++lane)
      add(cells + (std::int64_t{code[lane]} * lanes + lane) * cell_size, row);
  }
}

template <class AnyCode>
void add_any(Group<AnyCode> group, const target::Channels& channels, const Row* rows,
             std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  const std::int64_t* const values = channels.values();
  const int cell_size = channels.histogram_cell_size();
  add_wide(group, cell_size, rows, begin, n, cells,
           [values, cell_size](std::int64_t* cell, std::int64_t row) {
             for (int c = 0; c < cell_size; ++c) cell[c] += values[row * cell_size + c];
           });
}

void add_word(std::int64_t word, std::int64_t* wide) {
  wide[0] += kernels::packed_h(word);
  wide[1] += kernels::packed_g(word);
}

// Words to cells of two sums.
template <class AnyCode>
void add_words(Group<AnyCode> group, const target::Channels& channels, const Row* rows,
               std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  add_wide(group, 2, rows, begin, n, cells,
           [words = channels.values()](std::int64_t* cell, std::int64_t row) {
             add_word(words[row], cell);
           });
}

// One-hot channels: a row updates W, the sum of its class and, if tracked, the count.
template <class AnyCode>
void add_classes(Group<AnyCode> group, const target::Channels& channels, const Row* rows,
                 std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  const target::Target& target = channels.target();
  const std::int64_t* const weights = channels.values();
  const int count = channels.count_index();
  add_wide(group, channels.cell_size(), rows, begin, n, cells,
           [&target, weights, count](std::int64_t* cell, std::int64_t row) {
             cell[0] += weights[row];
             cell[1 + target.classes[row]] += weights[row];
             if (count > 0) cell[count] += target.copies ? target.copies[row] : 1;
           });
}

// Several outputs: a row updates the sum of one class of each.
template <class AnyCode>
void add_labels(Group<AnyCode> group, const target::Channels& channels, const Row* rows,
                std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  add_wide(group, channels.cell_size(), rows, begin, n, cells,
           [add = target::AddLabels(channels)](std::int64_t* cell, std::int64_t row) {
             add(cell, static_cast<Row>(row));
           });
}

template <class AnyCode>
void add_unpacked(Group<AnyCode> group, const target::Channels& channels, const Row* rows,
                  std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  const target::Target& target = channels.target();
  const auto add = target.n_labels > 1    ? add_labels<AnyCode>
                   : target.classes       ? add_classes<AnyCode>
                   : channels.has_words() ? add_words<AnyCode>
                                          : add_any<AnyCode>;
  add(group, channels, rows, begin, n, cells);
}

// Calls add(first, last, cells of each group) for the groups of each tile.
template <class Add>
void for_tiles(const HistogramLayout& layout, int first, int last, std::int64_t* cells, Add add) {
  constexpr int step = tile / lanes;
  for (int end; first < last; first = end) {
    end = std::min(last, (first / step + 1) * step);
    std::int64_t* group_cells[step];
    for (int g = first; g < end; ++g) group_cells[g - first] = cells + layout.part_begin(g);
    add(first, end, group_cells);
  }
}

}  // namespace

HistogramLayout::HistogramLayout(const Codes& codes, const data::Categories& categories,
                                 int cell_size)
    : cell_size_(cell_size),
      n_groups_(codes.n_groups()),
      n_columns_(codes.n_columns),
      n_bins_(codes.n_bins, codes.n_bins + codes.n_columns),
      wide_part_(static_cast<std::size_t>(codes.n_columns), -1),
      wide_lane_(wide_part_) {
  first_.push_back(0);
  const auto add_group = [&](int most_bins) {
    first_.push_back(first_.back() + (std::int64_t{most_bins} + 1) * lanes * cell_size);
  };
  for (int g = 0; g < n_groups_; ++g) {
    const std::int32_t* const bins = codes.n_bins + g * lanes;
    add_group(*std::max_element(bins, bins + codes.lanes_of(g)));
  }
  const auto place = [&](const data::WideColumn& wide, int part, int lane) {
    wide_part_[wide.column] = part;
    wide_lane_[wide.column] = lane;
    n_bins_[wide.column] = wide.n_levels;
    wide_columns_.resize(static_cast<std::size_t>(part - n_groups_ + 1) * lanes, -1);
    wide_columns_[(part - n_groups_) * lanes + lane] = wide.column;
  };
  for (const data::WideColumn& wide : categories.wide) {
    if (wide.is_number) continue;
    place(wide, n_parts(), 0);
    first_.push_back(first_.back() + (std::int64_t{wide.n_levels} + 1) * cell_size);
  }
  first_wide_group_ = n_parts();
  int n_numbers = 0, most = 0;
  for (const data::WideColumn& wide : categories.wide) {
    if (!wide.is_number) continue;
    place(wide, n_parts(), n_numbers % lanes);
    most = std::max(most, wide.n_levels);
    if (++n_numbers % lanes == 0) add_group(std::exchange(most, 0));
  }
  if (n_numbers % lanes != 0) add_group(most);
}

int HistogramLayout::lanes_of(int part) const {
  if (part < n_groups_) return std::min(lanes, n_columns_ - part * lanes);
  const int* const columns = wide_columns_.data() + (part - n_groups_) * lanes;
  return static_cast<int>(std::find(columns, columns + lanes, -1) - columns);
}

bool HistogramLayout::is_unused(int group) const {
  for (int lane = 0; lane < lanes_of(group); ++lane)
    if (!is_wide(column_of(group, lane))) return false;
  return true;
}

WideGroups::WideGroups(const data::Categories& categories, std::int64_t n_rows, int n_threads)
    : n_rows_(n_rows) {
  std::vector<const std::uint16_t*> columns;
  for (const data::WideColumn& wide : categories.wide)
    if (wide.is_number) columns.push_back(wide.codes);
  const auto n_columns = static_cast<int>(columns.size());
  for (int first = 0; first < n_columns; first += lanes)
    n_lanes_.push_back(std::min(lanes, n_columns - first));
  codes_.resize(static_cast<std::size_t>(size() * n_rows * lanes));
  constexpr std::int64_t block = 8'192;  // rows per task
  const std::int64_t n_blocks = (n_rows + block - 1) / block;
  parallel_for(size() * n_blocks, n_threads, [&](std::int64_t task, int) {
    const auto group = static_cast<int>(task / n_blocks);
    const std::int64_t begin = task % n_blocks * block, end = std::min(begin + block, n_rows);
    std::uint16_t* const out = codes_.data() + group * n_rows * lanes;
    for (int lane = 0; lane < n_lanes_[group]; ++lane)
      for (std::int64_t row = begin; row < end; ++row)
        out[row * lanes + lane] = columns[group * lanes + lane][row];
  });
}

void WideGroups::add_rows(const HistogramLayout& layout, const target::Channels& channels,
                          const Row* rows, std::int64_t begin, std::int64_t n,
                          std::int64_t* cells) const {
  for (int group = 0; group < size(); ++group) {
    std::int64_t* const to = cells + layout.part_begin(layout.n_parts() - size() + group);
    if (channels.has_words() && layout.cell_size() == 1)
      kernels::active().add_packed_wide(codes(group), n_lanes_[group], channels.values(), rows,
                                        begin, n, to);
    else
      add_unpacked(Group<std::uint16_t>{codes(group), lanes, n_lanes_[group]}, channels, rows,
                   begin, n, to);
  }
}

void add_wide_column(const data::WideColumn& wide, const target::Channels& channels, int size,
                     const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  const std::int64_t* const values = channels.values();
  const target::Target& target = channels.target();
  const target::AddLabels add(channels);
  const bool are_words_in_wide_cells = channels.has_words() && size == 2;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows ? static_cast<std::int64_t>(rows[i]) : begin + i;
    std::int64_t* const cell = cells + std::int64_t{wide.codes[row]} * size;
    if (are_words_in_wide_cells) {
      add_word(values[row], cell);
      continue;
    }
    if (!target.classes) {
      for (int c = 0; c < size; ++c) cell[c] += values[row * size + c];
      continue;
    }
    add(cell, static_cast<Row>(row));
  }
}

void add_packed(const Codes& codes, const HistogramLayout& layout, int first, int last,
                const std::int64_t* words, const Row* rows, std::int64_t begin, std::int64_t n,
                std::int64_t* cells) {
  for_tiles(layout, first, last, cells, [&](int from, int to, std::int64_t* const* group_cells) {
    kernels::active().add_packed(codes, from, to, words, rows, begin, n, group_cells);
  });
}

void add_rows(const Codes& codes, const HistogramLayout& layout, int first, int last,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells) {
  if (channels.has_words() && layout.cell_size() == 1)
    return add_packed(codes, layout, first, last, channels.values(), rows, begin, n, cells);
  if (!channels.target().classes && !channels.has_words())
    return for_tiles(  // a row's integers are added to the cell as vectors
        layout, first, last, cells, [&](int from, int to, std::int64_t* const* group_cells) {
          kernels::active().add_cells(codes, from, to, channels.values(),
                                      channels.histogram_cell_size(), rows, begin, n, group_cells);
        });
  for (int g = first; g < last; ++g)
    add_unpacked(Group<Code>{codes.group(g), codes.stride(g), codes.lanes_of(g)}, channels, rows,
                 begin, n, cells + layout.part_begin(g));
}

void add_wide_columns(const data::Categories& categories, const HistogramLayout& layout,
                      const target::Channels& channels, const Row* rows, std::int64_t begin,
                      std::int64_t n, std::int64_t* cells) {
  for (const data::WideColumn& wide : categories.wide)
    if (!wide.is_number)
      add_wide_column(wide, channels, layout.cell_size(), rows, begin, n,
                      cells + layout.column_begin(wide.column));
}

void add_rows(const Codes& codes, const data::Categories& categories, const HistogramLayout& layout,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells) {
  // Groups of one tile, of which only those that hold some column of bytes are counted.
  constexpr int step = tile / lanes;
  const int n_groups = codes.n_groups();
  const bool may_skip = !categories.wide.empty();
  for (int first = 0, last; first < n_groups; first = last) {
    last = first + 1;
    if (may_skip && layout.is_unused(first)) continue;
    while (last < n_groups && last % step != 0 && !(may_skip && layout.is_unused(last))) ++last;
    add_rows(codes, layout, first, last, channels, rows, begin, n, cells);
  }
  add_wide_columns(categories, layout, channels, rows, begin, n, cells);
}

}  // namespace weald::split
