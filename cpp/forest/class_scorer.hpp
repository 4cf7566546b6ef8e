// Scores of splits of small nodes with several classes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "criteria/count_impurities.hpp"
#include "criteria/criteria.hpp"
#include "forest/class_counts.hpp"

namespace weald::forest {

// The left side of a split, and the impurity terms of both sides.
template <int W>
struct ClassLeft {
  ClassCounts<W> counts;
  std::int64_t w = 0, left_terms = 0, right_terms = 0;
};

// The scores of ClassScan, on counts packed into W words.
template <class Impurity>
class ClassScorer {
 public:
  static constexpr int most_words = 4;

  explicit ClassScorer(int n_classes)
      : n_classes_(n_classes),
        layouts_{ClassLayout<1>(n_classes), ClassLayout<2>(n_classes),
                 ClassLayout<most_words>(n_classes)},
        totals_(static_cast<std::size_t>(n_classes)),
        sums_(static_cast<std::size_t>(n_classes)) {}

  template <int W>
  const ClassLayout<W>& layout() const {
    return std::get<ClassLayout<W>>(layouts_);
  }

  template <int W>
  std::int64_t count(const ClassCounts<W>& counts, int k) const {
    return layout<W>().count(counts, layout<W>().word_of(k), layout<W>().shift_of(k));
  }

  template <int W>
  void load(const ClassCounts<W>& total, std::int64_t weight) {
    weight_ = weight;
    impurity_.load(weight, n_classes_, 1);
    terms_ = 0;
    layout<W>().each(total, n_classes_, [&](int k, std::int64_t n) {
      totals_[k] = n;
      terms_ += impurity_.term(n);
    });
  }

  template <int W>
  ClassLeft<W> left_of(const ClassCounts<W>& counts) const {
    ClassLeft<W> left{counts};
    layout<W>().each(counts, n_classes_, [&](int k, std::int64_t n) {
      left.w += n;
      left.left_terms += impurity_.term(n);
      left.right_terms += impurity_.term(totals_[k] - n);
    });
    return left;
  }
  template <int W>
  void add_copies(ClassLeft<W>& left, int k, std::int64_t copies) const {
    const int word = layout<W>().word_of(k), shift = layout<W>().shift_of(k);
    const std::int64_t before = layout<W>().count(left.counts, word, shift);
    left.left_terms += impurity_.rise(before, copies);
    left.right_terms -= impurity_.rise(totals_[k] - before - copies, copies);
    left.counts.words[word] += static_cast<std::uint64_t>(copies) << shift;
    left.w += copies;
  }

  template <int W>
  bool beats(const ClassLeft<W>& left, double bar) const {
    return impurity_.beats(left.left_terms, left.w, left.right_terms, weight_ - left.w, bar);
  }
  template <int W>
  double score(const ClassLeft<W>& left) const {
    return impurity_.score(left.left_terms, left.w, left.right_terms, weight_ - left.w);
  }
  template <int W>
  bool is_perfect(const ClassLeft<W>& left) const {
    return impurity_.is_pure(left.left_terms, left.w) &&
           impurity_.is_pure(left.right_terms, weight_ - left.w);
  }
  template <int W>
  bool left_is_heavier(const ClassLeft<W>& left) const {
    return left.w >= weight_ - left.w;
  }

  // The gain as SplitEvaluator computes it; squares of so few copies are exact doubles.
  template <int W>
  double gain(const ClassLeft<W>& left, const ClassCounts<W>& total) {
    const std::int64_t rest = weight_ - left.w;
    double children, parent;
    if constexpr (is_gini) {
      children = share(left.left_terms, left.w) + share(left.right_terms, rest);
      parent = share(terms_, weight_);
    } else {
      ClassCounts<W> right = total;
      right -= left.counts;
      children = entropy_of(left.counts, left.w);
      children += entropy_of(right, rest);
      parent = entropy_of(total, weight_);
    }
    return std::max(0.0, children - parent);
  }
  // The gain of a split into two pure children of different classes; needs no load().
  template <int W>
  double gain_of_pair(std::int64_t left, std::int64_t right, const ClassCounts<W>& total) {
    const std::int64_t weight = left + right;
    if constexpr (is_gini)
      return std::max(0.0, share(left * left, left) + share(right * right, right) -
                               share(left * left + right * right, weight));
    else
      return std::max(0.0, 0.0 - entropy_of(total, weight));
  }

 protected:
  int n_classes_;

 private:
  static constexpr bool is_gini = std::is_same_v<Impurity, criteria::GiniOfCounts>;

  static double share(std::int64_t terms, std::int64_t weight) {
    return static_cast<double>(terms) / static_cast<double>(weight);
  }
  template <int W>
  double entropy_of(const ClassCounts<W>& counts, std::int64_t weight) {
    layout<W>().each(counts, n_classes_,
                     [&](int k, std::int64_t n) { sums_[k] = static_cast<double>(n); });
    return criteria::Entropy::score({static_cast<double>(weight), sums_.data(), n_classes_}, {});
  }

  std::tuple<ClassLayout<1>, ClassLayout<2>, ClassLayout<most_words>> layouts_;
  Impurity impurity_;
  std::vector<std::int64_t> totals_;  // class counts of the node
  std::int64_t weight_ = 0, terms_ = 0;
  std::vector<double> sums_;
};

}  // namespace weald::forest
