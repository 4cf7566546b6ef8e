// Shapley values of trees.
#include <cmath>

#include "bindings/border.hpp"
#include "bindings/forest_arrays.hpp"
#include "explain/background_shap.hpp"
#include "explain/tree_shap.hpp"

namespace weald::bindings {
namespace {

void check_players(const Vector<std::int32_t>& player, std::int64_t n_columns,
                   std::int64_t n_players) {
  require(static_cast<std::int64_t>(player.shape(0)) == n_columns,
          "player must have one entry per column");
  require(n_players >= 1 && n_players <= std::numeric_limits<std::int32_t>::max(),
          "n_players must be in [1, 2^31)");
  require(std::all_of(player.data(), player.data() + n_columns,
                      [&](std::int32_t one) { return one >= 0 && one < n_players; }),
          "players must be in [0, n_players)");
}

void check_outputs(const std::vector<int>& outputs, const tree::Forest& forest) {
  require(std::all_of(outputs.begin(), outputs.end(),
                      [&](int one) { return one >= 0 && one < forest.n_outputs; }),
          "outputs must be those of the forest");
}

class TreeShap {
 public:
  TreeShap(Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> right,
           Vector<std::uint8_t> missing_left, Matrix<double> value, Vector<std::int64_t> first_node,
           Vector<std::int64_t> first_leaf, Vector<std::int32_t> output, Vector<double> tree_weight,
           Vector<double> base_score, Vector<std::int32_t> category_set,
           Vector<std::int64_t> first_word, Vector<std::uint64_t> words, std::int64_t n_columns,
           Vector<double> weight, Vector<std::int32_t> player, std::int64_t n_players)
      : held_(std::move(feature), std::move(threshold), std::move(right), std::move(missing_left),
              std::move(value), std::move(first_node), std::move(first_leaf), std::move(output),
              std::move(tree_weight), std::move(base_score), std::move(category_set),
              std::move(first_word), std::move(words), n_columns),
        weight_(std::move(weight)),
        player_(std::move(player)),
        n_columns_(n_columns),
        n_players_(n_players) {
    require(static_cast<std::int64_t>(weight_.shape(0)) == held_.forest().n_nodes,
            "weight must have one entry per node");
    require(std::all_of(weight_.data(), weight_.data() + weight_.shape(0),
                        [](double one) { return one >= 0.0 && std::isfinite(one); }),
            "weights must be finite and not negative");
    check_players(player_, n_columns, n_players);
    run([&] {
      shap_ = std::make_unique<explain::TreeShap>(held_.forest(), weight_.data(), player_.data(),
                                                  n_columns, n_players);
    });
  }

  auto expected() const {
    std::vector<double> scores(static_cast<std::size_t>(held_.forest().n_outputs));
    run([&] { shap_->expected(scores.data()); });
    return give(std::move(scores));
  }

  template <class T>
  auto values(AnyTable<T> table, const std::vector<int>& outputs, int n_threads) const {
    auto phi = explained(table, outputs, false, n_threads);
    return give(std::move(phi), {table.shape(0), players(), outputs.size()});
  }

  template <class T>
  auto interactions(AnyTable<T> table, const std::vector<int>& outputs, int n_threads) const {
    auto phi = explained(table, outputs, true, n_threads);
    return give(std::move(phi), {table.shape(0), players(), players(), outputs.size()});
  }

  int most_players() const { return shap_->most_players(); }

 private:
  std::size_t players() const { return static_cast<std::size_t>(n_players_); }

  template <class T>
  LargeVector<double> explained(const AnyTable<T>& table, const std::vector<int>& outputs,
                                bool has_pairs, int n_threads) const {
    const auto view = table_of(table);
    require(view.n_columns == n_columns_, "the table must have as many columns as the model");
    require(shap_->most_players() <= explain::TreeShap::most_players_of_path,
            "a path has more than 1024 different columns");
    check_outputs(outputs, held_.forest());
    const int threads = checked_threads(n_threads);
    const std::size_t width = players() * (has_pairs ? players() : 1);
    LargeVector<double> phi;
    run([&] {
      phi.assign(table.shape(0) * width * outputs.size(), 0.0);
      if (!phi.empty()) shap_->explain(view, outputs, has_pairs, phi.data(), threads);
    });
    return phi;
  }

