// Columns of few values, counted together: one code stands for what they hold jointly.
//
// Forty columns that say which of forty soils a field has hold only forty different rows: counted
// as one column they cost a fortieth, and each column's own sums are added up from the joint ones.
// Sums are integers, so the tree is the same. What counts is which rows occur, not which could.
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
  // Looks for bundles; there are none where they would not spare a good part of the counting.
  FeatureBundles(const Codes& codes, const data::Categories& categories, int n_threads);

  bool any() const { return !counted_.empty(); }

  // The table to count instead: single columns as they are, and a column of joint codes per bundle.
  Codes codes() const {
    return {counted_.data(), n_rows_, static_cast<int>(n_bins_.size()), n_bins_.data()};
  }

  // Where wide columns lie in that table: each is there by itself.
  data::Categories categories(const data::Categories& of_columns) const;

  // From the cells of that table to those of the columns; cells past a column's bins are left
  // alone.
  void expand(const HistogramLayout& from, const std::int64_t* counted, const HistogramLayout& to,
              std::int64_t* cells) const;

 private:
  struct Bundle {
    std::vector<int> columns;
    std::vector<Code> held;  // [state][column]: the codes a joint code stands for
    int n_states = 1;
    LargeVector<Code> joint;  // the joint code of every row, while bundles are looked for
    // Of each column, the code that most states hold, and the states that hold another one.
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
  bool keeps_group(int group, const HistogramLayout& from, const HistogramLayout& to) const;
  static void add_up(const Bundle& bundle, const std::int64_t* joint, std::int64_t step,
                     const HistogramLayout& to, std::int64_t* cells);

  std::int64_t n_rows_;
  std::vector<Bundle> bundles_;  // in the order of the counted columns; a single column is one too
  std::vector<std::int32_t> n_bins_;
  LargeVector<Code> counted_;
};

}  // namespace weald::split
