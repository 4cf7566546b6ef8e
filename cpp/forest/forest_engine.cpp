#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "forest/binary_search.hpp"
#include "forest/forest_category_search.hpp"  // and with it forest_engine.hpp
#include "forest/random_threshold_search.hpp"

namespace weald::forest {
namespace {

// Nodes of at least this many rows search the 255 bins of a column instead of all its values: the
// threshold is then within 1/255 of the rows of the best one.
constexpr std::int64_t large_node = KeySorter::most_keys;

// A column is counted by bins if a node has at least one row per two bins.
constexpr std::int64_t rows_per_bin = 2;  // bins per row

constexpr int payload_bits = KeySorter::payload_bits;
constexpr std::uint32_t payload_mask = (std::uint32_t{1} << payload_bits) - 1;

}  // namespace

ForestEngine::ForestEngine(std::shared_ptr<const data::RankedTable> table,
                           const tree::TreeParams& params, std::string_view criterion,
                           tree::GrowingTree& growing_tree)
    : table_(std::move(table)),
      params_(params),
      limits_(params.split),
      growing_tree_(&growing_tree),
      keys_(large_node + KeySorter::slack),
      spare_(large_node + KeySorter::slack) {
  if (params.random_cuts != table_->keeps_values())
    throw std::invalid_argument(
        "random_cuts requires a table of values; other splits require ranks");
  const data::ColumnParams& columns = params.columns;
  if (columns.sampling == data::Sampling::level || !columns.groups.empty())
    throw std::invalid_argument(
        "forests sample columns per tree or per node, without column groups");
  if (columns.max_features < 1 || columns.max_features > table_->n_columns())
    throw std::invalid_argument("max_features must be between 1 and the number of columns");
  const bool is_of_sums =
      criteria::ForestCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
        choose_scan_ = &ForestEngine::choose_scan_of<C>;
        settle_ = &ForestEngine::settle_by<C>;
      });
  if (!is_of_sums && criterion != MedianScan::name)
    throw std::invalid_argument("unknown criterion for a forest");
  if (!is_of_sums) choose_scan_ = &ForestEngine::choose<MedianScan>;
}

void ForestEngine::start() {
  const target::Channels& channels = growing_tree_->channels;
  const double weight = channels.weight_of(growing_tree_->totals_of(0));
  // As scikit-learn: a gain equal to the limit passes.
  limits_.min_gain = params_.min_decrease > 0.0 ? params_.min_decrease * weight * (1.0 - 1e-12)
                                                : -std::numeric_limits<double>::infinity();
  limits_.min_child_weight = params_.min_weight_share * weight * (1.0 - 1e-12);
  (this->*choose_scan_)();
  begin();
}

// Takes the scan of the other engine: choosing one would read rows that are being moved.
void ForestEngine::start_beside(const ForestEngine& other) {
  growing_tree_ = other.growing_tree_;
  limits_ = other.limits_;
  std::visit([&]<class Scan>(const Scan&) { choose<Scan>(); }, other.scan_);
  begin();
}

void ForestEngine::start_within(const ForestEngine& whole) {
  limits_ = whole.limits_;
  (this->*choose_scan_)();
  begin();
}

void ForestEngine::begin() {
  const target::Channels& channels = growing_tree_->channels;
  threshold_rows_ = nullptr;
  std::visit([&](auto& scan) { scan.start(channels, limits_, table_->n_rows()); }, scan_);
  binary_columns_ = nullptr;
  if (uses_scan<ClassScan<criteria::GiniOfCounts>>() ||
      uses_scan<ClassScan<criteria::EntropyOfCounts>>())
    binary_columns_ = table_->binary_columns().are_many() ? &table_->binary_columns() : nullptr;

  draws_.clear();
  draws_.push_back(root_draws());
  constants_.assign(1, {});
  columns_.start(table_->n_columns(), params_.columns.max_features);
  if (params_.columns.sampling == data::Sampling::tree) columns_.draw_for_tree(draws_[0]);
}

