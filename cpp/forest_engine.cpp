#include "forest_engine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace weald {
namespace {

// From so many rows on a node looks at the 255 bins of a column instead of all its values: a cut
// then is within 1/255 of the table's mass of the best one.
constexpr std::int64_t large_node = 1024;

// A column of few values is counted if a node has at least this share of a row for each.
constexpr std::int64_t rows_per_bin = 2;  // one row for two bins

// Scores that differ by less than this share are equal, whatever rounding made of them: the cut
// tried first stays.
constexpr double tie = 1e-12;

constexpr std::int64_t short_run = 40;  // rows up to which insertion sorts fastest

void sort_by_insertion(std::uint32_t* keys, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    const std::uint32_t key = keys[i];
    std::int64_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

// Sorts by one byte of the rank; stable.
void sort_by_byte(const std::uint32_t* keys, std::int64_t n, int shift, std::uint32_t* out) {
  std::array<std::uint32_t, 256> start{};
  for (std::int64_t i = 0; i < n; ++i) ++start[(keys[i] >> shift) & 255];
  std::uint32_t total = 0;
  for (auto& one : start) total += std::exchange(one, total);
  for (std::int64_t i = 0; i < n; ++i) out[start[(keys[i] >> shift) & 255]++] = keys[i];
}

// Keys are a rank above 16 bits that already rise from key to key.
void sort_keys(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& spare,
               std::int64_t n) {
  if (n <= short_run) return sort_by_insertion(keys.data(), n);
  sort_by_byte(keys.data(), n, 16, spare.data());
  sort_by_byte(spare.data(), n, 24, keys.data());
}

}  // namespace

ForestEngine::ForestEngine(std::shared_ptr<const RankedTable> table, const ForestParams& forest,
                           std::string_view criterion, const SplitLimits& limits, Sapling& sapling)
    : table_(std::move(table)),
      forest_(forest),
      criterion_(criterion),
      limits_(limits),
      sapling_(sapling),
      order_(static_cast<std::size_t>(table_->n_columns())) {
  if (forest.max_features < 1 || forest.max_features > table_->n_columns())
    throw std::invalid_argument("max_features must be between 1 and the number of columns");
  if (criterion == Newton::name) throw std::invalid_argument("forests know no newton criterion");
}

void ForestEngine::start() {
  const Channels& channels = sapling_.channels;
  const Target& target = channels.target();
  const std::int64_t* const totals = sapling_.totals_of(0);
  const double weight = channels.weight_of(totals);
  // As scikit-learn: what just reaches the limit is let through.
  limits_.min_gain = forest_.min_decrease > 0.0 ? forest_.min_decrease * weight * (1.0 - 1e-12)
                                                : -std::numeric_limits<double>::infinity();
  limits_.min_child_weight = forest_.min_weight_share * weight * (1.0 - 1e-12);

  const bool counts_itself = limits_.min_samples_leaf <= 1 || channels.count_index() == 0;
  if (criterion_ == Entropy::name)
    scan_.emplace<CellScan<Entropy>>();
  else if (target.n_channels == 2 && target.classes && counts_itself)
    scan_.emplace<PairScan<true>>();
  else if (target.classes && !target.weight && totals[0] < ClassScan::most_copies)
    scan_.emplace<ClassScan>();
  else if (target.classes)
    scan_.emplace<CellScan<Gini>>();
  else if (target.n_channels == 1 && counts_itself)
    scan_.emplace<PairScan<false>>();
  else
    scan_.emplace<CellScan<Variance>>();

  draws_.clear();
  draws_.emplace_back(forest_.seed, target.member, Purpose::columns);
  for (std::size_t c = 0; c < order_.size(); ++c) order_[c] = static_cast<int>(c);
  if (forest_.columns_of_tree) draw_columns_of_tree(draws_[0]);
}

void ForestEngine::draw_columns_of_tree(const Draws& draws) {
  const auto n = static_cast<int>(order_.size());
  for (int j = 0; j < forest_.max_features; ++j)
    std::swap(order_[j], order_[j + static_cast<int>(draws.below(j, n - j))]);
}

// ---- searching ----

void ForestEngine::search(const Siblings& siblings) {
  if (siblings.parent >= 0) {
    draws_.push_back(draws_[siblings.parent].child(false));
    draws_.push_back(draws_[siblings.parent].child(true));
  }
  std::visit(
      [&](auto& scan) {
        if (siblings.wants_left) search_node(scan, siblings.left);
        if (siblings.wants_right) search_node(scan, siblings.right);
      },
      scan_);
}

// Columns are drawn one after another; more than max_features only as long as none can be cut.
template <class Scan>
void ForestEngine::search_node(Scan& scan, int node) {
  const std::int64_t n_rows = sapling_.nodes[node].n_rows();
  const Row* const rows = sapling_.rows_of(node);
  scan.load(sapling_, limits_, node);
  best_ = {};
  const auto n = static_cast<int>(order_.size());
  if (forest_.columns_of_tree) {
    for (int j = 0; j < forest_.max_features; ++j)
      try_column(scan, order_[j], n_rows, rows, draws_[node]);
  } else {
    swaps_.clear();
    for (int j = 0; j < n && (j < forest_.max_features || best_.column < 0); ++j) {
      const int k = j + static_cast<int>(draws_[node].below(j, n - j));
      std::swap(order_[j], order_[k]);
      swaps_.push_back(k);
      try_column(scan, order_[j], n_rows, rows, draws_[node]);
    }
    for (int j = static_cast<int>(swaps_.size()); j-- > 0;) std::swap(order_[j], order_[swaps_[j]]);
  }
  if (best_.column < 0) return;
  if (criterion_ == Entropy::name)
    settle<Entropy>(node);
  else
    settle<Variance>(node);
}

template <class Scan>
void ForestEngine::try_column(Scan& scan, int column, std::int64_t n_rows, const Row* rows,
                              const Draws& draws) {
  if (forest_.random_cuts) return try_drawn(scan, column, n_rows, rows, draws);
  const int n_bins = table_->n_bins(column);
  const bool is_exact = table_->bin_of_rank(column) == nullptr;
  if (n_rows >= large_node || (is_exact && n_rows * rows_per_bin >= n_bins))
    try_bins(scan, column, n_rows, rows);
  else
    try_sorted(scan, column, n_rows, rows);
}

// Is this cut better than the best so far?
template <class Scan>
void ForestEngine::judge(Scan& scan, int column, int rank, int next, bool missing_left,
                         bool has_missing, double threshold) {
  const double score = scan.score();
  if (!(score > best_.score + tie * std::abs(best_.score)) && best_.column >= 0) return;
  if (score == no_score) return;
  // A value missing only when predicting goes with the heavier child.
  best_ = {score,    column, rank, next, has_missing ? missing_left : scan.left_is_heavier(),
           threshold};
  scan.write(best_left_);
}

template <class Scan>
void ForestEngine::try_bins(Scan& scan, int column, std::int64_t n_rows, const Row* rows) {
  const Rank* const ranks = table_->ranks_of(column);
  const Code* const bin_of = table_->bin_of_rank(column);
  const int n_bins = table_->n_bins(column), width = scan.cell_width();
  // One integer more tells how many rows a bin has: weights may be too small to be seen.
  const std::int64_t stride = width + 1;
  cells_.assign(static_cast<std::size_t>((n_bins + 1) * stride), 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const Rank rank = ranks[rows[i]];
    std::int64_t* const cell = cells_.data() + (bin_of ? bin_of[rank] : rank) * stride;
    scan.count(i, cell);
    ++cell[width];
  }
  const std::int64_t n_present = n_rows - cells_[width];
  const bool has_missing = n_present < n_rows;
  for (const bool missing_left : {false, true}) {
    if (missing_left && !has_missing) break;
    scan.clear();
    if (missing_left) scan.add_bin(cells_.data());
    int last = 0;  // the last bin that has rows
    std::int64_t seen = 0;
    for (int bin = 1; bin <= n_bins && seen < n_present; ++bin) {
      const std::int64_t* const cell = cells_.data() + bin * stride;
      if (cell[width] == 0) continue;
      if (last > 0) {
        const int rank = bin_of ? table_->last_rank(column, last) : last;
        judge(scan, column, rank, bin_of ? rank + 1 : bin, missing_left, has_missing);
      }
      scan.add_bin(cell);
      seen += cell[width];
      last = bin;
    }
    if (has_missing && !missing_left && n_present > 0)
      judge(scan, column, all_values, 0, false, true);
  }
}

// Reads the ranks of a node's rows: keys of those present come first, missing ones last. Returns
// how many are present.
std::int64_t ForestEngine::gather(int column, std::int64_t n_rows, const Row* rows) {
  const Rank* const ranks = table_->ranks_of(column);
  if (static_cast<std::int64_t>(keys_.size()) < n_rows) {
    keys_.resize(static_cast<std::size_t>(n_rows));
    spare_.resize(static_cast<std::size_t>(n_rows));
  }
  std::uint32_t least = most_ranks + 1, most = 0, smallest = most_ranks;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const std::uint32_t rank = ranks[rows[i]];
    keys_[i] = rank << 16 | static_cast<std::uint32_t>(i & 0xffff);
    most = std::max(most, rank);
    smallest = std::min(smallest, rank);
    least = std::min(least, rank - 1);  // a missing one becomes the largest
  }
  least_ = static_cast<Rank>(least + 1);
  most_ = static_cast<Rank>(most);
  n_missing_ = 0;
  if (smallest > 0) return n_rows;
  std::int64_t n_present = 0;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const std::uint32_t key = keys_[i];
    if (key >> 16)
      keys_[n_present++] = key;
    else
      spare_[n_missing_++] = key;
  }
  std::copy_n(spare_.begin(), n_missing_, keys_.begin() + n_present);
  return n_present;
}

