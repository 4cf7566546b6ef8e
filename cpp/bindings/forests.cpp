// Growing the members of a forest.
#include "bindings/border.hpp"
#include "criteria/criteria.hpp"
#include "parallel.hpp"
#include "woodland.hpp"

namespace weald::border {
namespace {

constexpr std::int64_t most_copies = std::int64_t{1} << 36;  // weald.data.rows.MOST_COPIES

std::int64_t checked_mass(const std::int64_t* mass, std::int64_t n_rows, std::int64_t most) {
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    require(mass[row] >= 0 && mass[row] <= most - total, "copies or masses out of range");
    total += mass[row];
  }
  require(total > 0, "no row has any copies or mass");
  return total;
}

// A table as ranks, made once for all forests on it.
class RankedTable {
 public:
  template <class T>
  RankedTable(AnyTable<T> table, Vector<std::int64_t> index,
              std::optional<Vector<std::int64_t>> mass, int n_threads, bool keeps_values) {
    const auto view = table_of(table);
    require(view.n_rows >= 1 && view.n_columns >= 1, "a table must have rows and columns");
    require(view.n_columns <= std::numeric_limits<int>::max(), "a table has too many columns");
    const auto n_rows = static_cast<std::int64_t>(index.shape(0));
    require(n_rows >= 1 && n_rows <= view.n_rows, "index must name rows of the table");
    for (std::int64_t i = 0; i < n_rows; ++i)
      require(index.data()[i] >= 0 && index.data()[i] < view.n_rows,
              "index must name rows of the table");
    const auto* const counts = data_or_null(mass, n_rows, "mass must have one entry per row");
    if (counts) checked_mass(counts, n_rows, std::int64_t{1} << 61);
    const int threads = checked_threads(n_threads);
    run([&] {
      ranked = std::make_shared<const weald::RankedTable>(view, index.data(), n_rows, counts,
                                                          threads, keeps_values);
    });
  }

  std::vector<int> n_ranks() const {
    std::vector<int> all;
    for (int c = 0; c < ranked->n_columns(); ++c) all.push_back(ranked->n_ranks(c));
    return all;
  }

  std::shared_ptr<const weald::RankedTable> ranked;
};

// How a forest's members draw their rows; the bag of any of them can be drawn again.
class Bootstrap {
 public:
  Bootstrap(std::optional<Vector<std::int64_t>> mass, std::int64_t n_rows, std::int64_t n_draws,
            std::uint64_t seed)
      : n_rows_(n_rows) {
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a table must have between 1 and 2^32 - 2 rows");
    require(n_draws >= 1 && n_draws <= most_copies, "n_draws must be in [1, 2^36]");
    const auto* const masses = data_or_null(mass, n_rows, "mass must have one entry per row");
    if (masses) checked_mass(masses, n_rows, std::int64_t{1} << 61);
    run([&] { drawer = std::make_shared<const weald::Bootstrap>(masses, n_rows, n_draws, seed); });
  }

  auto draw(std::uint64_t member) const {
    std::vector<std::int64_t> copies(static_cast<std::size_t>(n_rows_));
    run([&] { drawer->draw(member, copies.data()); });
    return give(std::move(copies));
  }

  std::int64_t n_rows() const { return n_rows_; }
  std::shared_ptr<const weald::Bootstrap> drawer;

 private:
  std::int64_t n_rows_;
};

class ForestParams {
 public:
  ForestParams(std::string of_criterion, std::uint64_t seed, int max_features, bool columns_of_tree,
               bool random_cuts, double min_decrease, double min_weight_share,
               std::int64_t max_leaf_nodes, std::int64_t max_depth, std::int64_t min_samples_split,
               std::int64_t min_samples_leaf, bool balances_bags, bool hard_votes, int n_threads)
      : criterion(std::move(of_criterion)) {
    require(weald::AllCriteria::with_name(criterion, [](auto) {}), "unknown criterion");
    require(criterion != weald::Newton::name, "forests know no newton criterion");
    require(max_leaf_nodes >= 0 && max_depth >= 0, "limits must not be negative");
    forest = {seed, max_features, columns_of_tree, random_cuts, min_decrease, min_weight_share};
    tree.max_leaf_nodes = max_leaf_nodes;
    tree.max_depth = max_depth;
    tree.min_samples_split = min_samples_split;
    tree.split.min_samples_leaf = min_samples_leaf;
    tree.split.min_gain = -std::numeric_limits<double>::infinity();
    tree.n_threads = checked_threads(n_threads);
    members = {balances_bags, hard_votes};
  }