// Keeps the scan of the previous tree, and its memory, if the type fits.
template <class Scan>
void ForestEngine::choose() {
  if (!std::holds_alternative<Scan>(scan_)) scan_.emplace<Scan>();
}

// Scans of classes with integer weights, if applicable.
template <class Impurity>
bool ForestEngine::choose_counts() {
  if (PairCounts<Impurity>::fits(*growing_tree_))
    choose<PairCounts<Impurity>>();
  else if (ClassScan<Impurity, true>::fits(*growing_tree_))
    choose<ClassScan<Impurity, true>>();
  else if (growing_tree_->channels.n_channels() != 2 && ClassScan<Impurity>::fits(*growing_tree_))
    choose<ClassScan<Impurity>>();
  else
    return false;
  return true;
}

// Scans of squared error and Gini by one sum per output, if applicable.
bool ForestEngine::choose_squares() {
  const target::Channels& channels = growing_tree_->channels;
  const target::Target& target = channels.target();
  const bool counts_itself = limits_.min_samples_leaf <= 1 || channels.count_index() == 0;
  if (target.n_channels == 2 && target.classes && counts_itself)
    choose<PairScan<true>>();
  else if (target.n_channels == 1 && !target.classes && counts_itself)
    choose<PairScan<false>>();
  else if (VectorScan::fits(*growing_tree_))
    choose<VectorScan>();
  else
    return false;
  return true;
}

// CellScan serves every criterion and monotonic constraints; the others are faster special cases.
template <criteria::Criterion C>
void ForestEngine::choose_scan_of() {
  if (!limits_.is_directed()) {
    if constexpr (std::is_same_v<C, criteria::Entropy>)
      if (choose_counts<criteria::EntropyOfCounts>()) return;
    if constexpr (std::derived_from<C, criteria::Variance>)
      if (choose_counts<criteria::GiniOfCounts>() || choose_squares()) return;
  }
  choose<CellScan<C>>();
}

// ---- searching ----

void ForestEngine::search(const std::vector<tree::Siblings>& siblings) {
  for (const tree::Siblings& one : siblings) {
    if (one.parent >= 0) {
      draws_.push_back(draws_[one.parent].child(false));
      draws_.push_back(draws_[one.parent].child(true));
      constants_.resize(draws_.size(), data::ConstantFeatures(constants_[one.parent]));
    }
    if (one.wants_left) search_node(one.left);
    if (one.wants_right) search_node(one.right);
  }
}

void ForestEngine::search_again(const std::vector<tree::Siblings>& nodes) {
  std::visit([&](auto& scan) { scan.start(growing_tree_->channels, limits_, table_->n_rows()); },
             scan_);
  for (const tree::Siblings& one : nodes) search_node(one.left);
}

void ForestEngine::search_node(int node) {
  tree::Node& one = growing_tree_->nodes[node];
  if (!find(one.begin, one.end, growing_tree_->totals_of(node), draws_[node], constants_[node],
            one.bounds))
    return;
  one.split = split_;
  one.left_totals = best_left_;
}

Draws ForestEngine::root_draws() const {
  return {params_.columns.seed, growing_tree_->channels.target().member, Purpose::columns};
}

bool ForestEngine::find(std::int64_t begin, std::int64_t end, const std::int64_t* totals,
                        const Draws& draws, data::ConstantFeatures& known, const Bounds& bounds) {
  const Rows rows{growing_tree_->rows.at(begin), end - begin};
  return std::visit(
      [&](auto& scan) {
        if constexpr (requires { scan.set_bounds(bounds); }) scan.set_bounds(bounds);
        return find_by(scan, rows, totals, draws, known);
      },
      scan_);
}

template <class Scan>
bool ForestEngine::find_by(Scan& scan, const Rows& rows, const std::int64_t* totals,
                           const Draws& draws, data::ConstantFeatures& known) {
  scan.load(rows.rows, rows.n, totals);
  is_large_ = is_large(rows, totals);
  best_ = {};
  if (params_.random_cuts && table_->holds_floats())
    try_random_thresholds(scan, random_floats_, table_->floats(), rows, draws, known);
  else if (params_.random_cuts)
    try_random_thresholds(scan, random_doubles_, table_->doubles(), rows, draws, known);
  else
    try_columns(scan, rows, draws, known);
  if (best_.column < 0) return false;
  scan.write(best_left_);
  if constexpr (std::is_same_v<Scan, MedianScan>) {
    split_.middle = scan.kept_middle();
    return settle(scan);
  }
  return (this->*settle_)(totals);
}

