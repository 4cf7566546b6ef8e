#include "forest/small_class_nodes.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "forest/class_search.hpp"

namespace weald::forest {
namespace {

constexpr int least_few = 64;  // copies that must fit

template <class Impurity>
std::int64_t most_copies(const target::Channels& channels) {
  return ClassLayout<ClassJudge<Impurity>::most_words>(channels.n_channels()).most_copies();
}

// As nodes get smaller, counts of classes need fewer words: W.
template <class T, class Impurity>
class SmallClassNodes final : public SmallNodes {
 public:
  SmallClassNodes(const data::RankedTable& table, data::ColumnSampler& columns,
                  const target::Channels& channels, std::int64_t max_depth)
      : SmallNodes(Search::few_rows, most_copies<Impurity>(channels)),
        n_classes_(channels.n_channels()),
        max_depth_(max_depth > 0 ? max_depth : std::numeric_limits<std::int64_t>::max()),
        search_(table, columns, channels),
        out_(table, n_classes_) {}

  Weighed grow(const Root& root, tree::Tree& tree, std::vector<std::uint32_t>* limits) override {
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

  // A node that waits.
  template <int W>
  struct Open {
    Node node;
    ClassCounts<W> total;
    Varied varied;
    int parent;  // of which it is the right child; -1: it is a left one
  };

  // In as few words as the node's copies fit.
  template <int W>
  void grow_in(const Node& node, const Varied& varied) {
    if constexpr (W > 1)
      if (node.weight <= layout<W / 2>().most_copies()) return grow_in<W / 2>(node, varied);
    grow_below<W>({node, search_.rows().lay_counts(layout<W>(), node.begin, node.n), varied, -1});
  }

  // Depth first: the left child is the next node. Without recursion, because there may be as many
  // levels as rows, and the stack of a thread may be small.
  template <int W>
  void grow_below(const Open<W>& root) {
    auto& open = std::get<std::vector<Open<W>>>(open_);
    open.assign(1, root);
    while (!open.empty()) {
      if (open.back().parent >= 0) out_.right_is_next(open.back().parent);
      if (!split(open)) open.pop_back();
    }
  }
  // Tells whether the last node was split: then its right child is in its place, and its left one
  // behind that.
  template <int W>
  bool split(std::vector<Open<W>>& open) {
    if (is_grown_otherwise(open.back())) return false;
    const int place = out_.open();
    if (is_leaf(place, open.back())) return false;
    Open<W>& parent = open.back();
    search_.template find<W>(parent.node, parent.total, parent.varied);
    const auto& best = search_.best();
    if (best.column < 0) {
      write_leaf<W>(place, parent.total, parent.node.weight);
      return false;
    }
    ClassLeft<W> left{{}, best.left.weight, best.left.left_terms, best.left.right_terms};
    std::copy_n(best.left.counts.words.begin(), W, left.counts.words.begin());
    out_.split(place, best, parent.node.weight);
    out_.gain(place) = search_.judge().gain(left, parent.total);
    const int n_left = search_.template send<W>(parent.node);
    const Node node = parent.node;
    parent.parent = place;
    parent.total -= left.counts;
    parent.node = {node.begin + n_left, node.n - n_left, node.weight - left.weight, node.depth + 1,
                   node.draws.child(true)};
    open.push_back({{node.begin, n_left, left.weight, node.depth + 1, node.draws.child(false)},
                    left.counts,
                    parent.varied,
                    -1});
    return true;
  }
  // Grows, in fewer words, a node that fits them, with all below it.
  template <int W>
  bool is_grown_otherwise([[maybe_unused]] const Open<W>& next) {
    if constexpr (W > 1)
      if (next.node.weight <= layout<W / 2>().most_copies()) {
        grow_in<W / 2>(next.node, next.varied);
        return true;
      }
    return false;
  }
  // Writes a node that need not be searched.
  template <int W>
  bool is_leaf(int place, const Open<W>& next) {
    const Node& node = next.node;
    const int first = Rows::class_of(*search_.rows().rows(node.begin));
    if (layout<W>().count(next.total, layout<W>().word_of(first), layout<W>().shift_of(first)) ==
        node.weight) {
      write_pure_leaf(place, first, node.weight);
    } else if (node.depth >= max_depth_) {
      write_leaf<W>(place, next.total, node.weight);
    } else if (node.n == 2) {
      grow_pair<W>(place, node, next.total);
    } else {
      return false;
    }
    return true;
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
  SmallNodeWriter<Search::few_rows> out_;
  static_assert(Search::most_words == 4);
  std::tuple<std::vector<Open<1>>, std::vector<Open<2>>, std::vector<Open<4>>> open_;
};

}  // namespace

template <class Impurity>
std::unique_ptr<SmallNodes> make_small_class_nodes(const data::RankedTable& table,
                                                   data::ColumnSampler& columns,
                                                   const target::Channels& channels,
                                                   std::int64_t max_depth) {
  if (most_copies<Impurity>(channels) < least_few) return nullptr;
  const auto over = [&](const auto* values) -> std::unique_ptr<SmallNodes> {
    using T = std::remove_cvref_t<decltype(*values)>;
    return std::make_unique<SmallClassNodes<T, Impurity>>(table, columns, channels, max_depth);
  };
  return table.keeps_values() ? table.with_values(over) : over(table.ranks());
}
template std::unique_ptr<SmallNodes> make_small_class_nodes<criteria::GiniOfCounts>(
    const data::RankedTable&, data::ColumnSampler&, const target::Channels&, std::int64_t);
template std::unique_ptr<SmallNodes> make_small_class_nodes<criteria::EntropyOfCounts>(
    const data::RankedTable&, data::ColumnSampler&, const target::Channels&, std::int64_t);

}  // namespace weald::forest
