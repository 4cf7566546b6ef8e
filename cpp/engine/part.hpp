// Some of the rows of a growing tree, whose other rows lie in other parts (tree/parts.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/types.hpp"
#include "data/categories.hpp"
#include "split/histogram.hpp"
#include "split/word_blocks.hpp"
#include "target/channels.hpp"
#include "tree/partition.hpp"
#include "tree/parts.hpp"

namespace weald::engine {

// It knows no splits but those it is told, and answers with integers that are summed over all
// parts.
class Part {
 public:
  // `by_columns`: divide rows by a copy of few codes, column by column, which is worth making for a
  // part that is kept. Codes without data are those of a part that is asked for neither histograms
  // nor divisions.
  Part(const Codes& codes, data::Categories categories, int n_threads, bool by_columns = true);

  // Begin a tree on the gradients of the rows of positive copies; then set the scales, which are
  // those of the extremes of all parts.
  target::Extremes look(const target::Target& target, target::Cells cells);
  void set_scales(const target::Extremes& all) {
    channels_.set_scales(all, rows_.at(0), rows_.size());
  }
  std::optional<target::Coarse> coarse_sums() const {
    return channels_.coarse_sums(rows_.at(0), rows_.size());
  }
  // Write the integers of the rows, whose sums are `totals`: [cell_size()].
  void write(const target::Extremes& all, const std::optional<target::Rounding>& rounding,
             bool needs_count);

  // The same at scales that are only expected. Returns whether the sums of these rows fit the
  // rounding; if not, zeros are written.
  bool write_expected(const target::Extremes& all, const std::optional<target::Rounding>& rounding,
                      const target::Coarse& own, bool needs_count);
  const std::int64_t* totals() const { return channels_.totals(); }

  // Where the rows of each node lie among `rows`; its children's are in its range, too.
  struct Range {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end - begin; }
  };
  // What a tree has made of the part so far; and the way back to it, after the integers of the rows
  // were written.
  const Row* rows() const { return rows_.at(0); }
  const std::vector<Range>& nodes() const { return nodes_; }
  void restore(const Row* rows, std::vector<Range> nodes) {
    rows_.start(n_rows(), rows, n_used());
    nodes_ = std::move(nodes);
  }

  // Rows without copies descend by the divisions of the tree, which a restored part must be told.
  int next_remembered() const { return 1 + 2 * static_cast<int>(steps_.size()); }
  void remember(const tree::Division& division) {
    steps_.push_back({division.node, division.left, *division.split});
  }

  std::int64_t n_rows() const { return codes_.n_rows; }
  // Number of rows of positive copies.
  std::int64_t n_used() const { return rows_.size(); }
  bool has_codes() const { return codes_.data != nullptr; }
  int n_columns() const { return codes_.n_columns; }
  int n_nodes() const { return static_cast<int>(nodes_.size()); }
  int n_codes(int column) const { return layout_->levels_of(column) + 1; }
  std::int64_t n_codes() const {
    std::int64_t all = 0;
    for (int column = 0; column < n_columns(); ++column) all += n_codes(column);
    return all;
  }
  int cell_size() const { return channels_.cell_size(); }
  std::int64_t n_cells() const { return layout_->size(); }

  // The answers of tree/parts.hpp: results are added to what the caller has.
  void add_rows(int node, std::int64_t* cells);
  std::int64_t divide(const tree::Division& division, std::int64_t* cells);
  void add_copies(int node, std::int64_t* counts) const;
  // Also writes the leaf of each row, of those without copies, too.
  void add_sums(const std::vector<int>& leaf_of_node, std::int64_t n_leaves, Int128* sums,
                std::int32_t* leaf_of_row);

 private:
  // How the rows of a node were divided; the children of a node come after it.
  struct Step {
    int node, left;
    split::Split split;
  };
  int threads_for(std::int64_t n) const;
  tree::Partition::Test test_of(const split::Split& split, std::vector<std::uint8_t>& sides) const;
  bool hold_all_rows(const std::vector<int>& leaf_of_node) const;
  void add_sums_in_order(const std::int32_t* leaf_of_row, std::int64_t n_sums, Int128* sums);
  void send_others(const std::vector<int>& leaf_of_node, std::int32_t* leaf_of_row);
  void count(int worker, const Row* rows, std::int64_t begin, std::int64_t n);
  void add_all(std::int64_t* cells);

  Codes codes_;
  LargeVector<Code> columns_;  // column-major codes for partitioning; empty: too large
  data::Categories categories_;
  int n_threads_;
  target::Channels channels_;
  tree::Partition rows_;
  std::vector<Range> nodes_;
  tree::Partition others_;   // the rows without copies, which are divided when the tree is grown
  std::vector<Step> steps_;  // empty if there are no such rows
  std::optional<split::HistogramLayout> layout_;
  std::vector<std::vector<std::int64_t>> cells_;  // of each worker; empty: it has counted nothing
  split::WordBlocks word_blocks_;
};

}  // namespace weald::engine
