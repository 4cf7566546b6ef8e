// Codes and channels to sums per bin: histograms of integers.
#pragma once

#include <cstdint>
#include <vector>

#include "channels.hpp"
#include "shared.hpp"

namespace weald {

// Where the cells of a table's columns lie in one histogram: [group][bin][lane][cell], bin 0 for
// missing values. The eight lanes of a bin are neighbours because the eight codes of a row are.
class HistogramLayout {
 public:
  HistogramLayout(const Codes& codes, int cell_size);

  int cell_size() const { return cell_size_; }
  std::int64_t size() const { return first_.back(); }  // in integers
  std::int64_t group_begin(int g) const { return first_[g]; }
  std::int64_t group_end(int g) const { return first_[g + 1]; }
  // The highest code of the group's columns.
  int bins_of(int g) const {
    return static_cast<int>((first_[g + 1] - first_[g]) / bin_stride()) - 1;
  }
  // From one bin to the next of the same column.
  std::int64_t bin_stride() const { return static_cast<std::int64_t>(lanes) * cell_size_; }
  std::int64_t column_begin(int column) const {
    return first_[column / lanes] + static_cast<std::int64_t>(column % lanes) * cell_size_;
  }

 private:
  int cell_size_;
  std::vector<std::int64_t> first_;
};

// Adds the rows to the cells of groups [first, last), all of one tile. `rows` null: rows begin ..
// begin + n - 1 of the table.
void add_rows(const Codes& codes, const HistogramLayout& layout, int first, int last,
              const Channels& channels, const Row* rows, std::int64_t begin, std::int64_t n,
              std::int64_t* cells);

// The same for all columns.
void add_rows(const Codes& codes, const HistogramLayout& layout, const Channels& channels,
              const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells);

}  // namespace weald
