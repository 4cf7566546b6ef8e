#include "stumps/stumps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.hpp"
#include "criteria/stump_scores.hpp"
#include "data/binning.hpp"
#include "data/sorted_keys.hpp"

namespace weald::stumps {
namespace {

// A value and its row.
template <class K>
struct Placed {
  K key;
  Row row;
};

constexpr std::int64_t block = 256;    // candidates scored together
constexpr std::int64_t bin_rows = 32;  // target rows per bin
constexpr std::int64_t usual_bins = 512;
constexpr std::int64_t few_values = 255;         // have a bin each
constexpr std::int64_t worth_binning = 1 << 12;  // rows; smaller tables are scanned value by value
constexpr std::int64_t worth_a_thread = 1 << 15;
constexpr int most_bounded = 4;  // classes: the bound evaluates 2^classes corners
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = 0x1p-40;

// scores[i] of n candidates: left[k * block + i] + extra[k] is the weight of class k on the left.
// N: the number of classes if known at compile time, otherwise 0.
template <class Criterion, int N>
void score_cuts(const double* left, std::int64_t n, const double* totals, const double* extra,
                int n_classes, double* scores) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto side = [&](int k) { return left[k * block + i] + extra[k]; };
    scores[i] = criteria::score_of<Criterion>(side, totals, N > 0 ? N : n_classes, -infinity);
  }
}

// Upper bound of the score of any candidate between two others, if no side is empty: the class sums
// lie between `low` and `high`.
template <class Criterion>
double most_between(const double* low, const double* high, const double* totals,
                    const double* extra, int n_classes) {
  if (n_classes > most_bounded) return infinity;
  // An empty side is not a candidate but a limit of candidates: it scores like no split.
  const auto all = [&](int k) { return totals[k]; };
  const double empty = Criterion::score(all, n_classes, criteria::weight_of(all, n_classes));
  double most = -infinity;
  for (unsigned corner = 0; corner < 1u << n_classes; ++corner) {
    const auto side = [&](int k) { return (corner >> k & 1 ? high[k] : low[k]) + extra[k]; };
    most = std::max(most, criteria::score_of<Criterion>(side, totals, n_classes, empty));
  }
  return most;
}

}  // namespace

// Scratch of a thread, reused from bin to bin.
struct StumpSearch::Scratch {
  std::vector<double> left;         // [classes][block]
  std::vector<double> sums;         // [classes], running
  std::vector<double> nothing;      // [classes], zeros
  std::int64_t places[block] = {};  // position of the last value left of each candidate
  double on_right[block] = {};      // scores with missing values on the right
  double on_left[block] = {};       // and on the left

  explicit Scratch(int n_classes)
      : left(static_cast<std::size_t>(n_classes) * block),
        sums(static_cast<std::size_t>(n_classes)),
        nothing(sums.size(), 0.0) {}
};

struct StumpSearch::Cut {
  int column = -1;
  std::int64_t place = -1;  // position of the last value that goes left, or
  data::LevelSet set;       // the levels that do
  bool missing_left = false;
  std::vector<double> left;
};

template <class T>
StumpSearch::StumpSearch(const data::Table<T>& table, const std::int32_t* classes, int n_classes,
                         int max_bins, int n_threads, const std::int32_t* n_levels)
    : table_(table),
      classes_(classes, classes + table.n_rows),
      n_classes_(n_classes),
      n_threads_(table.n_rows * table.n_columns >= worth_a_thread ? n_threads : 1),
      n_rows_(table.n_rows),
      columns_(static_cast<std::size_t>(table.n_columns)),
      totals_(static_cast<std::size_t>(n_classes)) {
  if (max_bins == 0) {
    const std::int64_t enough = std::clamp<std::int64_t>(n_rows_ / bin_rows, 1, usual_bins);
    max_bins = n_rows_ < worth_binning ? 1 : static_cast<int>(enough);
  }
  parallel_for(table.n_columns, n_threads_, [&](std::int64_t column, int) {
    if (n_levels && n_levels[column] > 0)
      columns_[column].sets.emplace(table, column, n_levels[column]);
    else
      prepare(table, static_cast<int>(column), max_bins);
  });
}

