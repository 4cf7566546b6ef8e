// How the copies of a node's rows are counted, where sums of packed cells do not prove that a split
// leaves enough of them.
#include <memory>

#include "base/parallel.hpp"
#include "engine/histogram_engine.hpp"

namespace weald::engine {
namespace {

// Which rows are in a node, found when it is first asked.
class RowMarks {
 public:
  RowMarks(const Row* rows, std::int64_t n, std::int64_t n_rows)
      : rows_(rows), n_(n), n_words_(static_cast<std::size_t>(n_rows + 63) / 64) {}

  bool has(Row row) const { return marks_[row / 64] >> (row % 64) & 1; }
  void find() {
    if (!marks_.empty()) return;
    marks_.assign(n_words_, 0);
    for (std::int64_t i = 0; i < n_; ++i)
      marks_[rows_[i] / 64] |= std::uint64_t{1} << (rows_[i] % 64);
  }

 private:
  const Row* rows_;
  std::int64_t n_;
  std::size_t n_words_;
  std::vector<std::uint64_t> marks_;
};

}  // namespace

// Lists and bundles count all columns at once, in fewer additions than one for each column. Shape
// `sparse_1k` of benchmarks/shapes.py, in codes: without it a fit takes 3.7 times the processor
// time. A column in lists by itself costs its entries only; in these, counting all columns of every
// node takes 2.5 times.
split::CountedRows HistogramEngine::rows_to_count(int node) {
  split::CountedRows rows;
  if (growing_tree_.parts) {
    rows.by_code = [this, node](const std::vector<int>& of) {
      return growing_tree_.copies_elsewhere(node, of, *column_layout_);
    };
    return rows;
  }
  rows = {growing_tree_.rows_of(node), growing_tree_.nodes[node].n_rows()};
  const bool by_lists = counts_by_lists(rows.n);
  if (table_->listed.any()) {
    rows.by_code = copies_in_lists(rows.rows, rows.n);
    const double n = static_cast<double>(rows.n) * table_->sparse.additions_per_row();
    const auto n_cells = static_cast<double>(layout_->size() / layout_->cell_size());
    rows.all_in_columns = (n + n_cells) / table_->listed.mean_size(codes_.n_columns);
  } else if (by_lists || bundles_.any()) {
    rows.all_in_columns =
        by_lists ? table_->sparse.additions_per_row() : static_cast<double>(counted_.n_columns);
  } else {
    return rows;
  }
  rows.all_columns = [this, by_lists, of = rows.rows, n = rows.n](std::int64_t* cells) {
    count_copies(by_lists, of, n, cells);
  };
  return rows;
}

// The copies in the lists of some columns; all other rows have the usual code.
HistogramEngine::CopiesByCode HistogramEngine::copies_in_lists(const Row* rows, std::int64_t n) {
  return [this, rows, n, marks = std::make_shared<RowMarks>(rows, n, codes_.n_rows)](
             const std::vector<int>& columns) {
    marks->find();
    const std::int64_t total = channels_.count(rows, n);
    std::vector<std::vector<std::int64_t>> counts;
    for (const int c : columns) {
      const data::ListedColumn column = table_->listed.column(c);
      std::vector<std::int64_t>& of =
          counts.emplace_back(static_cast<std::size_t>(codes_.n_bins[c]) + 1, 0);
      std::int64_t rest = total;
      for (std::int64_t i = 0; i < column.size(); ++i) {
        if (!marks->has(column.rows[i])) continue;
        const std::int64_t copies = channels_.copies_of(column.rows[i]);
        of[column.codes[i]] += copies;
        rest -= copies;
      }
      of[column.usual] += rest;
    }
    return counts;
  };
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