  std::string criterion;
  weald::ForestParams forest;
  weald::TreeParams tree;
  weald::WoodlandParams members;
};

// One array of all trees; each copies its part side by side, into large pages.
template <class T>
weald::LargeVector<T> joined(const std::vector<weald::Tree>& trees,
                             std::vector<T> weald::Tree::* part, int n_threads) {
  std::vector<std::size_t> begin{0};
  for (const weald::Tree& tree : trees) begin.push_back(begin.back() + (tree.*part).size());
  weald::LargeVector<T> all(begin.back());
  weald::parallel_for(static_cast<std::int64_t>(trees.size()), n_threads, [&](std::int64_t i, int) {
    std::copy((trees[i].*part).begin(), (trees[i].*part).end(), all.begin() + begin[i]);
  });
  return all;
}

// The trees one after another, as `weald.trees.Forest` keeps them. They have no sets of levels.
struct Joined {
  Joined(std::vector<weald::Tree> trees, int n_threads)
      : n_outputs(static_cast<std::size_t>(trees[0].n_outputs)) {
    feature = joined(trees, &weald::Tree::feature, n_threads);
    threshold = joined(trees, &weald::Tree::threshold, n_threads);
    right = joined(trees, &weald::Tree::right, n_threads);
    missing_left = joined(trees, &weald::Tree::missing_left, n_threads);
    weight = joined(trees, &weald::Tree::weight, n_threads);
    gain = joined(trees, &weald::Tree::gain, n_threads);
    value = joined(trees, &weald::Tree::value, n_threads);
    for (const weald::Tree& tree : trees) {
      first_node.push_back(first_node.back() + static_cast<std::int64_t>(tree.feature.size()));
      first_leaf.push_back(first_leaf.back() +
                           static_cast<std::int64_t>(tree.value.size() / n_outputs));
    }
  }

  nb::dict give_all() {
    const std::size_t n_leaves = value.size() / n_outputs;
    nb::dict result;
    result["feature"] = give(std::move(feature));
    result["threshold"] = give(std::move(threshold));
    result["right"] = give(std::move(right));
    result["missing_left"] = give(std::move(missing_left));
    result["weight"] = give(std::move(weight));
    result["gain"] = give(std::move(gain));
    result["value"] = give(std::move(value), {n_leaves, n_outputs});
    result["first_node"] = give(std::move(first_node));
    result["first_leaf"] = give(std::move(first_leaf));
    return result;
  }