template <class Scan>
void ForestEngine::try_sorted(Scan& scan, int column, std::int64_t n_rows, const Row* rows) {
  const std::int64_t n = gather(column, n_rows, rows);
  const bool has_missing = n < n_rows;
  if (n == 0 || (!has_missing && least_ == most_)) return;
  if (least_ < most_) sort_keys(keys_, spare_, n);
  for (const bool missing_left : {false, true}) {
    if (missing_left && (!has_missing || least_ == most_)) break;
    scan.clear();
    for (std::int64_t i = n; missing_left && i < n_rows; ++i) scan.add(keys_[i] & 0xffff);
    for (std::int64_t i = 0; i + 1 < n; ++i) {
      scan.add(keys_[i] & 0xffff);
      const std::uint32_t rank = keys_[i] >> 16, next = keys_[i + 1] >> 16;
      if (rank != next)
        judge(scan, column, static_cast<int>(rank), static_cast<int>(next), missing_left,
              has_missing);
    }
    if (has_missing && !missing_left) {
      scan.add(keys_[n - 1] & 0xffff);
      judge(scan, column, all_values, 0, false, true);
    }
  }
}

// One cut, uniform between the least and the largest value present; missing values are tried on
// both sides of it.
template <class Scan>
void ForestEngine::try_drawn(Scan& scan, int column, std::int64_t n_rows, const Row* rows,
                             const Draws& draws) {
  const Rank* const ranks = table_->ranks_of(column);
  std::uint32_t least = most_ranks + 1, most = 0, smallest = most_ranks;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const std::uint32_t rank = ranks[rows[i]];
    most = std::max(most, rank);
    smallest = std::min(smallest, rank);
    least = std::min(least, rank - 1);
  }
  ++least;
  const bool has_missing = smallest == 0;
  if (most == 0 || (least == most && !has_missing)) return;
  int cut = all_values;
  double threshold = std::numeric_limits<double>::infinity();
  if (least < most) {
    const double low = table_->low(column, least), high = table_->high(column, most);
    const double u = draws.unit((std::uint64_t{1} << 40) + static_cast<std::uint64_t>(column));
    // Halves first: the difference of two floats may be infinite.
    const double drawn = 2.0 * (low / 2 + u * (high / 2 - low / 2));
    threshold = std::isfinite(drawn) && drawn >= low && drawn < high ? drawn : low;
    int below = static_cast<int>(least), above = static_cast<int>(most);  // low(below) <= threshold
    while (above - below > 1) {
      const int middle = (below + above) / 2;
      (table_->low(column, middle) <= threshold ? below : above) = middle;
    }
    cut = below;
    threshold = std::max(threshold, table_->high(column, cut));
  }
  for (const bool missing_left : {false, true}) {
    if (missing_left && (!has_missing || cut == all_values)) break;
    const std::uint32_t offset = missing_left ? 0 : 1;
    const auto limit = static_cast<std::uint32_t>(cut) - offset;
    scan.clear();
    for (std::int64_t i = 0; i < n_rows; ++i)
      scan.add_if(i, static_cast<std::uint32_t>(ranks[rows[i]]) - offset <= limit);
    judge(scan, column, cut, 0, missing_left, has_missing, threshold);
  }
}

