// Feature bundling (related to EFB): columns of few values are counted together by a joint code.
//
// Forty one-hot columns have only forty distinct rows: counted as one column they cost a fortieth,
// and the histogram of each column is expanded from the joint one. Sums are integers, so the tree
// is the same. Bundles depend on the combinations that occur, not on those that could.
//
// Benchmark row `covertype`: without it (one-hot columns are then counted by lists,
// sparse_columns.hpp) a fit takes 1.16 times the processor time; 200,000 x 30 columns of four
// values, 1.44 times. Columns that lists count in fewer additions are not bundled: bundles of shape
// `sparse_1k` of benchmarks/shapes.py took 1.5 times the processor time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/categories.hpp"
#include "split/histogram.hpp"

namespace weald::split {

class FeatureBundles {
 public:
  FeatureBundles() = default;  // none
  // Finds bundles; none if they would not save a substantial part of the counting, for which
  // columns of mostly one value may need less already (`by_lists`, sparse_columns.hpp).
  FeatureBundles(const Codes& codes, const data::Categories& categories, bool by_lists,
                 int n_threads);

  bool any() const { return !counted_.empty(); }

  // The table to count: unbundled columns, and one column of joint codes per bundle.
  Codes codes() const {
    return {counted_.data(), n_rows_, static_cast<int>(n_bins_.size()), n_bins_.data()};
  }

  // The wide columns of that table, which are never bundled.
  data::Categories categories(const data::Categories& of_columns) const;

  // Expands the cells of that table to those of the columns; cells past a column's bins are
  // untouched.
  void expand(const HistogramLayout& from, const std::int64_t* counted, const HistogramLayout& to,
              std::int64_t* cells) const;

 private:
  struct Bundle {
    std::vector<int> columns;
    std::vector<Code> held;  // [state][column]: the codes of each joint code
    int n_states = 1;
    LargeVector<Code> joint;  // the joint code of every row, during construction
    // For each column, the code of most states, and the states with another one.
    struct Other {
      std::int16_t state;
      Code code;
    };
    std::vector<Code> usual = {};
    std::vector<std::vector<Other>> others = {};
  };
  static bool pays(const Codes& codes, std::int64_t after);
  bool try_to_add(Bundle& bundle, const Codes& codes, int column) const;
  void gather(const Codes& codes, int n_threads);
  static void find_usual(Bundle& bundle);
  static void add_up(const Bundle& bundle, const std::int64_t* joint, std::int64_t step,
                     const HistogramLayout& to, std::int64_t* cells);

  std::int64_t n_rows_ = 0;
  std::vector<Bundle> bundles_;  // in the order of the counted columns; includes single columns
  std::vector<std::int32_t> n_bins_;
  LargeVector<Code> counted_;
};

}  // namespace weald::split
