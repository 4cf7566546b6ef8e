// Binning: cut points of a column, and the bin code of a value.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "data/table.hpp"

namespace weald::data {

// The cuts of column c are values[first[c]] < ... < values[first[c + 1] - 1]; the code of a value
// is one more than the number of cuts below it, so x <= cut goes left.
struct Cuts {
  std::vector<double> values;
  std::vector<std::int64_t> first;
};

// The midpoint of neighbouring values a < b, or a itself if the midpoint is not finite or not in
// [a, b).
double cut_between(double a, double b);

// Up to max_bins distinct values: one bin each. More: bins of about equal mass, heavy values in a
// bin of their own. `mass` weights each row (null: 1 each); rows of mass 0 and missing values are
// ignored.
template <class T>
Cuts find_cuts(const Table<T>& table, const std::int64_t* mass, int max_bins, int n_threads);

// Writes codes in the layout of `Codes` for columns begin, begin + 1, ... of n_columns in all.
// `cuts` and `first` belong to the table's columns.
template <class T>
void apply_cuts(const Table<T>& table, const double* cuts, const std::int64_t* first, Code* codes,
                std::int64_t n_columns, std::int64_t begin, int n_threads);

// Writes the codes of one column with up to 65,534 cuts.
template <class T>
void apply_many_cuts(const Table<T>& table, const double* cuts, std::int64_t n_cuts,
                     std::int64_t column, std::uint16_t* codes, int n_threads);

}  // namespace weald::data
