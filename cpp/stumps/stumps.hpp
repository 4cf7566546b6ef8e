// Trees of one question, found again and again on the same table as the weights of its rows change.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/table.hpp"
#include "stumps/stump_sets.hpp"

namespace weald::stumps {

struct Stump {
  int column = -1;               // -1: no question, the same answer for all rows
  double threshold = 0.0;        // values up to it go left, or
  data::LevelSet left_set = {};  // the levels that do, of a column of categories
  bool missing_left = true;      // where missing values go
  double gain = 0.0;  // how much better than no question, as a share of the mass of all rows
  std::vector<double> left, right;  // what each class weighs on the two sides
};

// Every distinct value of every column is a candidate. A column is cut into bins once, and the rows
// are put in the order of its values; then a round adds the rows up by bin (codes of 8 or 16 bits)
// and looks, value by value, only into the bins in which a better cut than those between bins could
// lie: a bound says which. So a round reads little more than the codes, and misses nothing.
//
// The sums are whole numbers below 2^53, exact in any order: the same stump for any number of
// threads, bins and order of rows.
class StumpSearch {
 public:
  // The table must outlive the search; classes are in [0, n_classes). `max_bins` of a column, up to
  // 65535: 0 leaves the choice to the size of the table. `n_levels` (null: none) says how many
  // levels each column has, 0 for numbers.
  template <class T>
  StumpSearch(const data::Table<T>& table, const std::int32_t* classes, int n_classes, int max_bins,
              int n_threads, const std::int32_t* n_levels = nullptr);

  // The best stump by a criterion ("error", "gini" or "entropy"). The masses of the rows are whole
  // numbers, not negative, with a sum below 2^53; a row of mass 0 is not there. `row_weight` is the
  // mass that counts as one row where levels of few rows are not told apart. Candidates that
  // differ by less than 2^-40 of all mass are equal: then the lowest column wins, then the lowest
  // threshold, then missing values on the right. Writes 1 for each row that goes right.
  Stump find(const double* mass, double row_weight, std::string_view criterion,
             std::uint8_t* goes_right);

  const std::int32_t* classes() const { return classes_.data(); }

  static bool knows(std::string_view criterion);

 private:
  struct Column {
    std::optional<StumpSets> sets;      // of a column of categories, which has no bins
    std::int64_t n_bins = 0;            // of values; missing ones have the code n_bins
    std::vector<std::uint8_t> bytes;    // the bin of each row, or
    std::vector<std::uint16_t> shorts;  // the same, if there are more than 255 bins
    LargeVector<Row> order;             // rows by value, missing ones last
    std::vector<std::uint8_t> is_last;  // of its value: for each place in `order`
    std::vector<std::int64_t> begin;    // the place where each bin begins; at the end: missing ones
    std::vector<std::uint8_t> is_one;   // whether a bin holds one value only

    // Of a round: what each class weighs below each bin, and what a cut inside a bin may reach.
    std::vector<double> below;
    std::vector<double> missing;
    std::vector<double> reach;
    bool has_missing = false;

    std::int64_t n_present() const { return begin[n_bins]; }
  };
  struct Scratch;
  struct Cut;

  template <class T>
  void prepare(const data::Table<T>& table, int column, int max_bins);
  template <class T>
  static std::vector<std::int64_t> ends_of_bins(const std::vector<T>& items, int max_bins);
  void weigh(Column& column) const;
  template <class Criterion>
  double look(Column& column) const;
  template <class Criterion>
  double best_inside(const Column& column, std::int64_t bin, Scratch& scratch) const;
  template <class Criterion>
  Cut first_inside(const Column& column, std::int64_t bin, double bar, Scratch& scratch) const;
  template <class Criterion, class Take>
  void score_inside(const Column& column, std::int64_t bin, Scratch& scratch, Take&& take) const;
  template <class Criterion>
  double refine(double best);
  template <class Criterion>
  Stump find_by(std::uint8_t* goes_right);
  template <class Criterion>
  Cut first_at_least(double bar) const;
  double value_at(int column, std::int64_t place) const;

  std::variant<data::Table<float>, data::Table<double>> table_;
  std::vector<std::int32_t> classes_;
  int n_classes_;
  int n_threads_;
  std::int64_t n_rows_;
  std::vector<Column> columns_;

  const double* mass_ = nullptr;  // of the round
  double row_weight_ = 1.0;
  std::vector<double> signed_;  // two classes: the mass, negative for the first class
  std::vector<double> totals_;  // of each class
  double total_ = 0.0;
};

}  // namespace weald::stumps
