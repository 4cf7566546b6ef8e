// Histograms: integer sums of the channels per bin.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/categories.hpp"
#include "target/channels.hpp"

namespace weald::split {

// Layout of the cells of one histogram: [group][bin][lane][cell], bin 0 for missing values. The
// eight lanes of a bin are adjacent because the eight codes of a row are. Columns of wide codes
// follow the groups: [column][bin][cell]. A part is a group or a wide column.
class HistogramLayout {
 public:
  HistogramLayout(const Codes& codes, const data::Categories& categories, int cell_size);

  int cell_size() const { return cell_size_; }
  std::int64_t size() const { return first_.back(); }  // in integers
  int n_parts() const { return static_cast<int>(first_.size()) - 1; }
  std::int64_t part_begin(int part) const { return first_[part]; }
  std::int64_t part_end(int part) const { return first_[part + 1]; }
  // The largest code of a group's columns.
  int bins_of(int g) const {
    return static_cast<int>((first_[g + 1] - first_[g]) / (lanes * cell_size_)) - 1;
  }
  // The largest code of a column, and the distance between its bins.
  int levels_of(int column) const { return n_bins_[column]; }
  bool is_wide(int column) const { return wide_part_[column] >= 0; }
  std::int64_t stride_of(int column) const {
    return is_wide(column) ? cell_size_ : std::int64_t{lanes} * cell_size_;
  }
  std::int64_t column_begin(int column) const {
    if (const int part = wide_part_[column]; part >= 0) return first_[part];
    return first_[column / lanes] + static_cast<std::int64_t>(column % lanes) * cell_size_;
  }

 private:
  int cell_size_;
  std::vector<std::int64_t> first_;
  std::vector<std::int32_t> n_bins_;
  std::vector<int> wide_part_;  // of each column; -1: it is a lane of a group
};

// Adds rows to the cells of groups [first, last), all of one tile. `rows` null: rows begin .. begin
// + n - 1 of the table.
void add_rows(const Codes& codes, const HistogramLayout& layout, int first, int last,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells);

// The same for one column of wide codes; `cells` are its own, by bin.
void add_wide_column(const data::WideColumn& wide, const target::Channels& channels,
                     const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells);

// The same for all columns of wide codes.
void add_wide_columns(const data::Categories& categories, const HistogramLayout& layout,
                      const target::Channels& channels, const Row* rows, std::int64_t begin,
                      std::int64_t n, std::int64_t* cells);

// The same for all columns.
void add_rows(const Codes& codes, const data::Categories& categories, const HistogramLayout& layout,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells);

}  // namespace weald::split