// Bin boundaries as positions: one bin per value if there are few, otherwise about equal numbers of
// rows.
template <class T>
std::vector<std::int64_t> StumpSearch::ends_of_bins(const std::vector<T>& items, int max_bins) {
  const auto n = static_cast<std::int64_t>(items.size());
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 0; i < n; ++i)
    if (i + 1 == n || items[i].key != items[i + 1].key) ends.push_back(i + 1);
  const bool one_each = static_cast<std::int64_t>(ends.size()) <=
                        std::max<std::int64_t>(max_bins, max_bins > 1 ? few_values : 1);
  if (one_each) return ends;
  std::vector<std::int64_t> joined;
  for (const std::int64_t end : ends)
    if (end * max_bins >= (static_cast<std::int64_t>(joined.size()) + 1) * n) joined.push_back(end);
  return joined;
}

template <class T>
void StumpSearch::prepare(const data::Table<T>& table, int column, int max_bins) {
  Column& out = columns_[column];
  std::vector<Placed<data::Key<T>>> items, spare;
  std::vector<Row> missing;
  items.reserve(static_cast<std::size_t>(n_rows_));
  for (std::int64_t row = 0; row < n_rows_; ++row) {
    const T x = table.at(row, column);
    if (x == x)
      items.push_back({data::key_of(x), static_cast<Row>(row)});
    else
      missing.push_back(static_cast<Row>(row));
  }
  data::radix_sort(items, spare);
  out.begin = ends_of_bins(items, max_bins);
  out.begin.insert(out.begin.begin(), 0);
  out.n_bins = static_cast<std::int64_t>(out.begin.size()) - 1;

  const auto n = static_cast<std::int64_t>(items.size());
  out.order.reserve(static_cast<std::size_t>(n_rows_));
  out.is_last.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    out.order.push_back(items[i].row);
    out.is_last[i] = i + 1 == n || items[i].key != items[i + 1].key;
  }
  out.order.insert(out.order.end(), missing.begin(), missing.end());
  for (std::int64_t bin = 0; bin < out.n_bins; ++bin) {
    const auto* const first = out.is_last.data() + out.begin[bin];
    out.is_one.push_back(std::find(first, first + (out.begin[bin + 1] - out.begin[bin]), 1) ==
                         out.is_last.data() + out.begin[bin + 1] - 1);
  }
  if (out.n_bins < 2) return;  // no codes needed
  out.codes.resize(static_cast<std::size_t>(n_rows_));
  for (std::int64_t bin = 0; bin <= out.n_bins; ++bin) {
    const std::int64_t end = bin < out.n_bins ? out.begin[bin + 1] : n_rows_;
    for (std::int64_t i = out.begin[bin]; i < end; ++i)
      out.codes[out.order[i]] = static_cast<std::uint16_t>(bin);
  }
}

// Class weights below each bin and of missing values: one pass over the codes.
void StumpSearch::sum_classes(Column& column) const {
  const int n_classes = n_classes_;
  auto& cells = column.below;
  cells.assign(static_cast<std::size_t>((column.n_bins + 2) * n_classes), 0.0);
  // Offset by one bin: the sums of a bin are stored where those below the next one belong.
  double* const of_bin = cells.data() + n_classes;
  if (column.n_bins < 2) {
    for (std::int64_t i = 0; i < n_rows_; ++i) {
      const Row row = column.order[i];
      of_bin[(i < column.n_present() ? 0 : column.n_bins) * n_classes + classes_[row]] +=
          mass_[row];
    }
  } else {
    for (std::int64_t row = 0; row < n_rows_; ++row)
      of_bin[std::int64_t{column.codes[row]} * n_classes + classes_[row]] += mass_[row];
  }
  const double* const last = of_bin + column.n_bins * n_classes;
  column.missing.assign(last, last + n_classes);
  column.has_missing = criteria::weight_of(column.missing) > 0.0;
  for (std::int64_t i = n_classes; i < (column.n_bins + 1) * n_classes; ++i)
    cells[i] += cells[i - n_classes];
}

