#include "bindings/grown_trees.hpp"

#include "tree/pre_order.hpp"

namespace weald::bindings {

void find_thresholds(tree::Tree& tree, const double* cuts, const std::int64_t* first) {
  for (std::size_t i = 0; i < tree.feature.size(); ++i) {
    const std::int32_t column = tree.feature[i];
    if (column < 0 || tree.category_set[i] >= 0) continue;
    const std::int64_t position = first[column] + tree.code[i] - 1;
    tree.threshold[i] =
        position == first[column + 1] ? std::numeric_limits<double>::infinity() : cuts[position];
  }
}

nb::dict arrays_of(tree::Tree tree) {
  const auto n_outputs = static_cast<std::size_t>(tree.n_outputs);
  const std::size_t n_leaves = tree.value.size() / n_outputs;
  nb::dict result;
  result["feature"] = give(std::move(tree.feature));
  result["category_set"] = give(std::move(tree.category_set));
  result["first_word"] = give(std::move(tree.first_word));
  result["words"] = give(std::move(tree.words));
  result["threshold"] = give(std::move(tree.threshold));
  result["right"] = give(std::move(tree.right));
  result["missing_left"] = give(std::move(tree.missing_left));
  result["weight"] = give(std::move(tree.weight));
  result["gain"] = give(std::move(tree.gain));
  result["value"] = give(std::move(tree.value), {n_leaves, n_outputs});
  return result;
}

std::vector<nb::dict> GrownTrees::arrays() const {
  std::vector<nb::dict> all;
  for (const tree::Tree& tree : trees_) all.push_back(arrays_of(tree));
  return all;
}

std::vector<std::int64_t> GrownTrees::n_leaves() const {
  std::vector<std::int64_t> all;
  for (const tree::Tree& tree : trees_)
    all.push_back(static_cast<std::int64_t>(tree.value.size()) / tree.n_outputs);
  return all;
}

double GrownTrees::take_steps(const std::string& loss, double parameter, double rate) {
  require(rate > 0.0, "rate must be positive");
  check_parameter(loss, parameter);
  return tree::take_steps(trees_, loss, parameter, rate);
}

void GrownTrees::add_to(OutMatrix<double> scores, Matrix<std::int32_t> leaf_of_row,
                        int n_threads) const {
  require(scores.shape(0) == size() && leaf_of_row.shape(0) == size() &&
              scores.shape(1) == leaf_of_row.shape(1),
          "scores and leaf_of_row must have the shape (trees, rows)");
  for (const tree::Tree& tree : trees_)
    require(tree.n_outputs == 1, "each tree of a round must have one output");
  bool sound = true;
  run(scores.size(), [&] {
    sound =
        tree::add_values_of(trees_, leaf_of_row.data(), static_cast<std::int64_t>(scores.shape(1)),
                            scores.data(), checked_threads(n_threads));
  });
  require(sound, "leaf_of_row contains an invalid leaf index");
}

namespace {

nb::dict join_trees(const std::vector<const GrownTrees*>& rounds) {
  std::vector<const tree::Tree*> trees;
  for (const GrownTrees* const one : rounds) {
    require(one != nullptr, "rounds must contain GrownTrees");
    for (const tree::Tree& tree : one->trees()) {
      require(trees.empty() || tree.n_outputs == trees[0]->n_outputs,
              "all trees must have the same number of outputs");
      trees.push_back(&tree);
    }
  }
  tree::JoinedTrees joined(trees);
  nb::dict arrays = arrays_of(std::move(joined.all));
  arrays["first_node"] = give(std::move(joined.first_node));
  arrays["first_leaf"] = give(std::move(joined.first_leaf));
  return arrays;
}

auto right_of(Vector<std::uint8_t> is_inner, Vector<std::int64_t> first_node) {
  const auto n_nodes = static_cast<std::int64_t>(is_inner.shape(0));
  const std::int64_t* const first = first_node.data();
  const std::size_t n = first_node.shape(0);
  require(n > 0 && first[0] == 0 && first[n - 1] == n_nodes && std::is_sorted(first, first + n),
          "first_node must increase from 0 to the number of nodes");
  for (std::size_t t = 1; t < n; ++t)
    require(first[t] - first[t - 1] <= std::numeric_limits<std::int32_t>::max(),
            "a tree has too many nodes");
  std::vector<std::int32_t> right(is_inner.shape(0));
  tree::write_right(is_inner.data(), first, static_cast<std::int64_t>(n) - 1, right.data());
  return give(std::move(right));
}

// The weight of each node of one or several trees: the sum of those of the leaves below it.
auto node_weights(Vector<std::int32_t> feature, Vector<std::int32_t> right, Vector<double> leaves,
                  Vector<std::int64_t> first_node, Vector<std::int64_t> first_leaf) {
  const auto ends_at = [&](const Vector<std::int64_t>& first, std::size_t size) {
    const std::int64_t *const begin = first.data(), *const end = begin + first.shape(0);
    return first.shape(0) > 0 && begin[0] == 0 && std::is_sorted(begin, end) &&
           end[-1] == static_cast<std::int64_t>(size);
  };
  require(right.shape(0) == feature.shape(0), "right must have one entry per node");
  require(ends_at(first_node, feature.shape(0)) && ends_at(first_leaf, leaves.shape(0)) &&
              first_node.shape(0) == first_leaf.shape(0),
          "first_node and first_leaf must increase from 0 to the numbers of nodes and leaves");
  std::vector<double> weight(feature.shape(0));
  for (std::size_t t = 0; t + 1 < first_node.shape(0); ++t) {
    const std::int64_t from = first_node.data()[t], n_nodes = first_node.data()[t + 1] - from,
                       leaf = first_leaf.data()[t], n_leaves = first_leaf.data()[t + 1] - leaf;
    const std::int32_t *const its_feature = feature.data() + from, *const its = right.data() + from;
    for (std::int64_t node = 0; node < n_nodes; ++node)
      require(its_feature[node] < 0 ? its[node] >= 0 && its[node] < n_leaves
                                    : its[node] > node + 1 && its[node] < n_nodes,
              "right must hold the later child of an inner node and the number of a leaf");
    tree::write_weights(its_feature, its, n_nodes, leaves.data() + leaf, weight.data() + from);
  }
  return give(std::move(weight));
}

}  // namespace

void bind_grown_trees(nb::module_& m) {
  nb::class_<GrownTrees>(m, "GrownTrees")
      .def("__len__", &GrownTrees::size)
      .def("arrays", &GrownTrees::arrays)
      .def("n_leaves", &GrownTrees::n_leaves)
      .def("take_steps", &GrownTrees::take_steps, "loss"_a, "parameter"_a, "rate"_a)
      .def("add_to", &GrownTrees::add_to, "scores"_a.noconvert(), "leaf_of_row"_a, "n_threads"_a);
  m.def("join_trees", &join_trees, "rounds"_a);
  m.def("right_of", &right_of, "is_inner"_a, "first_node"_a);
  m.def("node_weights", &node_weights, "feature"_a, "right"_a, "leaves"_a, "first_node"_a,
        "first_leaf"_a);
}

}  // namespace weald::bindings
