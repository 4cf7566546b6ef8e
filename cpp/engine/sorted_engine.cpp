#include "engine/sorted_engine.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/parallel.hpp"
#include "data/binning.hpp"
#include "data/sorted_keys.hpp"
#include "target/labels.hpp"

namespace weald::engine {
namespace {

// Below this many entries a second thread, or an interrupt check, does not pay.
constexpr std::int64_t worth_a_thread = 10'000;

template <class T>
struct Keyed {
  data::Key<T> key;
  Row row;
};

// Filters entries and keeps the first-of-value mark: if a marked entry is dropped, the next kept
// one inherits it.
class Thinned {
 public:
  explicit Thinned(split::Place* to) : to_(to) {}

  void add(split::Place place, bool is_kept) {
    mark_ |= place & split::first_of_value;
    // Unconditional store: a branch would be mispredicted half of the time.
    to_[n_] = split::row_of(place) | mark_;
    n_ += is_kept;
    mark_ &= is_kept ? 0 : split::first_of_value;
  }
  std::int64_t size() const { return n_; }

 private:
  split::Place* to_;
  std::int64_t n_ = 0;
  split::Place mark_ = 0;
};

}  // namespace

template <class T>
SortedEngine<T>::SortedEngine(const data::Table<T>& table, const CutsView& cuts,
                              std::string_view criterion, const split::SplitLimits& limits,
                              int n_threads, tree::GrowingTree& growing_tree)
    : table_(table),
      cuts_(cuts),
      criterion_(criterion),
      limits_(limits),
      n_threads_(n_threads),
      growing_tree_(growing_tree),
      channels_(growing_tree.channels),
      has_missing_(static_cast<std::size_t>(table.n_columns)),
      order_(static_cast<std::size_t>(table.n_rows * table.n_columns)),
      side_(static_cast<std::size_t>(table.n_rows)),
      spare_(static_cast<std::size_t>(n_threads)) {
  if (table.n_rows >= std::int64_t{split::first_of_value})
    throw std::invalid_argument("more than 255 bins require a table of less than 2^31 rows");
  sort_columns();
}

// Missing values first; then the values ascending, with the first entry of each value (or bin)
// marked.
template <class T>
void SortedEngine<T>::sort_columns() {
  const std::int64_t n = table_.n_rows;
  std::vector<char> is_constant(has_missing_.size());
  std::vector<std::vector<Keyed<T>>> items(spare_.size()), spare(spare_.size());
  parallel_for(table_.n_columns, n_threads_, [&](std::int64_t column, int worker) {
    auto& sorted = items[worker];
    sorted.resize(static_cast<std::size_t>(n));
    for (std::int64_t row = 0; row < n; ++row) {
      const T x = table_.at(row, column);
      sorted[row] = {x == x ? data::key_of(x) : data::Key<T>{0}, static_cast<Row>(row)};
    }
    data::radix_sort(sorted, spare[worker]);
    const double* cut = cuts_.first ? cuts_.values + cuts_.first[column] : nullptr;
    const double* const last_cut = cuts_.first ? cuts_.values + cuts_.first[column + 1] : nullptr;
    split::Place* const places = order_.data() + column * n;
    std::int64_t n_values = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const data::Key<T> key = sorted[i].key;
      bool begins = i == 0 || key != sorted[i - 1].key;
      if (begins && cuts_.first && key != 0 && cuts_.levels_of(column) == 0) {
        const double x = static_cast<double>(data::value_of<T>(key));
        const double* const next = std::find_if(cut, last_cut, [x](double c) { return x <= c; });
        begins = i == 0 || sorted[i - 1].key == 0 || next != cut;
        cut = next;
      }
      places[i] = sorted[i].row | (begins ? split::first_of_value : 0);
      n_values += begins;
    }
    has_missing_[column] = sorted[0].key == 0;
    is_constant[column] = n_values < 2;
  });
  for (int column = 0; column < static_cast<int>(table_.n_columns); ++column)
    if (!is_constant[column]) columns_.push_back(column);
}

template <class T>
void SortedEngine<T>::start() {
  root_in_order_ = growing_tree_.rows.holds_all_rows();
  if (!root_in_order_) start_from_some_rows();
}

template <class T>
void SortedEngine<T>::start_from_some_rows() {
  const std::int64_t n = table_.n_rows;
  const target::Target& target = channels_.target();
  work_.resize(order_.size());
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  parallel_for(n_columns, n_threads_, [&](std::int64_t task, int) {
    const split::Place* const all = order_.data() + columns_[task] * n;
    Thinned seen(work_.data() + columns_[task] * n);
    for (std::int64_t i = 0; i < n; ++i) seen.add(all[i], target.uses(split::row_of(all[i])));
  });
}

template <class T>
const split::Place* SortedEngine<T>::places_of(int node, int column) const {
  const auto& all = node == 0 && root_in_order_ ? order_ : work_;
  return all.data() + column * table_.n_rows + growing_tree_.nodes[node].begin;
}

