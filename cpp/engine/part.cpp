#include "engine/part.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/parallel.hpp"
#include "data/column_codes.hpp"
#include "engine/row_test.hpp"

namespace weald::engine {
namespace {

// Minimum rows per thread.
constexpr std::int64_t rows_of_thread = 8'192;

// As in split/histogram_table.cpp: with more codes there is no column-major copy.
constexpr std::int64_t columns_bytes = std::int64_t{64} << 20;

// As in tree/tree.cpp: up to this many leaf sums, merging those of threads is cheap.
constexpr std::int64_t few_sums = 512;

// Values of so few bits are zeros.
constexpr int no_bits = -2;

// Whether the sum of values with so many bits stays below 2^field, although rounding adds up to
// half a step for each copy; `sum` is in coarse steps.
bool stays_below(Int128 sum, std::int64_t copies, int bits, int field) {
  const int shift = bits - target::Coarse::bits;
  const Int128 one = 1, steps = shift >= 0 ? sum << shift : (sum >> -shift) + 1;
  return steps + copies / 2 + 1 < one << field;
}

// Whether the sums of rows, or of the rows of a block, fit a rounding that was not made for them.
bool fits(const target::Rounding& rounding, const target::Coarse& own, const target::Extremes& all,
          bool counts_copies) {
  if (rounding.rows_of_block > 0) {
    const Int128 copies = Int128{rounding.rows_of_block} * all.most_copies;
    return copies < Int128{1} << std::clamp(31 - rounding.sum_bits, 0, 31) &&
           (counts_copies || copies < Int128{1} << std::clamp(32 - rounding.weight_bits, 0, 32));
  }
  const std::int64_t copies = all.copies, larger = std::max(own.positive, own.negative);
  return stays_below(Int128{larger} + copies, copies, rounding.sum_bits, 31) &&
         (counts_copies
              ? copies < std::int64_t{1} << 31
              : stays_below(Int128{own.weight} + copies, copies, rounding.weight_bits, 32));
}

}  // namespace

Part::Part(const Codes& codes, data::Categories categories, int n_threads, bool by_columns)
    : codes_(codes), categories_(std::move(categories)), n_threads_(n_threads) {
  if (!by_columns || !has_codes() || codes.n_rows * codes.n_columns > columns_bytes) return;
  columns_ = data::columns_of(codes, n_threads);
  codes_.columns = columns_.data();
}

target::Extremes Part::look(const target::Target& target, target::Cells cells) {
  rows_.start(n_rows(), n_rows(), target.copies, nullptr, n_threads_);
  nodes_.assign(1, {0, rows_.size()});
  steps_.clear();
  return channels_.look(target, n_rows(), rows_.at(0), rows_.size(), cells, n_threads_);
}

void Part::write(const target::Extremes& all, const std::optional<target::Rounding>& rounding,
                 bool needs_count) {
  channels_.write(all, rounding, rows_.at(0), rows_.size(), needs_count);
  if (!layout_ || layout_->cell_size() != cell_size())
    layout_.emplace(codes_, categories_, cell_size());
  cells_.resize(static_cast<std::size_t>(n_threads_));
  word_blocks_.start(codes_, categories_, channels_.rows_of_block(), n_threads_);
}

bool Part::write_expected(const target::Extremes& all,
                          const std::optional<target::Rounding>& rounding,
                          const target::Coarse& own, bool needs_count) {
  const bool counts_copies = !channels_.has_weight();
  const bool is_safe = !rounding || fits(*rounding, own, all, counts_copies);
  std::optional<target::Rounding> way = rounding;
  if (!is_safe) way->sum_bits = way->weight_bits = no_bits;
  write(all, way, needs_count);
  return is_safe;
}

int Part::threads_for(std::int64_t n) const {
  return static_cast<int>(std::clamp<std::int64_t>(n / rows_of_thread, 1, n_threads_));
}

// Add rows to the histogram of a worker, which is cleared before its first rows. `rows` null: rows
// begin .. begin + n - 1 of the part.
void Part::count(int worker, const Row* rows, std::int64_t begin, std::int64_t n) {
  std::vector<std::int64_t>& cells = cells_[worker];
  if (cells.empty()) cells.assign(static_cast<std::size_t>(n_cells()), 0);
  const auto add = [&](const split::HistogramLayout& layout, std::int64_t first, std::int64_t size,
                       std::int64_t* to) {
    split::add_rows(codes_, categories_, layout, channels_, rows ? rows + first : nullptr,
                    begin + first, size, to);
  };
  if (!word_blocks_.are_used()) return add(*layout_, 0, n, cells.data());
  word_blocks_.add(worker, n, cells.data(), add);
}

// Add what the workers counted.
void Part::add_all(std::int64_t* cells) {
  word_blocks_.finish();
  for (std::vector<std::int64_t>& own : cells_) {
    for (std::size_t i = 0; i < own.size(); ++i) cells[i] += own[i];
    own.clear();
  }
}

void Part::add_rows(int node, std::int64_t* cells) {
  const auto [first, end] = nodes_[node];
  const std::int64_t n = end - first, n_tasks = threads_for(n);
  const bool in_order = node == 0 && rows_.holds_all_rows();
  const Row* const rows = rows_.at(first);
  parallel_for(n_tasks, n_threads_, [&](std::int64_t task, int worker) {
    const std::int64_t begin = n * task / n_tasks, size = n * (task + 1) / n_tasks - begin;
    count(worker, in_order ? nullptr : rows + begin, begin, size);
  });
  add_all(cells);
}

// The rows of one child are counted while their codes are in cache.
std::int64_t Part::divide(const tree::Division& division, std::int64_t* cells) {
  if (n_nodes() < division.left + 2) nodes_.resize(static_cast<std::size_t>(division.left) + 2);
  const auto [begin, end] = nodes_[division.node];
  const split::Split& split = *division.split;
  std::vector<std::uint8_t> sides;  // of each code of a categorical column
  const auto test = test_of(split, sides);
  const std::int64_t middle = rows_.split({{begin, end, test}}, threads_for(end - begin),
                                          [&](int, const Row* left, std::int64_t n_left,
                                              const Row* right, std::int64_t n_right, int worker) {
                                            if (!division.looks_on) return;
                                            count(worker, division.counts_left ? left : right, 0,
                                                  division.counts_left ? n_left : n_right);
                                          })[0];
  if (division.looks_on) add_all(cells);
  nodes_[division.left] = {begin, middle};
  nodes_[division.left + 1] = {middle, end};
  if (!rows_.holds_all_rows()) steps_.push_back({division.node, division.left, split});
  return channels_.count(rows_.at(begin), middle - begin);
}

tree::Partition::Test Part::test_of(const split::Split& split,
                                    std::vector<std::uint8_t>& sides) const {
  return row_test(codes_, categories_, split.column, split.bin, split.missing_left,
                  split.left_set.empty() ? nullptr : split.left_set.data(), sides);
}

void Part::add_copies(int node, std::int64_t* counts) const {
  const Row* const rows = rows_.at(nodes_[node].begin);
  std::vector<std::int64_t> first(static_cast<std::size_t>(n_columns()), 0);
  for (int c = 1; c < n_columns(); ++c) first[c] = first[c - 1] + n_codes(c - 1);
  parallel_for(n_columns(), threads_for(nodes_[node].size()), [&](std::int64_t task, int) {
    const int column = static_cast<int>(task);
    std::int64_t* const own = counts + first[column];
    const auto count = [&](const auto* codes, std::int64_t step) {
      for (std::int64_t i = 0; i < nodes_[node].size(); ++i)
        own[codes[rows[i] * step]] += channels_.count(rows + i, 1);
    };
    if (const int wide = categories_.wide_place(column); wide >= 0)
      return count(categories_.wide[wide].codes, 1);
    const auto [codes, step] = codes_.column(column);
    count(codes, step);
  });
}

void Part::add_sums(const std::vector<int>& leaf_of_node, std::int64_t n_leaves, Int128* sums,
                    std::int32_t* leaf_of_row) {
  const std::int64_t size = 1 + channels_.n_channels();
  const bool in_order =
      rows_.holds_first_rows() && n_leaves * size < few_sums && hold_all_rows(leaf_of_node);
  parallel_for(std::min<std::int64_t>(n_nodes(), static_cast<std::int64_t>(leaf_of_node.size())),
               threads_for(n_rows()), [&](std::int64_t i, int) {
                 const int leaf = leaf_of_node[i];
                 if (leaf < 0) return;
                 const Row* const rows = rows_.at(nodes_[i].begin);
                 const std::int64_t n = nodes_[i].size();
                 for (std::int64_t r = 0; r < n; ++r) leaf_of_row[rows[r]] = leaf;
                 if (!in_order) channels_.add_exact(rows, n, sums + leaf * size);
               });
  if (in_order) add_sums_in_order(leaf_of_row, n_leaves * size, sums);
  if (!rows_.holds_all_rows()) send_others(leaf_of_node, leaf_of_row);
}

// Whether each row is in one of the leaves.
bool Part::hold_all_rows(const std::vector<int>& leaf_of_node) const {
  std::vector<Range> leaves;
  for (std::size_t i = 0; i < std::min(nodes_.size(), leaf_of_node.size()); ++i)
    if (leaf_of_node[i] >= 0 && nodes_[i].size() > 0) leaves.push_back(nodes_[i]);
  std::sort(leaves.begin(), leaves.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::int64_t end = 0;
  for (const Range& leaf : leaves) {
    if (leaf.begin != end) return false;
    end = leaf.end;
  }
  return end == rows_.size();
}

// Few leaves: one pass over the rows, as they lie in memory, with one sum per leaf and thread.
void Part::add_sums_in_order(const std::int32_t* leaf_of_row, std::int64_t n_sums, Int128* sums) {
  const std::int64_t n = rows_.size(), n_tasks = threads_for(n);
  std::mutex lock;
  parallel_for(n_tasks, n_threads_, [&](std::int64_t task, int) {
    std::vector<Int128> own(static_cast<std::size_t>(n_sums), 0);
    channels_.add_exact(n * task / n_tasks, n * (task + 1) / n_tasks, leaf_of_row, own.data());
    const std::scoped_lock hold(lock);
    for (std::int64_t i = 0; i < n_sums; ++i) sums[i] += own[i];
  });
}

// The rows without copies descend by the divisions of the tree, and are partitioned as the others.
void Part::send_others(const std::vector<int>& leaf_of_node, std::int32_t* leaf_of_row) {
  std::vector<Row> others;
  others.reserve(static_cast<std::size_t>(n_rows() - rows_.size()));
  for (std::int64_t row = 0; row < n_rows(); ++row)
    if (channels_.target().copies[row] <= 0) others.push_back(static_cast<Row>(row));
  const auto n = static_cast<std::int64_t>(others.size());
  others_.start(n_rows(), others.data(), n);
  std::vector<Range> ranges(nodes_.size());
  ranges[0] = {0, n};
  std::vector<std::uint8_t> sides;
  for (const Step& step : steps_) {
    const auto [begin, end] = ranges[step.node];
    const std::int64_t middle =
        others_.split({{begin, end, test_of(step.split, sides)}}, threads_for(end - begin),
                      tree::Partition::visits_nothing)[0];
    ranges[step.left] = {begin, middle};
    ranges[step.left + 1] = {middle, end};
  }
  for (std::size_t i = 0; i < leaf_of_node.size() && i < ranges.size(); ++i)
    for (std::int64_t at = ranges[i].begin; leaf_of_node[i] >= 0 && at < ranges[i].end; ++at)
      leaf_of_row[*others_.at(at)] = leaf_of_node[i];
}

}  // namespace weald::engine
