// Codes and channels to sums per bin: histograms of integers.
#pragma once

#include <cstdint>
#include <vector>

#include "channels.hpp"
#include "shared.hpp"

namespace weald {

// Where the cells of a table's columns lie in one histogram: [group][bin][lane][cell]. The eight
// lanes of a bin are neighbours because the eight codes of a row are.
class HistogramLayout {
 public:
  HistogramLayout(const Codes& codes, int cell_size);

  int cell_size() const { return cell_size_; }
  std::int64_t size() const { return first_.back(); }  // in integers
  std::int64_t group_begin(int g) const { return first_[g]; }
  std::int64_t group_end(int g) const { return first_[g + 1]; }
  // From one bin to the next of the same column.
  std::int64_t bin_stride() const { return static_cast<std::int64_t>(lanes) * cell_size_; }
  std::int64_t column_begin(int column) const {
    return first_[column / lanes] + static_cast<std::int64_t>(column % lanes) * cell_size_;
  }

 private:
  int cell_size_;
  std::vector<std::int64_t> first_;
};

// Adds the rows to the cells of one group; `group_cells` points at that group's first cell.
void add_rows(const Codes& codes, int group, const Channels& channels, const Row* rows,
              std::int64_t n, std::int64_t* group_cells);

}  // namespace weald