  std::size_t n_outputs;
  weald::LargeVector<std::int32_t> feature, right;
  weald::LargeVector<double> threshold, weight, gain, value;
  weald::LargeVector<std::uint8_t> missing_left;
  std::vector<std::int64_t> first_node{0}, first_leaf{0};
};

// Grows members first .. first + n_trees - 1 of a forest. With `bootstrap`, `copies` are not looked
// at. `oob_sums` (rows, outputs) and `oob_counts` (rows) are added to.
nb::dict grow_forest(const RankedTable& table, const ForestParams& params,
                     const Bootstrap* bootstrap, std::optional<Vector<double>> weight,
                     std::optional<Vector<double>> values,
                     std::optional<Vector<std::int32_t>> classes, int n_classes,
                     std::optional<Vector<std::int64_t>> copies, std::uint64_t first,
                     std::int64_t n_trees, std::optional<OutMatrix<double>> oob_sums,
                     std::optional<OutVector<std::int32_t>> oob_counts) {
  const std::int64_t n_rows = table.ranked->n_rows();
  weald::Target target;
  target.weight = data_or_null(weight, n_rows, "weight must have one entry per row");
  target.copies = data_or_null(copies, n_rows, "copies must have one entry per row");
  target.sums = data_or_null(values, n_rows, "values must have one entry per row");
  target.sums_per_weight = true;
  require(values.has_value() != classes.has_value(), "give either values or classes");
  require(params.criterion != weald::Entropy::name || classes, "entropy is of classes");
  require(!params.members.balances_bags || classes, "only classes can be balanced");
  if (classes) {
    target.classes = data_or_null(classes, n_rows, "classes must have one entry per row");
    target.n_channels = n_classes;
    for (std::int64_t row = 0; row < n_rows; ++row)
      require(target.classes[row] >= 0 && target.classes[row] < n_classes,
              "classes must be in [0, n_classes)");
  }
  if (target.copies) checked_mass(target.copies, n_rows, most_copies);
  require(!bootstrap || bootstrap->n_rows() == n_rows, "the bootstrap is of another table");
  require(n_trees >= 1 && n_trees <= 1'000'000, "n_trees must be in [1, 1000000]");
  weald::OutOfBag out_of_bag;
  require(oob_sums.has_value() == oob_counts.has_value() && (!oob_sums || bootstrap),
          "out-of-bag sums and counts belong together, and to a bootstrap");
  if (oob_sums) {
    require(static_cast<std::int64_t>(oob_sums->shape(0)) == n_rows &&
                static_cast<int>(oob_sums->shape(1)) == target.n_channels &&
                static_cast<std::int64_t>(oob_counts->shape(0)) == n_rows,
            "out-of-bag sums must have the shape (rows, outputs), counts (rows,)");
    out_of_bag = {oob_sums->data(), oob_counts->data()};
  }
  std::optional<Joined> forest;
  run([&] {
    weald::Woodland woodland(table.ranked, bootstrap ? bootstrap->drawer : nullptr, params.forest,
                             params.members, params.criterion, params.tree);
    forest.emplace(woodland.grow(target, first, n_trees, out_of_bag), params.tree.n_threads);
  });
  return forest->give_all();
}

}  // namespace

void bind_forests(nb::module_& m) {
  using Mass = std::optional<Vector<std::int64_t>>;
  nb::class_<RankedTable>(m, "RankedTable")
      .def(nb::init<AnyTable<float>, Vector<std::int64_t>, Mass, int, bool>(),
           "table"_a.noconvert(), "index"_a, "mass"_a.none(), "n_threads"_a,
           "keeps_values"_a = false)
      .def(nb::init<AnyTable<double>, Vector<std::int64_t>, Mass, int, bool>(),
           "table"_a.noconvert(), "index"_a, "mass"_a.none(), "n_threads"_a,
           "keeps_values"_a = false)
      .def("n_ranks", &RankedTable::n_ranks);
  nb::class_<Bootstrap>(m, "Bootstrap")
      .def(nb::init<Mass, std::int64_t, std::int64_t, std::uint64_t>(), "mass"_a.none(), "n_rows"_a,
           "n_draws"_a, "seed"_a)
      .def("draw", &Bootstrap::draw, "member"_a);
  nb::class_<ForestParams>(m, "ForestParams")
      .def(nb::init<std::string, std::uint64_t, int, bool, bool, double, double, std::int64_t,
                    std::int64_t, std::int64_t, std::int64_t, bool, bool, int>(),
           nb::kw_only(), "criterion"_a, "seed"_a, "max_features"_a, "columns_of_tree"_a,
           "random_cuts"_a, "min_decrease"_a, "min_weight_share"_a, "max_leaf_nodes"_a,
           "max_depth"_a, "min_samples_split"_a, "min_samples_leaf"_a, "balances_bags"_a,
           "hard_votes"_a, "n_threads"_a);
  m.def("grow_forest", &grow_forest, nb::kw_only(), "table"_a, "params"_a, "bootstrap"_a.none(),
        "weight"_a.none(), "values"_a.none(), "classes"_a.none(), "n_classes"_a, "copies"_a.none(),
        "first"_a, "n_trees"_a, "oob_sums"_a.noconvert().none(), "oob_counts"_a.noconvert().none());
}

}  // namespace weald::border
