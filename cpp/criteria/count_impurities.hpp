// Impurities of class counts in integer arithmetic: sums of one term per count.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>

#include "base/elementary.hpp"
#include "criteria/entropy.hpp"
#include "criteria/gini.hpp"

namespace weald::criteria {

// One side of a split of two classes: its copies, and those of the second class.
struct PairLeft {
  std::int64_t w = 0, s = 0;
};

// With fewer copies than this, over all outputs, the terms fit 62 bits.
constexpr std::int64_t most_counted = std::int64_t{1} << 30;

// Each impurity names the criterion of which it is the fast form, and is initialised with a node's
// copies, classes and outputs. A side holds the sum of the terms of its counts; `rise` is the
// increase of the term of n when w copies are added. For two classes the counts themselves suffice;
// nodes of at most `most_listed` copies have a faster form.

// The term is the square, the score sum of S^2 / W. For two classes the gain is d^2 / (W W_l W_r)
// with d = S_l W - S W_l.
class GiniOfCounts {
 public:
  using Criterion = Gini;
  static constexpr std::int64_t most_listed = most_counted;
  void load(std::int64_t, int, std::int64_t n_outputs) { n_outputs_ = n_outputs; }
  static std::int64_t term(std::int64_t n) { return n * n; }
  static std::int64_t rise(std::int64_t n, std::int64_t w) { return w * (2 * n + w); }

  static bool beats(std::int64_t left, std::int64_t left_weight, std::int64_t right,
                    std::int64_t right_weight, double bar) {
    const auto wl = static_cast<double>(left_weight), wr = static_cast<double>(right_weight);
    return static_cast<double>(left) * wr + static_cast<double>(right) * wl > bar * (wl * wr);
  }
  static double score(std::int64_t left, std::int64_t left_weight, std::int64_t right,
                      std::int64_t right_weight) {
    const auto wl = static_cast<double>(left_weight), wr = static_cast<double>(right_weight);
    return (static_cast<double>(left) * wr + static_cast<double>(right) * wl) / (wl * wr);
  }
  bool is_pure(std::int64_t terms, std::int64_t weight) const {
    return terms == n_outputs_ * weight * weight;
  }

  template <bool are_listed = false>
  static bool pair_beats(const PairLeft& left, const PairLeft& total, double bar) {
    const auto d = static_cast<double>(left.s * total.w - total.s * left.w);
    return d * d > bar * static_cast<double>(left.w * (total.w - left.w));
  }
  static double pair_score(const PairLeft& left, const PairLeft& total) {
    const auto d = static_cast<double>(left.s * total.w - total.s * left.w);
    return d * d / static_cast<double>(left.w * (total.w - left.w));
  }

 private:
  std::int64_t n_outputs_ = 1;
};

// The term is n log2 n in steps of 2^-26, from a lookup table for common counts; the score is the
// sum of the terms minus that of W: the same integer whatever the order of the rows.
class EntropyOfCounts {
 public:
  using Criterion = Entropy;
  static constexpr std::int64_t most_listed = (1 << 16) - 1;
  void load(std::int64_t copies, int n_classes, std::int64_t n_outputs) {
    n_outputs_ = n_outputs;
    // Every term may be off by one step, and large ones by an ulp or two: closer scores are ties.
    const auto n_terms = 2 * (n_classes + n_outputs);
    slack_ = static_cast<double>(n_terms * (1 + (term(copies) >> 50)));
  }
  std::int64_t term(std::int64_t n) const { return n <= most_listed ? terms_[n] : computed(n); }
  std::int64_t rise(std::int64_t n, std::int64_t w) const { return term(n + w) - term(n); }

  bool beats(std::int64_t left, std::int64_t left_weight, std::int64_t right,
             std::int64_t right_weight, double bar) const {
    return score(left, left_weight, right, right_weight) > bar + slack_;
  }
  double score(std::int64_t left, std::int64_t left_weight, std::int64_t right,
               std::int64_t right_weight) const {
    return static_cast<double>(left + right -
                               n_outputs_ * (term(left_weight) + term(right_weight)));
  }
  // With two or more classes the terms sum to at least 2 less than the term of W.
  bool is_pure(std::int64_t terms, std::int64_t weight) const {
    return terms == n_outputs_ * term(weight);
  }

  template <bool are_listed = false>
  bool pair_beats(const PairLeft& left, const PairLeft& total, double bar) const {
    return pair_score<are_listed>(left, total) > bar + slack_;
  }
  template <bool are_listed = false>
  double pair_score(const PairLeft& left, const PairLeft& total) const {
    const auto side = [this](std::int64_t w, std::int64_t s) {
      if constexpr (are_listed)
        return terms_[s] + terms_[w - s] - terms_[w];
      else
        return term(s) + term(w - s) - term(w);
    };
    return static_cast<double>(side(left.w, left.s) + side(total.w - left.w, total.s - left.s));
  }

 private:
  static std::int64_t computed(std::int64_t n) {
    const auto x = static_cast<double>(n);
    return n == 0 ? 0 : std::llrint(x * elementary::log2(x) * 0x1p26);
  }
  // Created once and never freed. Not a static vector: its guard, if held by another thread at a
  // fork, would hang the child. If threads race, one wins.
  static const std::int64_t* listed() {
    const std::int64_t* const known = list_.load(std::memory_order_acquire);
    return known ? known : made_list();
  }
  [[gnu::noinline, gnu::cold]] static const std::int64_t* made_list() {
    auto terms = std::make_unique<std::int64_t[]>(most_listed + 1);
    for (std::int64_t n = 0; n <= most_listed; ++n) terms[n] = computed(n);
    const std::int64_t* known = nullptr;
    return list_.compare_exchange_strong(known, terms.get()) ? terms.release() : known;
  }

  static inline constinit std::atomic<const std::int64_t*> list_{nullptr};
  const std::int64_t* terms_ = listed();
  std::int64_t n_outputs_ = 1;
  double slack_ = 0.0;
};

}  // namespace weald::criteria