// Score the candidates between bins and bound those inside; returns the best of the former.
template <class Criterion>
double StumpSearch::search_bins(Column& column) const {
  if (column.sets) {
    column.sets->sum_classes(classes_.data(), mass_, n_classes_, row_weight_);
    return column.sets->best<Criterion>(totals_);
  }
  const std::vector<double> nothing(static_cast<std::size_t>(n_classes_), 0.0);
  if (column.n_bins == 1 && column.n_present() == n_rows_) {
    // All values in one bin: they are scanned one by one anyway.
    column.below = column.missing = nothing;
    column.has_missing = false;
    column.reach.assign(1, column.is_one[0] ? -infinity : infinity);
    return -infinity;
  }
  sum_classes(column);
  column.reach.assign(static_cast<std::size_t>(column.n_bins), -infinity);
  double best = -infinity;
  for (std::int64_t bin = 0; bin < column.n_bins; ++bin) {
    const double* const low = column.below.data() + bin * n_classes_;
    const double* const high = low + n_classes_;
    double& reach = column.reach[bin];
    for (const bool missing_left : {false, true}) {
      if (missing_left && !column.has_missing) continue;
      const double* const extra = missing_left ? column.missing.data() : nothing.data();
      const auto side = [&](int k) { return high[k] + extra[k]; };
      const double cut = criteria::score_of<Criterion>(side, totals_.data(), n_classes_, -infinity);
      best = std::max(best, cut);
      reach = std::max(reach,
                       column.is_one[bin]
                           ? cut
                           : most_between<Criterion>(low, high, totals_.data(), extra, n_classes_));
    }
  }
  return best;
}

// Call take(n) for the candidates inside a bin, up to `block` at a time, scored in scratch.
template <class Criterion, class Take>
void StumpSearch::score_inside(const Column& column, std::int64_t bin, Scratch& scratch,
                               Take&& take) const {
  const double* const low = column.below.data() + bin * n_classes_;
  std::copy(low, low + n_classes_, scratch.sums.begin());
  const Row* const order = column.order.data();
  const std::uint8_t* const is_last = column.is_last.data();
  double* const left = scratch.left.data();
  const std::int64_t end = column.begin[bin + 1];
  const auto score_all = n_classes_ == 2 ? &score_cuts<Criterion, 2> : &score_cuts<Criterion, 0>;
  for (std::int64_t i = column.begin[bin]; i < end;) {
    std::int64_t n = 0;
    if (n_classes_ == 2) {
      // Branch-free: entries before the last row of a value are overwritten. Benchmark row
      // `adaboost_small`: the loop for any number of classes takes 1.34 times the processor time.
      double first = scratch.sums[0], second = scratch.sums[1];
      for (; i < end && n < block; ++i) {
        const double s = signed_[order[i]];
        first -= s < 0.0 ? s : 0.0;
        second += s > 0.0 ? s : 0.0;
        left[n] = first;
        left[block + n] = second;
        scratch.places[n] = i;
        n += is_last[i];
      }
      scratch.sums[0] = first;
      scratch.sums[1] = second;
    } else {
      for (; i < end && n < block; ++i) {
        scratch.sums[classes_[order[i]]] += mass_[order[i]];
        if (!is_last[i]) continue;
        for (int k = 0; k < n_classes_; ++k) left[k * block + n] = scratch.sums[k];
        scratch.places[n++] = i;
      }
    }
    score_all(left, n, totals_.data(), scratch.nothing.data(), n_classes_, scratch.on_right);
    if (column.has_missing)
      score_all(left, n, totals_.data(), column.missing.data(), n_classes_, scratch.on_left);
    take(n);
  }
}

