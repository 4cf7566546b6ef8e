// The rows of a growing tree if they lie in several parts, which may be in other processes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/exact_sum.hpp"
#include "split/splitting.hpp"
#include "target/packing.hpp"

namespace weald::tree {

// Send the rows of a node to its children, which have the numbers `left` and `left` + 1, and count
// those of one child, if `looks_on`, in a histogram.
struct Division {
  int node, left;
  const split::Split* split;
  bool counts_left, looks_on;
};

// Every answer is that of all parts together: maxima, or sums of integers, so that neither the
// number of parts nor which rows they hold matters. Each part answers from its rows as
// `engine::Part` does.
class Parts {
 public:
  virtual ~Parts() = default;

  // Whether rows have hessians; if not, they are 1.
  virtual bool has_weight() const = 0;

  // Begin a tree: the steps of target::Channels::prepare.
  virtual target::Extremes look() = 0;
  virtual target::Coarse coarse_sums(const target::Extremes& all) = 0;
  virtual std::vector<std::int64_t> write(const target::Extremes& all,
                                          const std::optional<target::Rounding>& rounding,
                                          bool needs_count) = 0;

  // Add the rows of a node to a histogram by columns.
  virtual void add_rows(int node, std::int64_t* cells, std::int64_t n_cells) = 0;

  // Divide the rows of several nodes; returns the number of rows sent left in each, and writes the
  // histograms of those that look on, in the same order.
  virtual std::vector<std::int64_t> divide(const std::vector<Division>& divisions,
                                           const std::vector<std::int64_t*>& histograms,
                                           std::int64_t n_cells) = 0;

  // Number of rows of a node by the codes of each column, one column after another.
  virtual std::vector<std::int64_t> copies_by_code(int node) = 0;

  // Exact W and S of some nodes, of all leaves at the end: [leaf][2]. leaf_of_node: -1 if not one.
  virtual std::vector<Int128> sums_of_leaves(const std::vector<int>& leaf_of_node,
                                             std::int64_t n_leaves) = 0;
};

}  // namespace weald::tree
