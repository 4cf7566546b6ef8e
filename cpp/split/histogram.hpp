// Histograms: integer sums of the channels per bin.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/categories.hpp"
#include "target/channels.hpp"

namespace weald::split {

// Layout of the cells of one histogram: [group][bin][lane][cell], bin 0 for missing values. The
// eight lanes of a bin are adjacent because the eight codes of a row are. Categories with wide
// codes follow the groups, [column][bin][cell], and then groups of eight numbers with wide codes. A
// part is a group or a wide category.
class HistogramLayout {
 public:
  HistogramLayout(const Codes& codes, const data::Categories& categories, int cell_size);

  int cell_size() const { return cell_size_; }
  std::int64_t size() const { return first_.back(); }  // in integers
  int n_parts() const { return static_cast<int>(first_.size()) - 1; }
  std::int64_t part_begin(int part) const { return first_[part]; }
  std::int64_t part_end(int part) const { return first_[part + 1]; }
  // Whether the part is a group of eight columns, and whether their codes are wide.
  bool is_group(int part) const { return part < n_groups_ || is_wide_group(part); }
  bool is_wide_group(int part) const { return part >= first_wide_group_; }
  // The largest code of a group's columns.
  int bins_of(int group) const {
    return static_cast<int>((first_[group + 1] - first_[group]) / (lanes * cell_size_)) - 1;
  }
  // The columns of a part. Wide columns also have a lane in a group of bytes, which is not used.
  int lanes_of(int part) const;
  int column_of(int part, int lane) const {
    return part < n_groups_ ? part * lanes + lane
                            : wide_columns_[(part - n_groups_) * lanes + lane];
  }
  int part_of(int column) const { return is_wide(column) ? wide_part_[column] : column / lanes; }
  int lane_of(int column) const { return is_wide(column) ? wide_lane_[column] : column % lanes; }
  // Whether all columns of a group of bytes have wide codes.
  bool is_unused(int group) const;
  // The largest code of a column, and the distance between its bins.
  int levels_of(int column) const { return n_bins_[column]; }
  bool is_wide(int column) const { return wide_part_[column] >= 0; }
  std::int64_t stride_of(int column) const {
    return is_group(part_of(column)) ? std::int64_t{lanes} * cell_size_ : cell_size_;
  }
  std::int64_t column_begin(int column) const {
    return first_[part_of(column)] + static_cast<std::int64_t>(lane_of(column)) * cell_size_;
  }

 private:
  int cell_size_;
  int n_groups_, n_columns_, first_wide_group_;
  std::vector<std::int64_t> first_;
  std::vector<std::int32_t> n_bins_;
  std::vector<int> wide_part_, wide_lane_;  // of each column; -1: its codes are bytes
  std::vector<int> wide_columns_;           // [part after the groups of bytes][lane]; -1: none
};

// The codes of numbers with wide codes as histograms read them: [group][row][lane].
class WideGroups {
 public:
  WideGroups() = default;
  WideGroups(const data::Categories& categories, std::int64_t n_rows, int n_threads);

  int size() const { return static_cast<int>(n_lanes_.size()); }
  int lanes_of(int group) const { return n_lanes_[group]; }
  const std::uint16_t* codes(int group) const { return codes_.data() + group * n_rows_ * lanes; }

  // Adds rows to the cells of all groups. `rows` null: rows begin .. begin + n - 1 of the table.
  void add_rows(const HistogramLayout& layout, const target::Channels& channels, const Row* rows,
                std::int64_t begin, std::int64_t n, std::int64_t* cells) const;

 private:
  std::int64_t n_rows_ = 0;
  std::vector<int> n_lanes_;
  LargeVector<std::uint16_t> codes_;
};

// Adds rows to the cells of groups [first, last), all of one tile. `rows` null: rows begin .. begin
// + n - 1 of the table. Words are added to packed or to wide cells, whatever the layout has.
void add_rows(const Codes& codes, const HistogramLayout& layout, int first, int last,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells);

// Adds words[row] (null: 1) to packed cells of groups [first, last). `rows` as above.
void add_packed(const Codes& codes, const HistogramLayout& layout, int first, int last,
                const std::int64_t* words, const Row* rows, std::int64_t begin, std::int64_t n,
                std::int64_t* cells);

// Adds rows to the cells of one category with wide codes; `cells` are its own, by bin.
void add_wide_column(const data::WideColumn& wide, const target::Channels& channels, int cell_size,
                     const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells);

// The same for all categories with wide codes.
void add_wide_columns(const data::Categories& categories, const HistogramLayout& layout,
                      const target::Channels& channels, const Row* rows, std::int64_t begin,
                      std::int64_t n, std::int64_t* cells);

// The same for all columns but numbers with wide codes.
void add_rows(const Codes& codes, const data::Categories& categories, const HistogramLayout& layout,
              const target::Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells);

}  // namespace weald::split