  ForestArrays held_;
  Vector<double> weight_;
  Vector<std::int32_t> player_;
  std::int64_t n_columns_, n_players_;
  std::unique_ptr<explain::TreeShap> shap_;
};

class BackgroundShap {
 public:
  BackgroundShap(Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> right,
                 Vector<std::uint8_t> missing_left, Matrix<double> value,
                 Vector<std::int64_t> first_node, Vector<std::int64_t> first_leaf,
                 Vector<std::int32_t> output, Vector<double> tree_weight, Vector<double> base_score,
                 Vector<std::int32_t> category_set, Vector<std::int64_t> first_word,
                 Vector<std::uint64_t> words, std::int64_t n_columns, Vector<std::int32_t> player,
                 std::int64_t n_players)
      : held_(std::move(feature), std::move(threshold), std::move(right), std::move(missing_left),
              std::move(value), std::move(first_node), std::move(first_leaf), std::move(output),
              std::move(tree_weight), std::move(base_score), std::move(category_set),
              std::move(first_word), std::move(words), n_columns),
        player_(std::move(player)),
        n_columns_(n_columns),
        n_players_(n_players) {
    check_players(player_, n_columns, n_players);
    run([&] {
      shap_ = std::make_unique<explain::BackgroundShap>(held_.forest(), player_.data(), n_columns,
                                                        n_players);
    });
  }

  template <class T>
  auto values(AnyTable<T> table, AnyTable<double> background, const std::vector<int>& outputs,
              int n_threads, const std::string& engine) const {
    using Engine = explain::BackgroundShap::Engine;
    require(engine == "automatic" || engine == "patterns" || engine == "pairs", "unknown engine");
    require(engine != "patterns" || shap_->has_patterns(),
            "these trees are too deep for engine='patterns'");
    const Engine chosen = engine == "automatic"  ? Engine::automatic
                          : engine == "patterns" ? Engine::patterns
                                                 : Engine::pairs;
    const auto view = table_of(table), other = table_of(background);
    require(view.n_columns == n_columns_ && other.n_columns == n_columns_,
            "the tables must have as many columns as the model");
    require(other.n_rows >= 1, "the background must have at least one row");
    check_outputs(outputs, held_.forest());
    const int threads = checked_threads(n_threads);
    const auto n_players = static_cast<std::size_t>(n_players_);
    LargeVector<double> phi;
    run([&] {
      phi.assign(table.shape(0) * n_players * outputs.size(), 0.0);
      if (!phi.empty()) shap_->explain(view, other, outputs, phi.data(), threads, chosen);
    });
    return give(std::move(phi), {table.shape(0), n_players, outputs.size()});
  }

 private:
  ForestArrays held_;
  Vector<std::int32_t> player_;
  std::int64_t n_columns_, n_players_;
  std::unique_ptr<explain::BackgroundShap> shap_;
};

}  // namespace

void bind_explain(nb::module_& m) {
  nb::class_<TreeShap>(m, "TreeShap")
      .def(nb::init<Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>,
                    Vector<std::uint8_t>, Matrix<double>, Vector<std::int64_t>,
                    Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, Vector<double>,
                    Vector<std::int32_t>, Vector<std::int64_t>, Vector<std::uint64_t>, std::int64_t,
                    Vector<double>, Vector<std::int32_t>, std::int64_t>(),
           nb::kw_only(), "feature"_a, "threshold"_a, "right"_a, "missing_left"_a, "value"_a,
           "first_node"_a, "first_leaf"_a, "output"_a, "tree_weight"_a, "base_score"_a,
           "category_set"_a, "first_word"_a, "words"_a, "n_columns"_a, "weight"_a, "player"_a,
           "n_players"_a)
      .def("most_players", &TreeShap::most_players)
      .def("expected", &TreeShap::expected)
      .def("values", &TreeShap::values<float>, "table"_a.noconvert(), "outputs"_a, "n_threads"_a)
      .def("values", &TreeShap::values<double>, "table"_a.noconvert(), "outputs"_a, "n_threads"_a)
      .def("interactions", &TreeShap::interactions<float>, "table"_a.noconvert(), "outputs"_a,
           "n_threads"_a)
      .def("interactions", &TreeShap::interactions<double>, "table"_a.noconvert(), "outputs"_a,
           "n_threads"_a);

  nb::class_<BackgroundShap>(m, "BackgroundShap")
      .def(
          nb::init<Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>, Vector<std::uint8_t>,
                   Matrix<double>, Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int32_t>,
                   Vector<double>, Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>,
                   Vector<std::uint64_t>, std::int64_t, Vector<std::int32_t>, std::int64_t>(),
          nb::kw_only(), "feature"_a, "threshold"_a, "right"_a, "missing_left"_a, "value"_a,
          "first_node"_a, "first_leaf"_a, "output"_a, "tree_weight"_a, "base_score"_a,
          "category_set"_a, "first_word"_a, "words"_a, "n_columns"_a, "player"_a, "n_players"_a)
      .def("values", &BackgroundShap::values<float>, "table"_a.noconvert(),
           "background"_a.noconvert(), "outputs"_a, "n_threads"_a, "engine"_a = "automatic")
      .def("values", &BackgroundShap::values<double>, "table"_a.noconvert(),
           "background"_a.noconvert(), "outputs"_a, "n_threads"_a, "engine"_a = "automatic");
}

}  // namespace weald::bindings