// The most common cell sizes are compile-time constants.
template <criteria::Criterion C>
bool ForestEngine::settle_by(const std::int64_t* totals) {
  const target::Channels& channels = growing_tree_->channels;
  if constexpr (criteria::Quotient<C>) {
    if (channels.cell_size() == 2)
      return settle(split::SplitEvaluator<C, 2>(channels, limits_, totals));
    if (channels.cell_size() == 3 && channels.n_channels() == 2)
      return settle(split::SplitEvaluator<C, 3>(channels, limits_, totals));
  }
  return settle(split::SplitEvaluator<C>(channels, limits_, totals));
}

bool ForestEngine::is_large(const Rows& rows, const std::int64_t* totals) const {
  const target::Channels& channels = growing_tree_->channels;
  if (rows.n >= large_node || !channels.target().copies) return rows.n >= large_node;
  const int count = channels.count_index();
  return (count >= 0 ? totals[count] : channels.count(rows.rows, rows.n)) >= large_node;
}

// Draws columns one after another; more than max_features only while no column can be split.
template <class Scan>
void ForestEngine::try_columns(Scan& scan, const Rows& rows, const Draws& draws,
                               data::ConstantFeatures& known) {
  if constexpr (requires { scan.put_rows_without(0); })
    if (binary_columns_)
      return try_bits_and_others(scan, rows, draws, known,
                                 [&](int column) { return try_column(scan, column, rows, draws); });
  for (int j = 0; j < columns_.most() && (j < columns_.wanted() || best_.column < 0); ++j) {
    const int column = columns_.draw(j, draws);
    steps_.take(rows.n);
    if constexpr (requires { scan.set_direction(0.0); })
      scan.set_direction(limits_.direction_of(column));
    if (!known.has(column) && try_column(scan, column, rows, draws)) known.add(column);
    if (best_.is_perfect) break;
  }
  columns_.put_back();
}

template <class Scan>
bool ForestEngine::try_column(Scan& scan, int column, const Rows& rows, const Draws& draws) {
  if (table_->n_levels(column) > 0) return try_levels(scan, column, rows, draws);
  if (is_large_) {
    const Code* const codes = table_->codes_of(column);
    return try_bins(scan, column, rows, [=](std::int64_t i) { return codes[rows.rows[i]]; });
  }
  if (table_->every_rank_is_a_bin(column) &&
      rows.n * rows_per_bin >= std::int64_t{table_->n_bins(column)} * scan.cell_width()) {
    const data::Rank* const ranks = table_->ranks() + column;
    const std::int64_t stride = table_->stride();
    return try_bins(scan, column, rows,
                    [=](std::int64_t i) { return ranks[rows.rows[i] * stride]; });
  }
  return try_sorted(scan, column, rows);
}

// Makes a split the best one.
template <class Scan>
void ForestEngine::take(Scan& scan, const typename Scan::Left& left, int column, int rank, int next,
                        bool missing_left, bool has_missing, double threshold) {
  const double score = scan.score(left);
  // A value missing only when predicting goes to the heavier child.
  best_ = {bar_after(score),
           column,
           rank,
           next,
           has_missing ? missing_left : scan.left_is_heavier(left),
           scan.is_perfect(left),
           threshold};
  scan.keep(left);
}

template <class Scan>
bool ForestEngine::parts_missing(Scan& scan, const typename Scan::Left& left, int column) const {
  if constexpr (requires { scan.set_direction(0.0); }) {
    scan.set_direction(0.0);
    const bool beats = scan.beats(left, best_.bar);
    scan.set_direction(limits_.direction_of(column));
    return beats;
  } else {
    return scan.beats(left, best_.bar);
  }
}