template <class Criterion>
double StumpSearch::best_inside(const Column& column, std::int64_t bin, Scratch& scratch) const {
  double best = -infinity;
  score_inside<Criterion>(column, bin, scratch, [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) best = std::max(best, scratch.on_right[i]);
    for (std::int64_t i = 0; column.has_missing && i < n; ++i)
      best = std::max(best, scratch.on_left[i]);
  });
  return best;
}

template <class Criterion>
StumpSearch::Cut StumpSearch::first_inside(const Column& column, std::int64_t bin, double bar,
                                           Scratch& scratch) const {
  Cut cut;
  score_inside<Criterion>(column, bin, scratch, [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n && cut.place < 0; ++i) {
      const bool on_right = scratch.on_right[i] >= bar;
      if (!on_right && !(column.has_missing && scratch.on_left[i] >= bar)) continue;
      cut.place = scratch.places[i];
      cut.missing_left = !on_right;
      for (int k = 0; k < n_classes_; ++k)
        cut.left.push_back(scratch.left[k * block + i] + (on_right ? 0.0 : column.missing[k]));
    }
  });
  return cut;
}

// The best score overall, given that of the candidates between bins: scans the bins that may
// contain a better one, most promising first.
template <class Criterion>
double StumpSearch::refine(double best) {
  struct Open {
    double reach;
    int column;
    std::int64_t bin;
  };
  std::vector<Open> open;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    for (std::int64_t bin = 0; bin < columns_[c].n_bins; ++bin)
      if (columns_[c].reach[bin] > best)
        open.push_back({columns_[c].reach[bin], static_cast<int>(c), bin});
  std::stable_sort(open.begin(), open.end(),
                   [](const Open& a, const Open& b) { return a.reach > b.reach; });
  std::vector<Scratch> scratch(static_cast<std::size_t>(n_threads_), Scratch(n_classes_));
  const auto n_open = static_cast<std::int64_t>(open.size());
  for (std::int64_t first = 0; first < n_open && open[first].reach > best;) {
    // A few bins per thread; the best score so far prunes the next.
    const std::int64_t n = std::min<std::int64_t>(n_open - first, 8 * n_threads_);
    std::vector<double> found(static_cast<std::size_t>(n));
    parallel_for(n, n_threads_, [&](std::int64_t i, int worker) {
      const Open& at = open[first + i];
      found[i] = best_inside<Criterion>(columns_[at.column], at.bin, scratch[worker]);
    });
    for (std::int64_t i = 0; i < n; ++i)
      columns_[open[first + i].column].reach[open[first + i].bin] = found[i];  // known now
    best = std::max(best, *std::max_element(found.begin(), found.end()));
    first += n;
  }
  return best;
}

template <class Criterion>
StumpSearch::Cut StumpSearch::first_at_least(double bar) const {
  Scratch scratch(n_classes_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].sets) {
      StumpSets::Pair pair = columns_[c].sets->first<Criterion>(totals_, bar);
      if (pair.set.empty()) continue;
      Cut cut;
      cut.column = static_cast<int>(c);
      cut.set = std::move(pair.set);
      cut.missing_left = pair.missing_left;
      cut.left = std::move(pair.left);
      return cut;
    }
    for (std::int64_t bin = 0; bin < columns_[c].n_bins; ++bin) {
      if (columns_[c].reach[bin] < bar) continue;
      Cut cut = first_inside<Criterion>(columns_[c], bin, bar, scratch);
      if (cut.place < 0) continue;
      cut.column = static_cast<int>(c);
      return cut;
    }
  }
  return {};
}