template <class T>
std::int64_t SortedEngine<T>::n_missing(const split::Place* places, std::int64_t n,
                                        int column) const {
  if (!has_missing_[column]) return 0;
  const T x = value_at(places[0], column);
  if (x == x) return 0;
  return std::find_if(places + 1, places + n, split::is_first) - places;
}

// ---- partitioning ----

template <class T>
template <class Each>
void SortedEngine<T>::send_places(int node, Each&& each) const {
  const split::Split& split = growing_tree_.nodes[node].split;
  const std::int64_t n = growing_tree_.nodes[node].n_rows();
  const split::Place* const places = places_of(node, split.column);
  const std::int64_t first = n_missing(places, n, split.column);
  for (std::int64_t i = 0; i < first; ++i) each(places[i], split.missing_left);
  bool goes_left = false;
  for (std::int64_t i = first; i < n; ++i) {
    if (split.left_set.empty())
      goes_left = i < cut_of_[node];
    else if (i == first || split::is_first(places[i]))
      goes_left = data::in_set(split.left_set.data(), level_at(places[i], split.column));
    each(places[i], goes_left);
  }
}

template <class T>
std::vector<std::int64_t> SortedEngine<T>::send_rows(const std::vector<tree::Announced>& nodes) {
  std::vector<std::int64_t> middles;
  for (const tree::Announced& one : nodes) middles.push_back(send_rows(one.node));
  return middles;
}

template <class T>
std::int64_t SortedEngine<T>::send_rows(int node) {
  const tree::Node& parent = growing_tree_.nodes[node];
  const std::int64_t n = parent.n_rows();
  send_places(node, [&](split::Place place, bool goes_left) {
    side_[split::row_of(place)] = goes_left ? 0 : 1;
  });
  const tree::Partition::Test test{side_.data(), 1, 0, 0};
  return growing_tree_.rows.split({{parent.begin, parent.end, test}},
                                  n < worth_a_thread ? 1 : n_threads_,
                                  tree::Partition::visits_nothing)[0];
}

// Stable partition of the parent's entries of a column.
template <class T>
void SortedEngine<T>::divide(const tree::Siblings& siblings, int column,
                             std::vector<split::Place>& spare) {
  const split::Place* const from = places_of(siblings.parent, column);
  const std::int64_t n = growing_tree_.nodes[siblings.parent].n_rows();
  const std::int64_t n_right = growing_tree_.nodes[siblings.right].n_rows();
  split::Place* const to = work_.data() + (places_of(siblings.left, column) - work_.data());
  spare.resize(std::max(spare.size(), static_cast<std::size_t>(n)));
  // Left entries are written in place, never ahead of the read position.
  Thinned left(to), right(spare.data());
  for (std::int64_t i = 0; i < n; ++i) {
    const split::Place place = from[i];
    const bool goes_right = side_[split::row_of(place)] != 0;
    left.add(place, !goes_right);
    right.add(place, goes_right);
  }
  std::copy_n(spare.data(), n_right, to + left.size());
}

template <class T>
void SortedEngine<T>::send_unseen_rows(const tree::Tree& tree, std::int32_t* leaf_of_row) const {
  walk_unseen_rows(tree, channels_.target(), table_.n_rows, n_threads_, leaf_of_row,
                   [&](Row row, std::int32_t node) {
                     const T x = table_.at(row, tree.feature[node]);
                     if (x != x) return tree.missing_left[node] != 0;
                     const std::int32_t set = tree.category_set[node];
                     if (set >= 0)
                       return data::in_set(tree.words_of(set), static_cast<std::int64_t>(x));
                     return static_cast<double>(x) <= tree.threshold[node];
                   });
}

// ---- searching ----

template <class T>
void SortedEngine<T>::search(const std::vector<tree::Siblings>& siblings) {
  for (const tree::Siblings& one : siblings) search(one);
}

template <class T>
void SortedEngine<T>::search(const tree::Siblings& siblings) {
  if (siblings.wants_left || siblings.wants_right)
    criteria::AllCriteria::with_name(criterion_,
                                     [&]<criteria::Criterion C>(C) { search_by<C>(siblings); });
}

// The order of a node's rows is unchanged.
template <class T>
void SortedEngine<T>::search_again(const std::vector<tree::Siblings>& nodes) {
  search(nodes);
}

// Neighbouring values depend on the node, so one threshold for a whole depth does not exist.
template <class T>
std::vector<int> SortedEngine<T>::search_level(const std::vector<int>&, data::CandidateColumns) {
  throw std::logic_error("one test for a level is found in histograms only");
}

