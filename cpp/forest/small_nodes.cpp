#include "forest/small_nodes.hpp"

#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "forest/small_class_nodes.hpp"
#include "forest/small_node_writer.hpp"
#include "forest/small_search.hpp"

namespace weald::forest {
namespace {

// T and Kind: as of SmallSearch.
template <class T, class Kind>
class SmallNodesOf final : public SmallNodes {
  using Search = SmallSearch<T, Kind>;

 public:
  SmallNodesOf(const data::RankedTable& table, const T* values, data::ColumnSampler& columns,
               const target::Channels& channels, std::int64_t max_depth)
      : SmallNodes(Search::is_drawn && kernels::active().drawn
                       ? Search::most_rows
                       : rows_that_stay_near(table.stride() * static_cast<std::int64_t>(sizeof(T))),
                   Kind::most_copies),
        max_depth_(max_depth > 0 ? max_depth : std::numeric_limits<std::int64_t>::max()),
        search_(table, values, columns, channels),
        kind_(search_.kind()),
        out_(table, Kind::n_outputs) {}

  Weighed grow(const Root& root, tree::Tree& tree, std::vector<std::uint32_t>* limits) override {
    out_.begin(tree, limits, root.n_rows);
    const Weighed weighed = grow_below({search_.lay_rows(root),
                                        root.n_rows,
                                        {root.sums[0], root.sums[Kind::n_outputs]},
                                        root.draws,
                                        root.known,
                                        root.depth});
    out_.end(tree, limits, !Search::is_drawn);
    return weighed;
  }

 private:
  struct Node {
    SmallRow* rows;
    int n;
    criteria::PairLeft total;
    Draws draws;
    data::ConstantFeatures known;
    std::int64_t depth;
  };
  // A split that is not complete: its right child waits, or is being grown.
  struct Open {
    int place;
    bool has_left;
    Weighed left;
    Node right;  // its draws are still those of the split
  };

  // Depth first: the left child is the next node. Without recursion, because there may be as many
  // levels as rows, and the stack of a thread may be small.
  Weighed grow_below(Node node) {
    open_.clear();
    for (;;) {
      Weighed weighed;
      if (!split(node, weighed) && !go_on(node, weighed)) return weighed;
    }
  }
  // Tells whether the node was split: then it is now the child to be grown next. If not, it is
  // grown.
  bool split(Node& node, Weighed& weighed) {
    const auto is_grown = [&](const Weighed& leaf) {
      weighed = leaf;
      return false;
    };
    SmallRow* const rows = node.rows;
    const int place = out_.open();
    if (node.n == 1 || node.depth >= max_depth_ || kind_.is_pure(rows, node.n, node.total))
      return is_grown(write_leaf(place, rows, node.n, node.total));
    if (node.n == 2) return is_grown(grow_pair(place, rows, node.total, node.draws));
    search_.find(rows, node.n, node.total, node.draws, node.known);
    const auto& best = search_.best();
    if (best.column < 0) return is_grown(write_leaf(place, rows, node.n, node.total));
    const criteria::PairLeft left = best.left, right{node.total.w - left.w, node.total.s - left.s};
    const int n_left = search_.send(rows, node.n), n_right = node.n - n_left;
    write_split(place, best, left, node.total);
    ++node.depth;
    if (n_left > 1) {
      open_.push_back(
          {place, false, {}, {rows + n_left, n_right, right, node.draws, node.known, node.depth}});
      node.n = n_left;
      node.total = left;
      node.draws = node.draws.child(false);
      return true;
    }
    const Weighed of_left = write_leaf(out_.open(), rows, 1, left);
    out_.right_is_next(place);
    node.rows += n_left;
    node.n = n_right;
    node.total = right;
    if constexpr (Kind::weighs_exactly) open_.push_back({place, true, of_left, node});
    node.draws = node.draws.child(true);
    return true;
  }
  // After a node is grown: joins it with its sibling on the left, and so on, up to a split whose
  // right child waits. Tells whether there is one, and which.
  bool go_on(Node& node, Weighed& weighed) {
    for (; !open_.empty(); open_.pop_back()) {
      Open& last = open_.back();
      if (last.has_left) {
        weighed = kind_.join(last.left, weighed, out_.gain(last.place));
        continue;
      }
      out_.right_is_next(last.place);
      if (last.right.n > 1) {
        node = last.right;
        node.draws = node.draws.child(true);
        wait_for_right(last, weighed);
        return true;
      }
      // Single rows, every second child, need none of what is made ready for others.
      const Weighed right = write_leaf(out_.open(), last.right.rows, 1, last.right.total);
      weighed = kind_.join(weighed, right, out_.gain(last.place));
    }
    return false;
  }
  void wait_for_right(Open& last, const Weighed& left) {
    if constexpr (Kind::weighs_exactly) {
      last.has_left = true;
      last.left = left;
    } else {
      open_.pop_back();  // there will be nothing to join
    }
  }

