#include "base/parallel.hpp"
#include "engine/histogram_engine.hpp"

namespace weald::engine {

// Lists and bundles count all columns at once, in fewer additions than one for each column. Shape
// `sparse_1k` of benchmarks/shapes.py: without it a fit takes 3.7 times the processor time.
split::CountedRows HistogramEngine::rows_to_count(int node) {
  split::CountedRows rows;
  if (growing_tree_.parts) {
    rows.elsewhere = [this, node](const std::vector<int>& of) {
      return growing_tree_.copies_elsewhere(node, of, *column_layout_);
    };
    return rows;
  }
  rows = {growing_tree_.rows_of(node), growing_tree_.nodes[node].n_rows()};
  const bool by_lists = counts_by_lists(rows.n);
  if (!by_lists && !bundles_.any()) return rows;
  rows.additions_per_row =
      by_lists ? table_->sparse.additions_per_row() : static_cast<double>(counted_.n_columns);
  rows.all_columns = [this, by_lists, of = rows.rows, n = rows.n](std::int64_t* cells) {
    count_copies(by_lists, of, n, cells);
  };
  return rows;
}

// Count the copies of rows in the cells, of one integer each, of all columns that are not wide.
void HistogramEngine::count_copies(bool by_lists, const Row* rows, std::int64_t n,
                                   std::int64_t* cells) {
  const std::int64_t* const copies = channels_.target().copies;
  const split::HistogramLayout counted(counted_, counted_categories_, 1),
      columns(codes_, categories_, 1);
  std::vector<std::int64_t> of_bundles(
      static_cast<std::size_t>(bundles_.any() ? counted.size() : 0));
  std::int64_t* const counts = bundles_.any() ? of_bundles.data() : cells;
  if (by_lists) {
    table_->sparse.add(counted_, counted, copies, rows, 0, n, counts);
    const std::int64_t total = channels_.count(rows, n);
    parallel_for(counted_.n_groups(), threads_for(0), [&](std::int64_t group, int) {
      table_->sparse.complete(static_cast<int>(group), counted, &total, counts);
    });
  } else {
    add_packed(counted_, counted, 0, counted_.n_groups(), copies, rows, 0, n, counts);
  }
  if (bundles_.any()) bundles_.expand(counted, counts, columns, cells);
}

}  // namespace weald::engine