template <class T>
template <criteria::Criterion C>
void SortedEngine<T>::search_by(const tree::Siblings& siblings) {
  if (channels_.target().n_labels > 1)
    search_with<split::SortedSearch<C, 0, target::AddLabels>>(siblings);
  else if (channels_.target().classes)
    search_with<split::SortedSearch<C, 0, split::AddClasses>>(siblings);
  else if (channels_.cell_size() == 2)
    search_with<split::SortedSearch<C, 2, split::AddSums<2>>>(siblings);
  else if (channels_.cell_size() == 3)
    search_with<split::SortedSearch<C, 3, split::AddSums<3>>>(siblings);
  else
    search_with<split::SortedSearch<C, 0, split::AddSums<0>>>(siblings);
}

template <class T>
template <class Search>
void SortedEngine<T>::search_column(Search& search, int node, int column, Found& best) const {
  const split::Place* const places = places_of(node, column);
  const std::int64_t n = growing_tree_.nodes[node].n_rows();
  const std::int64_t missing = n_missing(places, n, column);
  if (const int n_levels = cuts_.levels_of(column); n_levels > 0)
    search.try_levels(
        column, places, n, missing, n_levels,
        [&](split::Place place) { return level_at(place, column); }, best.split);
  else
    search.try_column(column, places, n, missing, best.split);
  best.any_admitted |= search.any_admitted();
}

// If no drawn column can be split, try further ones one at a time.
template <class T>
template <class Search>
void SortedEngine<T>::search_further(int node, data::CandidateColumns columns, Found& best) const {
  if (columns.is_all()) return;
  auto search = search_of<Search>(node);
  for (int column; !best.any_admitted && (column = columns.next_column()) >= 0;)
    if (std::binary_search(columns_.begin(), columns_.end(), column))
      search_column(search, node, column, best);
}

template <class T>
template <class Search>
void SortedEngine<T>::search_with(const tree::Siblings& siblings) {
  const bool is_alone = siblings.parent < 0;
  cut_of_.resize(growing_tree_.nodes.size());
  if (!is_alone) work_.resize(order_.size());
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  const std::int64_t n_rows =
      growing_tree_.nodes[is_alone ? siblings.left : siblings.parent].n_rows();
  const std::int64_t n_tasks = n_rows * n_columns < worth_a_thread ? 1 : n_columns;
  std::vector<Found> lefts(static_cast<std::size_t>(n_tasks)), rights(lefts.size());
  parallel_for(n_tasks, n_threads_, [&](std::int64_t task, int worker) {
    std::optional<Search> left, right;
    if (siblings.wants_left) left.emplace(search_of<Search>(siblings.left));
    if (siblings.wants_right) right.emplace(search_of<Search>(siblings.right));
    for (std::int64_t c = n_columns * task / n_tasks; c < n_columns * (task + 1) / n_tasks; ++c) {
      const int column = columns_[c];
      if (!is_alone) divide(siblings, column, spare_[worker]);
      if (left && siblings.left_columns.takes(column))
        search_column(*left, siblings.left, column, lefts[task]);
      if (right && siblings.right_columns.takes(column))
        search_column(*right, siblings.right, column, rights[task]);
    }
  });
  const auto finish = [&](int node, bool wants, const data::CandidateColumns& columns,
                          const std::vector<Found>& found) {
    Found best;
    for (const Found& one : found) best.take(one);
    if (wants) search_further<Search>(node, columns, best);
    settle(node, best.split);
  };
  finish(siblings.left, siblings.wants_left, siblings.left_columns, lefts);
  if (!is_alone) finish(siblings.right, siblings.wants_right, siblings.right_columns, rights);
}

template <class T>
void SortedEngine<T>::settle(int i, const split::Split& found) {
  tree::Node& node = growing_tree_.nodes[i];
  node.split = found;
  node.split.bin = 0;
  cut_of_[i] = found.bin;
  if (!found.found()) return;
  if (found.left_set.empty()) {
    const split::Place* const places = places_of(i, found.column);
    node.split.threshold = threshold_at(places, node.n_rows(), found.column, found.bin);
    node.split.parts_missing = found.bin == node.n_rows();
  }
  node.left_totals.assign(static_cast<std::size_t>(channels_.cell_size()), 0);
  const auto sum = [&](auto add) {
    send_places(i, [&](split::Place place, bool goes_left) {
      if (goes_left) add(node.left_totals.data(), split::row_of(place));
    });
  };
  channels_.target().classes ? sum(target::AddLabels(channels_))
                             : sum(split::AddSums<0>(channels_));
}

// Threshold of a split before an entry: all earlier rows have at most this value.
template <class T>
double SortedEngine<T>::threshold_at(const split::Place* places, std::int64_t n, int column,
                                     std::int64_t place) const {
  if (place == n) return std::numeric_limits<double>::infinity();
  const auto below = static_cast<double>(value_at(places[place - 1], column));
  if (!cuts_.first)
    return data::cut_between(below, static_cast<double>(value_at(places[place], column)));
  return *std::lower_bound(cuts_.values + cuts_.first[column],
                           cuts_.values + cuts_.first[column + 1], below);
}

template class SortedEngine<float>;
template class SortedEngine<double>;

}  // namespace weald::engine