Stump StumpSearch::find(const double* mass, double row_weight, std::string_view criterion,
                        std::uint8_t* goes_right) {
  mass_ = mass;
  row_weight_ = row_weight;
  std::fill(totals_.begin(), totals_.end(), 0.0);
  for (std::int64_t row = 0; row < n_rows_; ++row) totals_[classes_[row]] += mass[row];
  total_ = criteria::weight_of(totals_);
  if (n_classes_ == 2) {
    signed_.resize(static_cast<std::size_t>(n_rows_));
    for (std::int64_t row = 0; row < n_rows_; ++row)
      signed_[row] = classes_[row] ? mass[row] : -mass[row];
  }
  if (criterion == criteria::LeastGini::name) return find_by<criteria::LeastGini>(goes_right);
  if (criterion == criteria::LeastEntropy::name) return find_by<criteria::LeastEntropy>(goes_right);
  return find_by<criteria::LeastError>(goes_right);
}

bool StumpSearch::knows(std::string_view criterion) {
  return criterion == criteria::LeastError::name || criterion == criteria::LeastGini::name ||
         criterion == criteria::LeastEntropy::name;
}

template <class Criterion>
Stump StumpSearch::find_by(std::uint8_t* goes_right) {
  Stump stump;
  std::fill_n(goes_right, n_rows_, std::uint8_t{0});
  stump.left = totals_;
  stump.right.assign(totals_.size(), 0.0);
  if (std::count_if(totals_.begin(), totals_.end(), [](double sum) { return sum > 0.0; }) < 2)
    return stump;  // one class: nothing to split

  std::vector<double> seen(columns_.size());
  parallel_for(static_cast<std::int64_t>(columns_.size()), n_threads_,
               [&](std::int64_t c, int) { seen[c] = search_bins<Criterion>(columns_[c]); });
  const double best = refine<Criterion>(*std::max_element(seen.begin(), seen.end()));
  if (best == -infinity) return stump;  // all columns are constant
  Cut cut = first_at_least<Criterion>(best - tolerance * total_);
  const Column& column = columns_[cut.column];
  stump.column = cut.column;
  stump.left = std::move(cut.left);
  for (int k = 0; k < n_classes_; ++k) stump.right[k] = totals_[k] - stump.left[k];
  const auto all = [&](int k) { return totals_[k]; };
  const auto left = [&](int k) { return stump.left[k]; };
  stump.gain = (criteria::score_of<Criterion>(left, totals_.data(), n_classes_, 0.0) -
                Criterion::score(all, n_classes_, total_)) /
               total_;
  if (column.sets) {
    stump.missing_left = cut.missing_left;
    column.sets->send(cut.set, cut.missing_left, goes_right);
    stump.left_set = std::move(cut.set);
    return stump;
  }
  if (!column.has_missing) {
    // Values missing only at prediction time go to the heavier side.
    cut.missing_left = criteria::weight_of(stump.left) >= criteria::weight_of(stump.right);
  } else if (!cut.missing_left && stump.right == column.missing) {
    cut.place = column.n_present() - 1;  // present values against missing ones
  }
  stump.missing_left = cut.missing_left;
  stump.threshold =
      cut.place + 1 == column.n_present()
          ? infinity
          : data::cut_between(value_at(cut.column, cut.place), value_at(cut.column, cut.place + 1));
  for (std::int64_t i = cut.place + 1; i < n_rows_; ++i)
    goes_right[column.order[i]] = i < column.n_present() || !cut.missing_left;
  return stump;
}

double StumpSearch::value_at(int column, std::int64_t place) const {
  const Row row = columns_[column].order[place];
  return std::visit([&](const auto& table) { return static_cast<double>(table.at(row, column)); },
                    table_);
}

template StumpSearch::StumpSearch(const data::Table<float>&, const std::int32_t*, int, int, int,
                                  const std::int32_t*);
template StumpSearch::StumpSearch(const data::Table<double>&, const std::int32_t*, int, int, int,
                                  const std::int32_t*);

}  // namespace weald::stumps