// The gain comes from the integer sums by the criterion itself.
template <Criterion C>
void ForestEngine::settle(int node) {
  SplitJudge<C> judge(sapling_.channels, limits_, sapling_.totals_of(node));
  auto& left = best_left_;
  const auto size = static_cast<std::size_t>(sapling_.channels.cell_size());
  if (left.size() != size) throw std::logic_error("a scan wrote a cell of another size");
  const auto judged = judge.judge(left.data());
  if (!judged.is_admitted || !judge.is_worth(judged.gain, judged.children)) return;
  Split split{judged.gain, best_.column, best_.rank, best_.missing_left};
  if (best_.rank == all_values)
    split.threshold = std::numeric_limits<double>::infinity();
  else
    split.threshold = forest_.random_cuts ? best_.threshold
                                          : table_->threshold(best_.column, best_.rank, best_.next);
  sapling_.nodes[node].split = split;
  sapling_.nodes[node].left_totals = left;
}

std::vector<int> ForestEngine::search_level(const std::vector<int>&, ColumnLook) {
  throw std::logic_error("symmetric growth draws no columns");
}

// ---- sending rows ----

std::int64_t ForestEngine::send_rows(int node, bool) {
  const Node& parent = sapling_.nodes[node];
  const Rank* const ranks = table_->ranks_of(parent.split.column);
  // Without sign: a missing value is rank 0, and far to the right if it does not go left.
  const std::uint32_t offset = parent.split.missing_left ? 0 : 1;
  const auto limit = static_cast<std::uint32_t>(parent.split.bin) - offset;
  return sapling_.rows.split_by(parent.begin, parent.end, [=](Row row) {
    return static_cast<std::uint32_t>(ranks[row]) - offset <= limit;
  });
}

void ForestEngine::send_unseen_rows(const Tree& tree, std::int32_t* leaf_of_row) const {
  walk_unseen_rows(tree, sapling_.channels.target().copies, table_->n_rows(), 1, leaf_of_row,
                   [&](Row row, std::int32_t node) {
                     const int column = tree.feature[node];
                     const Rank rank = table_->ranks_of(column)[row];
                     if (rank == 0) return tree.missing_left[node] != 0;
                     return table_->low(column, rank) <= tree.threshold[node];
                   });
}

}  // namespace weald