template <class Scan, class CodeOf>
bool ForestEngine::try_bins(Scan& scan, int column, const Rows& rows, CodeOf code_of) {
  scan.count(rows.n, table_->n_bins(column), code_of);
  const bool is_exact = table_->every_rank_is_a_bin(column), has_missing = !scan.is_empty(0);
  int end = table_->n_bins(column);
  while (end > 0 && scan.is_empty(end)) --end;
  int n_filled = has_missing;
  for (const bool missing_left : {false, true}) {
    if (missing_left && !has_missing) break;
    auto left = scan.empty_left();
    if (missing_left) scan.add_bin(left, 0);
    int last = 0;  // the last non-empty bin
    for (int bin = 1; bin <= end; ++bin) {
      if (scan.is_empty(bin)) continue;
      ++n_filled;
      if (last > 0 && scan.beats(left, best_.bar)) {
        const int rank = table_->last_rank(column, last);
        take(scan, left, column, rank, is_exact ? bin : rank + 1, missing_left, has_missing);
      }
      scan.add_bin(left, bin);
      last = bin;
    }
    if (has_missing && !missing_left && end > 0 && parts_missing(scan, left, column))
      take(scan, left, column, all_values, 0, false, true);
  }
  return is_exact && n_filled <= 1;
}

// Writes the keys of a small node: those of present values first, missing ones last.
template <class Scan>
ForestEngine::Span ForestEngine::gather(const Scan& scan, int column, const Rows& rows) {
  const data::Rank* const ranks = table_->ranks() + column;
  const std::int64_t stride = table_->stride();
  std::uint32_t least = data::most_ranks, most = 0;
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const std::uint32_t rank = ranks[rows.rows[i] * stride];
    keys_[i] = rank << payload_bits | scan.payload(i);
    most = std::max(most, rank);
    least = std::min(least, rank);
  }
  if (least > 0) return {least, most, rows.n};
  std::int64_t n_present = 0, n_missing = 0;
  least = data::most_ranks;
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const std::uint32_t key = keys_[i], rank = key >> payload_bits;
    if (rank == 0) {
      spare_[n_missing++] = key;
      continue;
    }
    keys_[n_present++] = key;
    least = std::min(least, rank);
  }
  std::copy_n(spare_.begin(), n_missing, keys_.begin() + n_present);
  return {least, most, n_present};
}

template <class Scan>
bool ForestEngine::try_sorted(Scan& scan, int column, const Rows& rows) {
  const Span span = gather(scan, column, rows);
  const std::int64_t n = span.n_present, n_missing = rows.n - n;
  if (n == 0 || (n_missing == 0 && span.least == span.most)) return true;
  if (n_missing == 0) {
    const auto* const sorted = sorter_.sort(keys_.data(), spare_.data(), n, span.least, span.most);
    try_cuts(scan, column, nullptr, 0, sorted, n);
    return false;
  }
  // The sorter may overwrite keys behind the last one.
  const std::vector<std::uint32_t> missing(keys_.begin() + n, keys_.begin() + rows.n);
  const std::uint32_t* sorted = keys_.data();
  if (span.least < span.most)
    sorted = sorter_.sort(keys_.data(), spare_.data(), n, span.least, span.most);
  try_cuts(scan, column, missing.data(), n_missing, sorted, n);
  return false;
}

template <class Scan>
void ForestEngine::try_cuts(Scan& scan, int column, const std::uint32_t* missing,
                            std::int64_t n_missing, const std::uint32_t* sorted, std::int64_t n) {
  const bool has_missing = n_missing > 0;
  for (const bool missing_left : {false, true}) {
    if (missing_left && !has_missing) break;
    auto left = scan.empty_left();
    for (std::int64_t i = 0; missing_left && i < n_missing; ++i)
      scan.add(left, missing[i] & payload_mask);
    double bar = best_.bar;
    for (std::int64_t i = 0; i + 1 < n; ++i) {
      scan.add(left, sorted[i] & payload_mask);
      const std::uint32_t rank = sorted[i] >> payload_bits, next = sorted[i + 1] >> payload_bits;
      if (rank == next || !scan.beats(left, bar)) continue;
      take(scan, left, column, static_cast<int>(rank), static_cast<int>(next), missing_left,
           has_missing);
      bar = best_.bar;
    }
    if (has_missing && !missing_left) {
      scan.add(left, sorted[n - 1] & payload_mask);
      if (parts_missing(scan, left, column)) take(scan, left, column, all_values, 0, false, true);
    }
  }
}

