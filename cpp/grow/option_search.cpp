#include "grow/option_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"
#include "split/category_search.hpp"

namespace weald::grow {
namespace {

// Minimum rows per thread; maximum memory of all histograms.
constexpr std::int64_t part_rows = 8'192;
constexpr std::int64_t most_bytes = std::int64_t{256} << 20;

}  // namespace

void OptionSearch::start(const target::Target& target) {
  growing_tree_.rows.start(codes_.n_rows, codes_.n_rows, target.copies);
  growing_tree_.channels.prepare(target, codes_.n_rows, growing_tree_.rows.at(0),
                                 growing_tree_.rows.size(), limits_.min_samples_leaf > 1,
                                 target::Cells::wide, n_threads_);
  growing_tree_.start();
}

// Grower::may_split without the limits on depth and leaves.
bool OptionSearch::may_split(const OptionLimits& options) const {
  const std::int64_t n = growing_tree_.rows.size(), copies = growing_tree_.copies_in(0);
  if (n < 2 || copies < options.min_samples_split) return false;
  return copies / 2 >= limits_.min_samples_leaf &&
         !growing_tree_.channels.is_pure(growing_tree_.rows_of(0), n);
}

std::vector<OptionStump> OptionSearch::look(const target::Target& target,
                                            const OptionLimits& options) {
  start(target);
  if (!may_split(options)) return {};
  const split::HistogramLayout layout(codes_, categories_, growing_tree_.channels.cell_size());
  const std::vector<std::int64_t> cells = histogram(layout);
  std::vector<split::Split> splits;
  criteria::AllCriteria::with_name(
      criterion_, [&]<criteria::Criterion C>(C) { splits = best_of_columns<C>(layout, cells); });
  std::erase_if(splits, [](const split::Split& split) { return !split.found(); });
  std::stable_sort(splits.begin(), splits.end(),
                   [](const split::Split& a, const split::Split& b) { return a.gain > b.gain; });
  std::vector<OptionStump> stumps;
  for (const split::Split& split : splits) {
    if (interrupted()) throw Interrupted{};
    if (static_cast<int>(stumps.size()) == options.most) break;
    // Without gain no split is better than another.
    const double least = options.ratio * splits[0].gain;
    if (!stumps.empty() && !(split.gain > 0.0 && split.gain >= least)) break;
    OptionStump stump = stump_of(split);
    if (std::none_of(stumps.begin(), stumps.end(),
                     [&](const OptionStump& other) { return are_same_partition(stump, other); }))
      stumps.push_back(std::move(stump));
  }
  return stumps;
}

OptionStump OptionSearch::part(const target::Target& target, const std::uint8_t* goes_left) {
  start(target);
  return stump_of(split::Split{0.0, 0, 0, false, 0.0, {}},
                  [&](Row row) { return goes_left[row] != 0; });
}

std::vector<std::int64_t> OptionSearch::histogram(const split::HistogramLayout& layout) const {
  const std::int64_t n = growing_tree_.rows.size();
  const std::int64_t fitting = std::max<std::int64_t>(1, most_bytes / (8 * layout.size()));
  const std::int64_t n_parts =
      std::clamp<std::int64_t>(n / part_rows, 1, std::min<std::int64_t>(n_threads_, fitting));
  std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(n_parts));
  parallel_for(n_parts, n_threads_, [&](std::int64_t part, int) {
    const std::int64_t begin = n * part / n_parts, end = n * (part + 1) / n_parts;
    parts[part].assign(static_cast<std::size_t>(layout.size()), 0);
    add_rows(codes_, categories_, layout, growing_tree_.channels, growing_tree_.rows.at(begin),
             begin, end - begin, parts[part].data());
  });
  for (std::size_t other = 1; other < parts.size(); ++other)
    for (std::size_t i = 0; i < parts[0].size(); ++i) parts[0][i] += parts[other][i];
  return std::move(parts[0]);
}

template <criteria::Criterion C>
std::vector<split::Split> OptionSearch::best_of_columns(
    const split::HistogramLayout& layout, const std::vector<std::int64_t>& cells) const {
  std::vector<split::Split> splits(static_cast<std::size_t>(codes_.n_columns));
  const std::int64_t* const totals = growing_tree_.totals_of(0);
  const int n_threads = layout.size() < 20'000 ? 1 : n_threads_;
  parallel_for(codes_.n_columns, n_threads, [&](std::int64_t task, int) {
    const int column = static_cast<int>(task);
    const std::int64_t* const missing = cells.data() + layout.column_begin(column);
    const std::int64_t stride = layout.stride_of(column);
    if (!categories_.holds(column)) {
      split::SplitSearch<C>(growing_tree_.channels, limits_, totals, Bounds{})
          .try_column(column, missing, stride, codes_.n_bins[column], splits[task]);
      return;
    }
    split::WideLevels<C> levels(growing_tree_.channels, limits_, totals, Bounds{});
    split::CategoryBest sets = split::CategorySearch(levels, limits_.category)
                                   .search(missing, stride, layout.levels_of(column), nullptr, 0);
    if (!sets.left.empty())
      splits[task] = {sets.score, column, 0, sets.missing_left, 0.0, std::move(sets.left)};
  });
  return splits;
}

OptionStump OptionSearch::stump_of(const split::Split& split) {
  const int wide = categories_.wide_place(split.column);
  return stump_of(split, [&](Row row) {
    const int code = wide < 0 ? codes_.at(row, split.column) : categories_.wide[wide].codes[row];
    if (code == 0) return split.missing_left;
    return split.left_set.empty() ? code <= split.bin
                                  : data::in_set(split.left_set.data(), code - 1);
  });
}

// Weights, gain and values come from exact sums, as in every tree.
template <class GoesLeft>
OptionStump OptionSearch::stump_of(const split::Split& split, GoesLeft&& goes_left) {
  growing_tree_.start();
  const std::int64_t middle =
      growing_tree_.rows.split_by(0, growing_tree_.rows.size(), std::forward<GoesLeft>(goes_left));
  growing_tree_.nodes[0].split = split;
  // Integer sums of the children are only needed to search them.
  growing_tree_.nodes[0].left_totals.assign(
      static_cast<std::size_t>(growing_tree_.channels.cell_size()), 0);
  growing_tree_.make_children(0);
  growing_tree_.part_rows(0, middle);
  growing_tree_.join(0);
  OptionStump stump;
  stump.side.assign(static_cast<std::size_t>(codes_.n_rows), -1);
  stump.tree =
      write_tree(growing_tree_, criterion_, limits_.penalty, n_threads_, stump.side.data());
  return stump;
}

// Whether both split the rows into the same two sets, in either order.
bool OptionSearch::are_same_partition(const OptionStump& a, const OptionStump& b) const {
  const Row first = *growing_tree_.rows.at(0);
  const std::int32_t is_swapped = a.side[first] ^ b.side[first];
  for (std::size_t row = 0; row < a.side.size(); ++row)
    if (a.side[row] >= 0 && (a.side[row] ^ is_swapped) != b.side[row]) return false;
  return true;
}

}  // namespace weald::grow
