// The loop that grows small nodes of any kind of target to their leaves.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "forest/small_node_writer.hpp"
#include "forest/small_nodes.hpp"
#include "forest/small_search.hpp"

namespace weald::forest {

// T and Kind: see SmallSearch. W: the number of words of a node's sums; nodes whose sums fit half
// as many words continue with those (extra trees: 1.2x on a table of covertype's shape, 1.16x on
// digits).
template <class T, class Kind>
class SmallGrower final : public SmallNodes {
  using Search = SmallSearch<T, Kind>;
  using Sums = typename Kind::NodeSums;  // exact sums of a finished subtree; empty if not needed

 public:
  SmallGrower(const data::RankedTable& table, const T* values, data::ColumnSampler& columns,
              const target::Channels& channels, std::int64_t most_copies, std::int64_t max_depth)
      : SmallNodes(
            Kind::few_rows(table.stride() * static_cast<std::int64_t>(sizeof(T)),
                           Search::is_random && kernels::active().drawn->doubles.cut_columns),
            most_copies),
        max_depth_(max_depth > 0 ? max_depth : std::numeric_limits<std::int64_t>::max()),
        search_(table, values, columns, channels),
        kind_(search_.kind()),
        out_(table, kind_.n_outputs()) {}

  SmallNodes::NodeSums grow(const Root& root, tree::Tree& tree,
                            std::vector<std::uint32_t>* limits) override {
    out_.begin(tree, limits, root.n_rows);
    for (int i = 0; i < root.n_rows; ++i) kind_.put(i, root.rows[i]);
    const Sums sums = grow_in<Kind::most_words>(
        {0, root.n_rows, root.sums[0], root.depth, root.draws, kind_.constants_of(root.constants)},
        root.sums);
    out_.end(tree, limits, !Search::is_random);
    if constexpr (Kind::has_exact_sums)
      return sums;
    else
      return {};
  }

 private:
  using Range = SmallRange<typename Kind::Constants>;
  template <int W>
  using Node = SmallNode<typename Kind::template Sums<W>, typename Kind::Constants>;

  // A split whose right child is waiting or being grown.
  template <int W>
  struct Open {
    int place;
    bool has_left;  // `left` is set and the right child is being grown
    [[no_unique_address]] Sums left;
    Node<W> right;  // its draws are still those of the split
  };
  template <int W>
  using Stack = std::vector<Open<W>>;
  using Stacks = std::conditional_t<Kind::most_words == 1, std::tuple<Stack<1>>,
                                    std::tuple<Stack<1>, Stack<2>, Stack<4>>>;
  static_assert(Kind::most_words == 1 || Kind::most_words == 4);

  template <int W>
  Stack<W>& open() {
    return std::get<W / 2>(open_);
  }

  // In as few words as the node's counts fit. `sums`: Root::sums, unused by packed counts.
  template <int W>
  Sums grow_in(const Range& range, const std::int64_t* sums) {
    if constexpr (W > 1)
      if (fits<W / 2>(range)) return grow_in<W / 2>(range, sums);
    return grow_below<W>({range, kind_.template root_sums<W>(range.begin, range.n, sums)});
  }
  template <int W>
  bool fits(const Range& range) const {
    return range.weight <= kind_.template layout<W>().most_copies();
  }

  // Depth first, left child first. Not recursive (except to fewer words), because a tree may have
  // as many levels as rows and the stack of a thread may be small.
  template <int W>
  Sums grow_below(Node<W> node) {
    open<W>().clear();
    for (;;) {
      Sums sums;
      if (!split<W>(node, sums) && !go_on<W>(node, sums)) return sums;
    }
  }
  // Returns whether the node was split: then `node` is the child to grow next. Otherwise the node
  // and its subtree are finished.
  template <int W>
  bool split(Node<W>& node, Sums& sums) {
    if constexpr (W > 1)
      if (fits<W / 2>(node)) {
        sums = grow_in<W / 2>(node, nullptr);
        return false;
      }
    const int place = out_.open();
    if (node.n == 1 || node.depth >= max_depth_ ||
        kind_.is_pure(node.begin, node.n, node.sums, node.weight)) {
      sums = write_leaf(place, node.begin, node.n, node.sums, node.weight);
      return false;
    }
    if (node.n == 2) {
      sums = grow_two<W>(place, node);
      return false;
    }
    search_.find(node);
    if (search_.best().column < 0) {
      sums = write_leaf(place, node.begin, node.n, node.sums, node.weight);
      return false;
    }
    split_found<W>(place, node);
    return true;
  }
  template <int W>
  void split_found(int place, Node<W>& node) {
    const auto left = kind_.template kept<typename Node<W>::Sums>();
    out_.split(place, search_.best(), node.weight);
    if constexpr (!Kind::has_exact_sums) out_.gain(place) = kind_.gain(left, node.sums);
    const int n_left = search_.send(node);
    Node<W> right = node;
    right.begin += n_left;
    right.n -= n_left;
    right.weight -= left.w;
    ++right.depth;
    right.sums -= kind_.sums_of(left);
    if (n_left > 1) {
      open<W>().push_back({place, false, {}, right});
      node.n = n_left;
      node.weight = left.w;
      ++node.depth;
      node.sums = kind_.sums_of(left);
      node.draws = node.draws.child(false);
      return;
    }
    const Sums left_sums = write_leaf(out_.open(), node.begin, 1, kind_.sums_of(left), left.w);
    out_.right_is_next(place);
    if constexpr (Kind::has_exact_sums) open<W>().push_back({place, true, left_sums, right});
    node = right;
    node.draws = node.draws.child(true);
  }