  Weighed grow_pair(int place, SmallRow* rows, const criteria::PairLeft& total,
                    const Draws& draws) {
    SmallCut cut;
    const int first = search_.part_two(rows, draws, cut);
    if (first < 0) return write_leaf(place, rows, 2, total);
    const SmallRow &of_left = rows[first], &of_right = rows[1 - first];
    criteria::PairLeft left, right;
    kind_.add(left, of_left);
    kind_.add(right, of_right);
    write_split(place, cut, left, total);
    const Weighed weighed = write_leaf(out_.open(), &of_left, 1, left);
    out_.right_is_next(place);
    return kind_.join(weighed, write_leaf(out_.open(), &of_right, 1, right), out_.gain(place));
  }

  void write_split(int place, const SmallCut& cut, const criteria::PairLeft& left,
                   const criteria::PairLeft& total) {
    out_.split(place, cut, total.w);
    if constexpr (!Kind::weighs_exactly) out_.gain(place) = kind_.gain(left, total);
  }
  Weighed write_leaf(int place, const SmallRow* rows, int n, const criteria::PairLeft& total) {
    double* const value = out_.leaf(place, total.w);
    if (n > 1) out_.gain(place) = kind_.leaf_impurity(rows, n);
    return kind_.weigh_leaf(rows, n, total, value);
  }

  std::int64_t max_depth_;
  Search search_;
  const Kind& kind_;
  SmallNodeWriter<Search::most_rows> out_;
  std::vector<Open> open_;
};

template <class Kind>
std::unique_ptr<SmallNodes> make(const data::RankedTable& table, ForestEngine& engine,
                                 const target::Channels& channels, std::int64_t max_depth) {
  const auto over = [&](const auto* values) -> std::unique_ptr<SmallNodes> {
    using T = std::remove_cvref_t<decltype(*values)>;
    return std::make_unique<SmallNodesOf<T, Kind>>(table, values, engine.columns(), channels,
                                                   max_depth);
  };
  return table.keeps_values() ? table.with_values(over) : over(table.ranks());
}

}  // namespace

std::unique_ptr<SmallNodes> SmallNodes::made_for(const data::RankedTable& table,
                                                 ForestEngine& engine,
                                                 const target::Channels& channels,
                                                 std::int64_t max_depth) {
  const split::SplitLimits& limits = engine.limits();
  if (table.any_levels() || channels.has_weight() ||
      channels.totals()[0] >= criteria::most_counted || !limits.takes_any_gain() ||
      limits.min_child_weight > 0.0 || limits.min_samples_leaf > 1)
    return nullptr;
  if (engine.judges_by<PairScan<false>>())
    return make<SmallNumbers>(table, engine, channels, max_depth);
  if (engine.judges_by<PairCounts<criteria::GiniOfCounts>>())
    return make<SmallClasses<criteria::GiniOfCounts>>(table, engine, channels, max_depth);
  if (engine.judges_by<PairCounts<criteria::EntropyOfCounts>>())
    return make<SmallClasses<criteria::EntropyOfCounts>>(table, engine, channels, max_depth);
  if (engine.judges_by<ClassScan<criteria::GiniOfCounts>>())
    return make_small_class_nodes<criteria::GiniOfCounts>(table, engine.columns(), channels,
                                                          max_depth);
  if (engine.judges_by<ClassScan<criteria::EntropyOfCounts>>())
    return make_small_class_nodes<criteria::EntropyOfCounts>(table, engine.columns(), channels,
                                                             max_depth);
  return nullptr;
}

}  // namespace weald::forest