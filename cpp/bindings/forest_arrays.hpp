// The arrays of a forest, kept alive while the core reads them.
#pragma once

#include "bindings/border.hpp"
#include "tree/forest.hpp"

namespace weald::bindings {

// Validated once; traversals then need no checks.
class ForestArrays {
 public:
  ForestArrays(Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> right,
               Vector<std::uint8_t> missing_left, Matrix<double> value,
               Vector<std::int64_t> first_node, Vector<std::int64_t> first_leaf,
               Vector<std::int32_t> output, Vector<double> tree_weight, Vector<double> base_score,
               Vector<std::int32_t> category_set, Vector<std::int64_t> first_word,
               Vector<std::uint64_t> words, std::int64_t n_columns)
      : feature_(std::move(feature)),
        threshold_(std::move(threshold)),
        right_(std::move(right)),
        missing_left_(std::move(missing_left)),
        value_(std::move(value)),
        first_node_(std::move(first_node)),
        first_leaf_(std::move(first_leaf)),
        output_(std::move(output)),
        tree_weight_(std::move(tree_weight)),
        base_score_(std::move(base_score)),
        category_set_(std::move(category_set)),
        first_word_(std::move(first_word)),
        words_(std::move(words)) {
    const std::size_t n_nodes = feature_.shape(0), n_trees = output_.shape(0);
    require(threshold_.shape(0) == n_nodes && right_.shape(0) == n_nodes &&
                missing_left_.shape(0) == n_nodes && category_set_.shape(0) == n_nodes,
            "node arrays must have the same length");
    require(first_node_.shape(0) == n_trees + 1 && first_leaf_.shape(0) == n_trees + 1 &&
                tree_weight_.shape(0) == n_trees,
            "tree arrays must have the same length");
    require(first_word_.shape(0) >= 1, "set arrays must have the same length");
    require(base_score_.shape(0) >= 1 && value_.shape(1) >= 1,
            "a forest must have at least one output");
    forest_ = {feature_.data(),
               threshold_.data(),
               right_.data(),
               missing_left_.data(),
               value_.data(),
               static_cast<std::int64_t>(n_nodes),
               static_cast<std::int64_t>(value_.shape(0)),
               static_cast<int>(value_.shape(1)),
               first_node_.data(),
               first_leaf_.data(),
               output_.data(),
               tree_weight_.data(),
               static_cast<std::int64_t>(n_trees),
               base_score_.data(),
               static_cast<int>(base_score_.shape(0)),
               category_set_.data(),
               first_word_.data(),
               words_.data(),
               static_cast<std::int64_t>(first_word_.shape(0)) - 1,
               static_cast<std::int64_t>(words_.shape(0))};
    require(tree::is_sound(forest_, n_columns), "the arrays of the forest are damaged");
  }
  ForestArrays(const ForestArrays&) = delete;  // the view points into the arrays
  ForestArrays& operator=(const ForestArrays&) = delete;

  const tree::Forest& forest() const { return forest_; }

 private:
  Vector<std::int32_t> feature_;
  Vector<double> threshold_;
  Vector<std::int32_t> right_;
  Vector<std::uint8_t> missing_left_;
  Matrix<double> value_;
  Vector<std::int64_t> first_node_, first_leaf_;
  Vector<std::int32_t> output_;
  Vector<double> tree_weight_, base_score_;
  Vector<std::int32_t> category_set_;
  Vector<std::int64_t> first_word_;
  Vector<std::uint64_t> words_;
  tree::Forest forest_{};
};

}  // namespace weald::bindings