  // After a subtree is finished: joins it with its left sibling, and so on upwards, until a split
  // whose right child is waiting. Returns whether there is one; `node` is then that child.
  template <int W>
  bool go_on(Node<W>& node, Sums& sums) {
    for (Stack<W>& open_splits = open<W>(); !open_splits.empty(); open_splits.pop_back()) {
      Open<W>& last = open_splits.back();
      if (last.has_left) {
        sums = join(last.left, sums, last.place);
        continue;
      }
      out_.right_is_next(last.place);
      if (last.right.n > 1) {
        node = last.right;
        node.draws = node.draws.child(true);
        last.has_left = true;
        last.left = sums;
        if constexpr (!Kind::has_exact_sums) open_splits.pop_back();  // nothing to join
        return true;
      }
      // Every second child is a single row and needs no node of its own.
      const Node<W>& right = last.right;
      sums =
          join(sums, write_leaf(out_.open(), right.begin, 1, right.sums, right.weight), last.place);
    }
    return false;
  }
  Sums join(const Sums& left, const Sums& right, int place) {
    if constexpr (Kind::has_exact_sums)
      return kind_.join(left, right, out_.gain(place));
    else
      return {};
  }

  template <int W>
  Sums grow_two(int place, const Node<W>& node) {
    SmallCut cut;
    const int first = search_.part_two(node, cut);
    if (first < 0) return write_leaf(place, node.begin, 2, node.sums, node.weight);
    const int left = node.begin + first, right = node.begin + 1 - first;
    out_.split(place, cut, node.weight);
    if constexpr (!Kind::has_exact_sums)
      out_.gain(place) = kind_.gain_of_two(left, right, node.sums);
    const Sums left_sums = write_row<W>(left);
    out_.right_is_next(place);
    return join(left_sums, write_row<W>(right), place);
  }
  template <int W>
  Sums write_row(int i) {
    typename Node<W>::Sums sums;
    kind_.add_row(sums, i);
    return write_leaf(out_.open(), i, 1, sums, kind_.copies(i));
  }
  template <class RowSums>
  Sums write_leaf(int place, int begin, int n, const RowSums& sums, std::int64_t weight) {
    double* const value = out_.leaf(place, weight);
    return kind_.write_leaf(begin, n, sums, weight, value, out_.gain(place));
  }

  std::int64_t max_depth_;
  Search search_;
  Kind& kind_;
  SmallNodeWriter<Kind::most_rows> out_;
  Stacks open_;
};

using MakeSmallNodes = std::unique_ptr<SmallNodes>(const data::RankedTable&, data::ColumnSampler&,
                                                   const target::Channels&, std::int64_t);
// Null if there are too many classes for packed counts.
template <class Kind>
std::unique_ptr<SmallNodes> make_small_nodes(const data::RankedTable& table,
                                             data::ColumnSampler& columns,
                                             const target::Channels& channels,
                                             std::int64_t max_depth) {
  constexpr std::int64_t least_copies = 64;
  const std::int64_t most_copies = Kind::most_copies(channels);
  if (most_copies < least_copies) return nullptr;
  const auto over = [&](const auto* values) -> std::unique_ptr<SmallNodes> {
    using T = std::remove_cvref_t<decltype(*values)>;
    return std::make_unique<SmallGrower<T, Kind>>(table, values, columns, channels, most_copies,
                                                  max_depth);
  };
  return table.keeps_values() ? table.with_values(over) : over(table.ranks());
}

}  // namespace weald::forest
