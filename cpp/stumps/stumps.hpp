// Decision stumps, found repeatedly on the same table as row weights change (AdaBoost).
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
  int column = -1;                  // -1: no split, constant prediction
  double threshold = 0.0;           // values up to it go left, or
  data::LevelSet left_set = {};     // the levels that do, for a categorical column
  bool missing_left = true;         // where missing values go
  double gain = 0.0;                // improvement over no split, as a share of the total mass
  std::vector<double> left, right;  // class weights of the two sides
};

// Exhaustive search: every distinct value of every column is a candidate. Each column is binned and
// its rows sorted once; a round then sums the rows by bin and scans value by value only those bins
// that, by an upper bound, could contain a better candidate than those between bins. So a round
// reads little more than the codes. Benchmark row `adaboost_100k`: with a single bin a fit takes
// 5.2 times the processor time.
//
// Sums are integers below 2^53, exact in any order: the same stump for any number of threads, bins
// and order of rows.
class StumpSearch {
 public:
  // The table must outlive the search; classes are in [0, n_classes). `max_bins` per column, up to
  // 65535; 0: chosen by table size. `n_levels` (null: none) is the number of levels of each column,
  // 0 for numerical ones.
  template <class T>
  StumpSearch(const data::Table<T>& table, const std::int32_t* classes, int n_classes, int max_bins,
              int n_threads, const std::int32_t* n_levels = nullptr);

  // The best stump by a criterion ("error", "gini" or "entropy"). Row masses are non-negative
  // integers with a sum below 2^53; rows of mass 0 are ignored. `row_weight` is the mass that
  // counts as one row when rare levels are determined. Scores within 2^-40 of the total mass are
  // ties, resolved by lowest column, then lowest threshold, then missing values on the right.
  // Writes 1 for each row that goes right.
  Stump find(const double* mass, double row_weight, std::string_view criterion,
             std::uint8_t* goes_right);

  const std::int32_t* classes() const { return classes_.data(); }

  static bool knows(std::string_view criterion);

 private:
  struct Column {
    std::optional<StumpSets> sets;      // of a categorical column, which has no bins
    std::int64_t n_bins = 0;            // of values; missing values have the code n_bins
    std::vector<std::uint16_t> codes;   // the bin of each row
    LargeVector<Row> order;             // rows by value, missing ones last
    std::vector<std::uint8_t> is_last;  // for each position in `order`: last row of its value
    std::vector<std::int64_t> begin;    // first position of each bin; at the end: missing values
    std::vector<std::uint8_t> is_one;   // whether a bin has a single value

    // State of a round: class weights below each bin, and the bound of each bin.
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
  void sum_classes(Column& column) const;
  template <class Criterion>
  double search_bins(Column& column) const;
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
