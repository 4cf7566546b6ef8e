// One column of categories, parted in two sets of levels again and again as weights change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "categories.hpp"
#include "stump_scores.hpp"
#include "table.hpp"

namespace weald {

// The pairs that are tried, and the guards, are those of category_search.hpp: each level against
// the rest where levels are few; and all that come first in the order of the share of a class, of
// the heaviest few classes, smoothed. Levels of few rows, and those without any, keep company with
// what is missing, on either side. Of two classes no pair of sets of the levels told apart is
// better, by any of the criteria, but for smoothing.
class StumpSets {
 public:
  struct Pair {
    LevelSet set;  // the levels that go left; empty: none was found
    bool missing_left = false;
    std::vector<double> left;  // what each class weighs there
  };

  template <class T>
  StumpSets(const Table<T>& table, std::int64_t column, int n_levels)
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
    each(totals, [&](const std::vector<double>& left, const int*, std::size_t, bool) {
      most = std::max(most, score<Criterion>(left, totals));
      return false;
    });
    return most;
  }

  // The first pair of at least this score.
  template <class Criterion>
  Pair first(const std::vector<double>& totals, double bar) const {
    Pair pair;
    each(totals,
         [&](const std::vector<double>& left, const int* levels, std::size_t n, bool others_left) {
           if (!(score<Criterion>(left, totals) >= bar)) return false;
           pair.left = left;
           pair.missing_left =
               has_others_ ? others_left : weight_of(left) >= weight_of(totals) - weight_of(left);
           pair.set = set_of(levels, n, pair.missing_left);
           return true;
         });
    return pair;
  }

  // Writes 1 for each row that goes right.
  void send(const LevelSet& set, bool missing_left, std::uint8_t* goes_right) const {
    std::vector<std::uint8_t> side(static_cast<std::size_t>(n_levels_) + 1, !missing_left);
    for (int level = 0; level < n_levels_; ++level) side[level + 1] = !in_set(set.data(), level);
    for (std::size_t row = 0; row < codes_.size(); ++row) goes_right[row] = side[codes_[row]];
  }

 private:
  static constexpr int few = 4;  // as CategoryLimits has them
  static constexpr double rare_rows = 10.0, many = 64.0, smooth_rows = 10.0;
  static constexpr int most_orders = 4;

  const double* cell(int level) const { return cells_.data() + (level + 1) * n_classes_; }
  double weight_of_level(int level) const {
    return std::accumulate(cell(level), cell(level) + n_classes_, 0.0);
  }
  void add(std::vector<double>& to, const double* one) const {
    for (int k = 0; k < n_classes_; ++k) to[k] += one[k];
  }
  template <class Criterion>
  double score(const std::vector<double>& left, const std::vector<double>& totals) const {
    return score_of<Criterion>([&](int k) { return left[k]; }, totals.data(), n_classes_,
                               -std::numeric_limits<double>::infinity());
  }

  void sort_out() {
    others_.assign(cells_.begin(), cells_.begin() + n_classes_);
    told_.clear();
    const double least = std::min(1.0, n_levels_ / many) * rare_rows * row_weight_;
    for (int level = 0; level < n_levels_; ++level) {
      const double weight = weight_of_level(level);
      if (weight > 0.0 && weight >= least)
        told_.push_back(level);
      else
        add(others_, cell(level));
    }
    has_others_ = weight_of(others_) > 0.0;
  }

  // Calls visit(left, levels, n, others_left) for pairs, the first n levels and perhaps the others
  // on the left, until it says true.
  template <class Visit>
  void each(const std::vector<double>& totals, Visit&& visit) const {
    const bool are_few = static_cast<int>(told_.size()) <= few;
    for (std::size_t i = 0; are_few && i < told_.size(); ++i)
      if (each_of(&told_[i], 1, visit)) return;
    for (const int k : heaviest_classes(totals)) {
      const std::vector<int> levels = ordered(k, are_few ? 0.0 : smooth_rows * row_weight_, totals);
      if (each_of(levels.data(), levels.size(), visit)) return;
    }
  }
  template <class Visit>
  bool each_of(const int* levels, std::size_t n_levels, Visit&& visit) const {
    std::vector<double> left(static_cast<std::size_t>(n_classes_), 0.0);
    for (std::size_t i = 0; i < n_levels; ++i) {
      add(left, cell(levels[i]));
      const bool is_all = i + 1 == told_.size();
      if (is_all && !has_others_) continue;
      if (visit(left, levels, i + 1, false)) return true;
      if (is_all || !has_others_) continue;
      std::vector<double> side = left;
      add(side, others_.data());
      if (visit(side, levels, i + 1, true)) return true;
    }
    return false;
  }

  std::vector<int> heaviest_classes(const std::vector<double>& totals) const {
    std::vector<int> all(static_cast<std::size_t>(n_classes_));
    std::iota(all.begin(), all.end(), 0);
    std::stable_sort(all.begin(), all.end(), [&](int a, int b) { return totals[a] > totals[b]; });
    all.resize(static_cast<std::size_t>(n_classes_ == 2 ? 1 : std::min(n_classes_, most_orders)));
    return all;
  }

  // By the share of a class, with some rows of its share in the table added.
  std::vector<int> ordered(int k, double smooth, const std::vector<double>& totals) const {
    const double mean = totals[k] / weight_of(totals);
    std::vector<double> keys(static_cast<std::size_t>(n_levels_));
    for (const int level : told_)
      keys[level] = (cell(level)[k] + smooth * mean) / (weight_of_level(level) + smooth);
    std::vector<int> levels = told_;
    std::sort(levels.begin(), levels.end(),
              [&](int a, int b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    return levels;
  }

  // All levels that are not told apart, and bits that are no level, are where missing ones are.
  LevelSet set_of(const int* levels, std::size_t n, bool missing_left) const {
    LevelSet set((static_cast<std::size_t>(n_levels_) + 63) / 64,
                 missing_left ? ~std::uint64_t{0} : 0);
    for (const int level : told_) set[level / 64] &= ~(std::uint64_t{1} << level % 64);
    for (std::size_t i = 0; i < n; ++i) set[levels[i] / 64] |= std::uint64_t{1} << levels[i] % 64;
    return set;
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

}  // namespace weald
