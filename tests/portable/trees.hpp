// Binned tables, and a forest's arrays, as the driver holds them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/binning.hpp"
#include "grow/grower.hpp"
#include "tables.hpp"
#include "tree/forest.hpp"

namespace weald::portable {

// ---- binned tables ----

struct Binned {
  weald::data::Cuts cuts;
  std::vector<Code> codes;
  std::vector<std::int32_t> n_bins;
  std::int64_t n_rows;

  template <class T>
  Binned(const weald::data::Table<T>& table, const std::int64_t* mass, int max_bins, int n_threads)
      : cuts(find_cuts(table, mass, max_bins, n_threads)),
        codes(static_cast<std::size_t>(Codes::bytes(table.n_rows, table.n_columns))),
        n_rows(table.n_rows) {
    apply_cuts(table, cuts.values.data(), cuts.first.data(), codes.data(), table.n_columns, 0,
               n_threads);
    for (std::int64_t c = 0; c < table.n_columns; ++c)
      n_bins.push_back(static_cast<std::int32_t>(cuts.first[c + 1] - cuts.first[c] + 1));
  }
  Codes view() const {
    return {codes.data(), n_rows, static_cast<int>(n_bins.size()), n_bins.data()};
  }
  double threshold(int column, Code code) const {
    return code == n_bins[column] ? infinity : cuts.values[cuts.first[column] + code - 1];
  }
};

// ---- trees ----

// A forest's arrays.
struct Trees {
  std::vector<std::int32_t> feature, right, output;
  std::vector<double> threshold, value, weight, base_score;
  std::vector<std::uint8_t> missing_left;
  std::vector<std::int64_t> first_node{0}, first_leaf{0}, first_word{0};
  std::vector<std::int32_t> category_set;
  std::vector<std::uint64_t> words;
  int n_values = 1;

  void add(const weald::tree::Tree& tree, const Binned& binned, int to_output, double tree_weight) {
    n_values = tree.n_outputs;
    for (std::size_t i = 0; i < tree.feature.size(); ++i) {
      const int column = tree.feature[i];
      const bool has_set = tree.category_set[i] >= 0;
      threshold.push_back(column < 0 || has_set ? 0.0 : binned.threshold(column, tree.code[i]));
      const auto n_sets = static_cast<std::int32_t>(first_word.size()) - 1;
      category_set.push_back(has_set ? n_sets : -1);
      if (!has_set) continue;
      const std::int32_t set = tree.category_set[i];
      words.insert(words.end(), tree.words_of(set), tree.words_of(set + 1));
      first_word.push_back(static_cast<std::int64_t>(words.size()));
    }
    const auto append = [](auto& all, const auto& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    append(feature, tree.feature);
    append(right, tree.right);
    append(missing_left, tree.missing_left);
    append(value, tree.value);
    first_node.push_back(static_cast<std::int64_t>(feature.size()));
    first_leaf.push_back(static_cast<std::int64_t>(value.size()) / n_values);
    output.push_back(to_output);
    weight.push_back(tree_weight);
  }
  weald::tree::Forest view() const {
    return {.feature = feature.data(),
            .threshold = threshold.data(),
            .right = right.data(),
            .missing_left = missing_left.data(),
            .value = value.data(),
            .n_nodes = first_node.back(),
            .n_leaves = first_leaf.back(),
            .n_values = n_values,
            .first_node = first_node.data(),
            .first_leaf = first_leaf.data(),
            .output = output.data(),
            .tree_weight = weight.data(),
            .n_trees = static_cast<std::int64_t>(output.size()),
            .base_score = base_score.data(),
            .n_outputs = static_cast<int>(base_score.size()),
            .category_set = category_set.data(),
            .first_word = first_word.data(),
            .words = words.data(),
            .n_sets = static_cast<std::int64_t>(first_word.size()) - 1,
            .n_words = static_cast<std::int64_t>(words.size())};
  }
};

}  // namespace weald::portable
