#include "forest_class_thicket.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "class_search.hpp"

namespace weald {
namespace {

constexpr int least_few = 64;  // copies that must fit

template <class Impurity>
std::int64_t most_copies(const Channels& channels) {
  return ClassLayout<ClassJudge<Impurity>::most_words>(channels.n_channels()).most_copies();
}

// As nodes get smaller, counts of classes need fewer words: W.
template <class T, class Impurity>
class ClassThicket final : public Thicket {
 public:
  ClassThicket(const RankedTable& table, DrawnColumns& columns, const Channels& channels,
               std::int64_t max_depth)
      : Thicket(Search::few_rows, most_copies<Impurity>(channels)),
        n_classes_(channels.n_channels()),
        max_depth_(max_depth > 0 ? max_depth : std::numeric_limits<std::int64_t>::max()),
        search_(table, columns, channels),
        out_(table, n_classes_) {}

  Weighed grow(const Root& root, Tree& tree, std::vector<std::uint32_t>* limits) override {
    out_.begin(tree, limits, root.n_rows);
    const Varied varied = search_.lay_rows(root);
    grow_in<Search::most_words>({0, root.n_rows, root.sums[0], root.depth, root.draws}, varied);
    out_.end(tree, limits, !Search::is_drawn);
    return {};
  }

 private:
  using Search = ClassSearch<T, Impurity>;
  using Rows = typename Search::Rows;
  using Node = typename Search::Node;
  using Varied = typename Search::Varied;

  template <int W>
  const ClassLayout<W>& layout() const {
    return search_.judge().template layout<W>();
  }

  // In as few words as the node's copies fit.
  template <int W>
  void grow_in(const Node& node, const Varied& varied) {
    if constexpr (W > 1)
      if (node.weight <= layout<W / 2>().most_copies()) return grow_in<W / 2>(node, varied);
    const auto total = search_.rows().lay_counts(layout<W>(), node.begin, node.n);
    grow_node<W>(node, total, varied);
  }

  // Depth first: the left child is the next node.
  template <int W>
  void grow_node(const Node& node, const ClassCounts<W>& total, Varied varied) {
    if constexpr (W > 1)
      if (node.weight <= layout<W / 2>().most_copies()) return grow_in<W / 2>(node, varied);
    const int place = out_.open();
    const int first = Rows::class_of(*search_.rows().rows(node.begin));
    if (layout<W>().count(total, layout<W>().word_of(first), layout<W>().shift_of(first)) ==
        node.weight)
      return write_pure_leaf(place, first, node.weight);
    if (node.depth >= max_depth_) return write_leaf<W>(place, total, node.weight);
    if (node.n == 2) return grow_pair<W>(place, node, total);
    search_.template find<W>(node, total, varied);
    const auto& best = search_.best();
    if (best.column < 0) return write_leaf<W>(place, total, node.weight);
    ClassLeft<W> left{{}, best.left.weight, best.left.left_terms, best.left.right_terms};
    std::copy_n(best.left.counts.words.begin(), W, left.counts.words.begin());
    ClassCounts<W> right = total;
    right -= left.counts;
    out_.split(place, best, node.weight);
    out_.gain(place) = search_.judge().gain(left, total);
    const std::int64_t depth = node.depth + 1;
    const int n_left = search_.template send<W>(node);
    grow_node<W>({node.begin, n_left, left.weight, depth, node.draws.child(false)}, left.counts,
                 varied);
    out_.right_is_next(place);
    grow_node<W>({node.begin + n_left, node.n - n_left, node.weight - left.weight, depth,
                  node.draws.child(true)},
                 right, varied);
  }

  template <int W>
  void grow_pair(int place, const Node& node, const ClassCounts<W>& total) {
    SmallCut cut;
    const int first = search_.part_two(node, cut);
    if (first < 0) return write_leaf<W>(place, total, node.weight);
    const std::uint64_t* const rows = search_.rows().rows(node.begin);
    const std::uint64_t left = rows[first], right = rows[1 - first];
    const std::int64_t n_left = Rows::copies_of(left), n_right = Rows::copies_of(right);
    out_.split(place, cut, node.weight);
    out_.gain(place) = search_.judge().gain_of_pair(n_left, n_right, total);
    write_pure_leaf(out_.open(), Rows::class_of(left), n_left);
    out_.right_is_next(place);
    write_pure_leaf(out_.open(), Rows::class_of(right), n_right);
  }

  void write_pure_leaf(int place, int k, std::int64_t weight) {
    double* const value = out_.leaf(place, weight);
    std::fill_n(value, n_classes_, 0.0);
    value[k] = 1.0;
  }
  template <int W>
  void write_leaf(int place, const ClassCounts<W>& total, std::int64_t weight) {
    double* const value = out_.leaf(place, weight);
    layout<W>().each(total, n_classes_, [&](int k, std::int64_t n) {
      value[k] = static_cast<double>(n) / static_cast<double>(weight);
    });
  }

  int n_classes_;
  std::int64_t max_depth_;
  Search search_;
  ThicketWriter<Search::few_rows> out_;
};

}  // namespace

template <class Impurity>
std::unique_ptr<Thicket> make_class_thicket(const RankedTable& table, DrawnColumns& columns,
                                            const Channels& channels, std::int64_t max_depth) {
  if (most_copies<Impurity>(channels) < least_few) return nullptr;
  const auto over = [&](const auto* values) -> std::unique_ptr<Thicket> {
    using T = std::remove_cvref_t<decltype(*values)>;
    return std::make_unique<ClassThicket<T, Impurity>>(table, columns, channels, max_depth);
  };
  return table.keeps_values() ? table.with_values(over) : over(table.ranks());
}
template std::unique_ptr<Thicket> make_class_thicket<GiniOfCounts>(const RankedTable&,
                                                                   DrawnColumns&, const Channels&,
                                                                   std::int64_t);
template std::unique_ptr<Thicket> make_class_thicket<EntropyOfCounts>(const RankedTable&,
                                                                      DrawnColumns&,
                                                                      const Channels&,
                                                                      std::int64_t);

}  // namespace weald
