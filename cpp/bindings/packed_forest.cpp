#include "bindings/packed_forest.hpp"

namespace weald::bindings {

nb::dict arrays_of_all(grow::PackedForest&& forest) {
  const auto n_outputs = static_cast<std::size_t>(forest.n_outputs);
  const std::size_t n_leaves = forest.value.size() / n_outputs;
  nb::dict result;
  result["feature"] = give(std::move(forest.feature));
  result["threshold"] = give(std::move(forest.threshold));
  result["right"] = give(std::move(forest.right));
  result["missing_left"] = give(std::move(forest.missing_left));
  result["weight"] = give(std::move(forest.weight));
  result["gain"] = give(std::move(forest.gain));
  result["value"] = give(std::move(forest.value), {n_leaves, n_outputs});
  result["first_node"] = give(std::move(forest.first_node));
  result["first_leaf"] = give(std::move(forest.first_leaf));
  if (forest.first_word.size() == 1) return result;
  result["category_set"] = give(std::move(forest.category_set));
  result["first_word"] = give(std::move(forest.first_word));
  result["words"] = give(std::move(forest.words));
  return result;
}

}  // namespace weald::bindings