// ---- the best split ----

// Computes the gain from the integer sums with the criterion itself.
template <class Judge>
bool ForestEngine::settle(Judge&& judge) {
  const auto size = static_cast<std::size_t>(growing_tree_->channels.cell_size());
  if (best_left_.size() != size) throw std::logic_error("a scan wrote a cell of the wrong size");
  const auto judged = judge.judge(best_left_.data());
  if (!judged.is_admitted || !judge.is_worth(judged.gain, judged.children)) return false;
  split_.gain = judged.gain;
  split_.column = best_.column;
  split_.bin = best_.rank;
  split_.missing_left = best_.missing_left;
  if (table_->any_levels()) split_.left_set = levels_.set_of(best_.column);
  split_.parts_missing = best_.rank == all_values && split_.left_set.empty();
  if (best_.rank == all_values)
    split_.threshold = std::numeric_limits<double>::infinity();
  else
    split_.threshold = params_.random_cuts
                           ? best_.threshold
                           : table_->threshold(best_.column, best_.rank, best_.next);
  return true;
}

std::vector<int> ForestEngine::search_level(const std::vector<int>&, data::CandidateColumns) {
  throw std::logic_error("symmetric growth is not supported by forests");
}

// ---- partitioning rows ----

std::vector<std::int64_t> ForestEngine::send_rows(const std::vector<tree::Announced>& nodes) {
  std::vector<std::int64_t> middles;
  for (const tree::Announced& one : nodes) {
    const tree::Node& parent = growing_tree_->nodes[one.node];
    middles.push_back(send(parent.begin, parent.end, parent.split));
  }
  return middles;
}

std::int64_t ForestEngine::send(std::int64_t begin, std::int64_t end, const split::Split& split) {
  if (!split.left_set.empty()) return send_levels(begin, end, split);
  const int column = split.column, rank = split.bin;
  if (const int bit = binary_columns_ ? binary_columns_->bit_of(column) : -1;
      bit >= 0 && params_.random_cuts)
    return growing_tree_->rows.split_by(begin, end, [=, words = binary_columns_->words()](Row row) {
      return (words[row] >> bit & 1) == 0;
    });
  if (params_.random_cuts)
    return table_->holds_floats()
               ? send_by_value(random_floats_, table_->floats(), begin, end, split)
               : send_by_value(random_doubles_, table_->doubles(), begin, end, split);
  const data::Rank* const ranks = table_->ranks() + column;
  const std::int64_t stride = table_->stride();
  // Unsigned: a missing value is rank 0 and wraps to the far right unless it goes left.
  const std::uint32_t offset = split.missing_left ? 0 : 1;
  const auto limit = static_cast<std::uint32_t>(rank) - offset;
  return growing_tree_->rows.split_by(begin, end, [=](Row row) {
    return static_cast<std::uint32_t>(ranks[row * stride]) - offset <= limit;
  });
}

// The values of the best column are usually still in their slot.
template <class T>
std::int64_t ForestEngine::send_by_value(const RandomThresholdValues<T>& drawn, const T* values,
                                         std::int64_t begin, std::int64_t end,
                                         const split::Split& split) {
  const kernels::RandomThresholdTest<T> test{at_most<T>(split.threshold), split.missing_left};
  if (threshold_rows_ == growing_tree_->rows.at(begin) && best_slot_ >= 0) {
    threshold_rows_ = nullptr;
    return growing_tree_->rows.split_by_values(begin, end, drawn.slot(best_slot_), test);
  }
  return growing_tree_->rows.split_by(
      begin, end, [=, x = values + split.column, stride = table_->stride()](Row row) {
        return test.goes_left(x[row * stride]);
      });
}

}  // namespace weald::forest
