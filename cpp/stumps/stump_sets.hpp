// One column of categories, parted in two sets of levels again and again as weights change.
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

// The pairs that are tried, and the guards, are those of category_search.hpp: each level against
// the rest where levels are few; and all that come first in the order of the share of a class, of
// the heaviest few classes, smoothed. Levels of few rows, and those without any, keep company with
// what is missing, on either side. Of two classes no pair of sets of the levels told apart is
// better, by any of the criteria, but for smoothing.
class StumpSets {
 public:
  struct Pair {
    data::LevelSet set;  // the levels that go left; empty: none was found
    bool missing_left = false;
    std::vector<double> left;  // what each class weighs there
  };

  template <class T>
  StumpSets(const data::Table<T>& table, std::int64_t column, int n_levels)
      : n_levels_(n_levels), codes_(static_cast<std::size_t>(table.n_rows)) {
    for (std::int64_t row = 0; row < table.n_rows; ++row) {
      const T x = table.at(row, column);
      codes_[row] = static_cast<std::uint16_t>(x == x ? static_cast<int>(x) + 1 : 0);
    }
  }

  // Adds the rows of a round up by level and class.
  void weigh(const std::int32_t* classes, const double* mass, int n_classes, double row_weight) {
    n_classes_ = n_classes;
    row_weight_ = row_weight;
    cells_.assign((static_cast<std::size_t>(n_levels_) + 1) * n_classes, 0.0);
    for (std::size_t row = 0; row < codes_.size(); ++row)
      cells_[std::int64_t{codes_[row]} * n_classes + classes[row]] += mass[row];
    sort_out();
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
      pair.set = split::set_of_first(levels, n, told_, n_levels_, pair.missing_left);
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

  void sort_out() {
    others_.assign(cells_.begin(), cells_.begin() + n_classes_);
    told_.clear();
    const double least = limits.least_weight(n_levels_, row_weight_);
    for (int level = 0; level < n_levels_; ++level) {
      const double weight = weight_of_level(level);
      if (weight > 0.0 && weight >= least)
        told_.push_back(level);
      else
        add(others_, cell(level));
    }
    has_others_ = criteria::weight_of(others_) > 0.0;
  }

  // Calls visit(left, levels, n, others_left) for pairs, the first n levels and perhaps the others
  // on the left, until it says true.
  template <class Visit>
  void each(const std::vector<double>& totals, Visit&& visit) const {
    const bool are_few = static_cast<int>(told_.size()) <= limits.few;
    for (std::size_t i = 0; are_few && i < told_.size(); ++i)
      if (each_of({told_[i]}, visit)) return;
    const double smooth = are_few ? 0.0 : limits.smooth_rows * row_weight_;
    for (const int k : split::heaviest_channels(n_classes_, n_classes_ == 2, limits.most_orders,
                                                [&](int one) { return totals[one]; }))
      if (each_of(ordered(k, smooth, totals), visit)) return;
  }
  template <class Visit>
  bool each_of(const std::vector<int>& levels, Visit&& visit) const {
    return split::each_first_levels(
        levels, told_.size(), others_, has_others_, [&](int level) { return cell(level); },
        [&](const std::vector<double>& left, std::size_t n, bool others_left) {
          return visit(left, levels, n, others_left);
        });
  }

  // By the share of a class, with some rows of its share in the table added.
  std::vector<int> ordered(int k, double smooth, const std::vector<double>& totals) const {
    const double mean = totals[k] / criteria::weight_of(totals);
    std::vector<int> levels = told_;
    split::LevelSorter().sort(levels, [&](int level) {
      return split::smoothed_mean(cell(level)[k], weight_of_level(level), smooth, mean);
    });
    return levels;
  }

  int n_levels_;
  std::vector<std::uint16_t> codes_;  // of each row: one more than its level, 0 is missing
  // Of a round.
  int n_classes_ = 0;
  double row_weight_ = 1.0;
  std::vector<double> cells_;   // [code][class]
  std::vector<double> others_;  // of the levels that are not told apart, and of what is missing
  bool has_others_ = false;
  std::vector<int> told_;
};

}  // namespace weald::stumps
