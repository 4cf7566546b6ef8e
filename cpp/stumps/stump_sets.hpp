// A categorical column split into two sets of levels, repeatedly as row weights change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "criteria/stump_scores.hpp"
#include "data/categories.hpp"
#include "data/table.hpp"
#include "split/category_order.hpp"

namespace weald::stumps {

// Candidates and regularisation are those of category_search.hpp: each level against the rest, if
// they are few; and all prefixes of the order by the smoothed share of a class, for the heaviest
// few classes. Rare levels, and levels without rows, go with missing values to either side. For two
// classes, and apart from smoothing, no pair of sets of the frequent levels is better by any of the
// criteria.
class StumpSets {
 public:
  struct Pair {
    data::LevelSet set;  // the levels that go left; empty: none was found
    bool missing_left = false;
    std::vector<double> left;  // class weights on the left
  };

  template <class T>
  StumpSets(const data::Table<T>& table, std::int64_t column, int n_levels)
      : n_levels_(n_levels), codes_(static_cast<std::size_t>(table.n_rows)) {
    for (std::int64_t row = 0; row < table.n_rows; ++row) {
      const T x = table.at(row, column);
      codes_[row] = static_cast<std::uint16_t>(x == x ? static_cast<int>(x) + 1 : 0);
    }
  }

  // Sum the rows of a round by level and class.
  void sum_classes(const std::int32_t* classes, const double* mass, int n_classes,
                   double row_weight) {
    n_classes_ = n_classes;
    row_weight_ = row_weight;
    cells_.assign((static_cast<std::size_t>(n_levels_) + 1) * n_classes, 0.0);
    for (std::size_t row = 0; row < codes_.size(); ++row)
      cells_[std::int64_t{codes_[row]} * n_classes + classes[row]] += mass[row];
    separate_rare();
  }

  // The best score of all pairs; minus infinity if there is none.
  template <class Criterion>
  double best(const std::vector<double>& totals) const {
    double most = -std::numeric_limits<double>::infinity();
    each(totals, [&](const std::vector<double>& left, const std::vector<int>&, std::size_t, bool) {
      most = std::max(most, score<Criterion>(left, totals));
      return false;
    });
    return most;
  }

  // The first pair of at least this score.
  template <class Criterion>
  Pair first(const std::vector<double>& totals, double bar) const {
    Pair pair;
    each(totals, [&](const std::vector<double>& left, const std::vector<int>& levels, std::size_t n,
                     bool others_left) {
      if (!(score<Criterion>(left, totals) >= bar)) return false;
      pair.left = left;
      pair.missing_left = has_others_ ? others_left
                                      : criteria::weight_of(left) >=
                                            criteria::weight_of(totals) - criteria::weight_of(left);
      pair.set = split::set_of_first(levels, n, frequent_, n_levels_, pair.missing_left);
      return true;
    });
    return pair;
  }

  // Writes 1 for each row that goes right.
  void send(const data::LevelSet& set, bool missing_left, std::uint8_t* goes_right) const {
    std::vector<std::uint8_t> side(static_cast<std::size_t>(n_levels_) + 1, !missing_left);
    for (int level = 0; level < n_levels_; ++level)
      side[level + 1] = !data::in_set(set.data(), level);
    for (std::size_t row = 0; row < codes_.size(); ++row) goes_right[row] = side[codes_[row]];
  }

 private:
  static constexpr split::CategoryLimits limits{};

  const double* cell(int level) const { return cells_.data() + (level + 1) * n_classes_; }
  double weight_of_level(int level) const {
    return std::accumulate(cell(level), cell(level) + n_classes_, 0.0);
  }
  void add(std::vector<double>& to, const double* one) const {
    for (int k = 0; k < n_classes_; ++k) to[k] += one[k];
  }
  template <class Criterion>
  double score(const std::vector<double>& left, const std::vector<double>& totals) const {
    return criteria::score_of<Criterion>([&](int k) { return left[k]; }, totals.data(), n_classes_,
                                         -std::numeric_limits<double>::infinity());
  }

  void separate_rare() {
    others_.assign(cells_.begin(), cells_.begin() + n_classes_);
    frequent_.clear();
    const double least = limits.least_weight(n_levels_, row_weight_);
    for (int level = 0; level < n_levels_; ++level) {
      const double weight = weight_of_level(level);
      if (weight > 0.0 && weight >= least)
        frequent_.push_back(level);
      else
        add(others_, cell(level));
    }
    has_others_ = criteria::weight_of(others_) > 0.0;
  }

  // Call visit(left, levels, n, others_left) for each candidate pair (the first n levels,
  // optionally with the others, on the left) until it returns true.
  template <class Visit>
  void each(const std::vector<double>& totals, Visit&& visit) const {
    const std::size_t n = frequent_.size();
    for (std::size_t i = 0; limits.are_few(n) && i < n; ++i)
      if (each_of({frequent_[i]}, visit)) return;
    const double smooth = limits.smoothing(n, row_weight_);
    for (const int k : split::heaviest_channels(n_classes_, n_classes_ == 2, limits.most_orders,
                                                [&](int one) { return totals[one]; }))
      if (each_of(ordered(k, smooth, totals), visit)) return;
  }
  template <class Visit>
  bool each_of(const std::vector<int>& levels, Visit&& visit) const {
    return split::each_first_levels(
        levels, frequent_.size(), others_, has_others_, [&](int level) { return cell(level); },
        [&](const std::vector<double>& left, std::size_t n, bool others_left) {
          return visit(left, levels, n, others_left);
        });
  }

  // Levels by the share of class k, smoothed towards its share in the table.
  std::vector<int> ordered(int k, double smooth, const std::vector<double>& totals) const {
    const double mean = totals[k] / criteria::weight_of(totals);
    std::vector<int> levels = frequent_;
    split::LevelSorter().sort(levels, [&](int level) {
      return split::smoothed_mean(cell(level)[k], weight_of_level(level), smooth, mean);
    });
    return levels;
  }

  int n_levels_;
  std::vector<std::uint16_t> codes_;  // of each row: level + 1, 0 is missing
  // State of a round.
  int n_classes_ = 0;
  double row_weight_ = 1.0;
  std::vector<double> cells_;   // [code][class]
  std::vector<double> others_;  // of rare levels and missing values
  bool has_others_ = false;
  std::vector<int> frequent_;
};

}  // namespace weald::stumps
