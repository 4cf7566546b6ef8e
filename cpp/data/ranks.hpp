// A table as ranks of each column's values in increasing order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/raw_pages.hpp"
#include "base/types.hpp"
#include "data/table.hpp"

namespace weald::data {

using Rank = std::uint16_t;  // 0 is missing, 1 the lowest value
constexpr int most_ranks = 65535;

class BinaryColumns;

// Up to 65535 distinct values of a column have a rank each; more share ranks of about equal mass.
// Columns of more than 255 ranks also have coarse bins of ranks, which suffice for large nodes and
// are column-major. Small nodes read ranks, whose few rows stay in cache: they are row-major.
class RankedTable {
 public:
  // Row i is row index[i] of the table (null: row i); `mass` weights each (null: 1 each). With
  // `keeps_values` the values themselves are stored row-major, for random thresholds, and there are
  // neither ranks nor bins.
  template <class T>
  RankedTable(const Table<T>& table, const std::int64_t* index, std::int64_t n_rows,
              const std::int64_t* mass, int n_threads, bool keeps_values = false);
  // Columns written one after another, for all rows, by `make(column, values)`.
  RankedTable(std::int64_t n_rows, int n_columns, const std::function<void(int, double*)>& make,
              const std::int64_t* mass);

  // What the ranks of a column are; rank 0 has low 0. At most 255 ranks have a bin each.
  struct Column {
    std::vector<double> low{0.0}, high;  // [rank]; high empty: one value per rank
    std::vector<Code> bin_of;            // [rank]; empty: each rank has its own bin
    std::vector<Rank> last_of;           // [bin]
  };

  // A table of ranks made elsewhere: `ranks` row by row without gaps, levels declared (set_levels).
  RankedTable(std::int64_t n_rows, std::vector<Column> columns, const Rank* ranks,
              const std::vector<int>& n_levels);

  // Declares categorical columns by their number of levels (0: numerical). Their values are levels
  // 0, 1, ...; the rank of a level and, for at most 255 levels, its bin is one more than the level.
  void set_levels(const std::vector<int>& n_levels);

  std::int64_t n_rows() const { return n_rows_; }
  int n_columns() const { return static_cast<int>(columns_.size()); }
  // The ranks of row r start at ranks() + r * stride(); the bins of a column at codes_of(column).
  const Rank* ranks() const { return ranks_.data(); }
  bool keeps_values() const { return ranks_.empty(); }
  // Calls visit(values) with the values of row r at values + r * stride(); floats if all are
  // representable.
  template <class Visit>
  auto with_values(Visit&& visit) const {
    return floats_.empty() ? visit(doubles_.data()) : visit(floats_.data());
  }
  bool holds_floats() const { return doubles_.empty(); }
  const float* floats() const { return floats_.data(); }
  const double* doubles() const { return doubles_.data(); }
  // Whether the column has missing values in any row.
  bool has_missing(int column) const { return has_missing_[column] != 0; }
  bool any_missing() const { return any_missing_; }
  std::int64_t stride() const { return stride_; }
  Rank rank(Row row, int column) const { return ranks_[row * stride_ + column]; }
  const Code* codes_of(int column) const { return codes_.data() + column * n_rows_; }

  int n_ranks(int column) const { return static_cast<int>(columns_[column].low.size()) - 1; }
  // The smallest and the largest value of a rank.
  double low(int column, int rank) const { return columns_[column].low[rank]; }
  double high(int column, int rank) const {
    const Column& one = columns_[column];
    return one.high.empty() ? one.low[rank] : one.high[rank];
  }
  // Threshold between the values of two ranks.
  double threshold(int column, int rank, int next) const;
  // The last rank, starting at `rank`, whose smallest value is <= threshold.
  int last_up_to(int column, int rank, double threshold) const;

  // Bins of ranks and the last rank of each; with at most 255 ranks each has its own bin.
  int n_bins(int column) const {
    const Column& one = columns_[column];
    return one.bin_of.empty() ? n_ranks(column) : static_cast<int>(one.last_of.size()) - 1;
  }
  int last_rank(int column, int bin) const {
    return columns_[column].bin_of.empty() ? bin : columns_[column].last_of[bin];
  }
  bool any_levels() const { return !n_levels_.empty(); }
  int n_levels(int column) const { return n_levels_.empty() ? 0 : n_levels_[column]; }
  // Calls visit(level_of): level_of(row) is one more than the row's level; 0: missing. Many rows
  // are read column-major where possible.
  template <class Visit>
  auto with_levels(int column, bool reads_many, Visit&& visit) const {
    if (n_levels_[column] <= max_value_bins && reads_many && !keeps_values())
      return visit([codes = codes_of(column)](Row row) { return int{codes[row]}; });
    if (!keeps_values())
      return visit([ranks = ranks() + column, stride = stride_](Row row) {
        return int{ranks[row * stride]};
      });
    return with_values([&](const auto* values) {
      return visit([of_column = values + column, stride = stride_](Row row) {
        const auto x = of_column[row * stride];
        return x == x ? static_cast<int>(x) + 1 : 0;
      });
    });
  }

  // Created on first use, by any thread; categorical columns must have been declared.
  const BinaryColumns& binary_columns(int n_threads = 1) const;

  bool every_rank_is_a_bin(int column) const { return columns_[column].bin_of.empty(); }

  const Column& column(int column) const { return columns_[column]; }
  const std::vector<int>& levels() const { return n_levels_; }  // empty: no categorical columns

 private:
  template <class T>
  struct Ranker;
  RankedTable(std::int64_t n_rows, std::int64_t n_columns);
  // rank_column(column, worker, ranks) writes the ranks of all rows; fetch(first, n) prefetches the
  // next n columns, at most a group.
  template <class Fetch, class RankColumn>
  void rank_columns(std::int64_t group, int n_threads, Fetch&& fetch, RankColumn&& rank_column);
  void note_missing();
  template <class T, class Kept>
  void copy_rows(const Table<T>& table, const std::int64_t* index, RawVector<Kept>& values,
                 int n_threads);

  std::int64_t n_rows_, stride_;
  std::vector<Column> columns_;
  RawVector<Rank> ranks_;    // row-major
  RawVector<float> floats_;  // or one of these
  RawVector<double> doubles_;
  std::vector<std::uint8_t> has_missing_;  // [columns]
  bool any_missing_ = false;
  RawVector<Code> codes_;      // column-major
  std::vector<int> n_levels_;  // [columns]; empty: no categorical columns
  mutable std::once_flag binary_once_;
  mutable std::shared_ptr<const BinaryColumns> binary_columns_;
};

}  // namespace weald::data
