#include "grow/isolation_grower.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/mixing.hpp"

namespace weald::grow {
namespace {

// Random words of a node: the threshold, the side of missing values, one per drawn column, and one
// per 64 levels.
constexpr std::uint64_t threshold_word = 0, missing_word = 1, first_column_word = 2,
                        first_level_word = std::uint64_t{1} << 32;

bool has_any(const data::LevelSet& present, const data::LevelSet& levels, bool wanted) {
  for (std::size_t w = 0; w < levels.size(); ++w)
    if (present[w] & (wanted ? levels[w] : ~levels[w])) return true;
  return false;
}

}  // namespace

template <class T>
IsolationGrower<T>::IsolationGrower(const data::Table<T>& table, const std::int64_t* index,
                                    const data::RowDraws& rows, const IsolationParams& params)
    : table_(table), index_(index), rows_(rows), params_(params) {}

template <class T>
tree::Tree IsolationGrower<T>::grow(std::uint64_t member) {
  start(member);
  grow_node(0, drawn_.size(), 0, Draws(params_.seed, member, Purpose::columns).child(false), 0);
  return std::exchange(tree_, {});
}

// Draw the rows and columns of a tree.
template <class T>
void IsolationGrower<T>::start(std::uint64_t member) {
  drawn_.clear();
  for (const data::DrawnRow& one : rows_.draw(member))
    drawn_.push_back({index_[one.place], one.copies});
  columns_.resize(static_cast<std::size_t>(table_.n_columns));
  std::iota(columns_.begin(), columns_.end(), 0);
  const auto n = static_cast<std::size_t>(params_.max_features);
  if (n == columns_.size()) return;
  const Draws draws(params_.seed, member, Purpose::columns);
  for (std::size_t j = 0; j < n; ++j)
    std::swap(columns_[j], columns_[j + draws.below(j, columns_.size() - j)]);
  columns_.resize(n);
}

template <class T>
void IsolationGrower<T>::grow_node(std::size_t begin, std::size_t end, int depth,
                                   const Draws& draws, std::size_t n_constant) {
  steps_.take(static_cast<std::int64_t>(end - begin));
  const std::size_t was_constant = n_constant;
  Split split;
  if (depth < params_.max_depth && end - begin > 1)
    split = draw_split(begin, end, draws, n_constant);
  const double n_rows = copies_of(begin, end);
  tree_.feature.push_back(split.column);
  tree_.threshold.push_back(split.threshold);
  tree_.missing_left.push_back(split.missing_left);
  tree_.weight.push_back(n_rows);
  tree_.gain.push_back(0.0);
  if (!params_.n_levels.empty()) tree_.add_set(split.levels);
  if (split.column < 0) return add_leaf(n_rows, depth);
  const std::size_t node = tree_.right.size(), middle = part(begin, end, split);
  tree_.right.push_back(0);
  grow_node(begin, middle, depth + 1, draws.child(false), n_constant);
  tree_.right[node] = static_cast<std::int32_t>(tree_.feature.size());
  grow_node(middle, end, depth + 1, draws.child(true), n_constant);
  put_back(was_constant, n_constant + 1, draws);
}

template <class T>
void IsolationGrower<T>::add_leaf(double n_rows, int depth) {
  tree_.right.push_back(static_cast<std::int32_t>(tree_.value.size()));
  tree_.value.push_back(depth + mean_path_length(n_rows));
}

// Draw columns until one has two values; those that have not are constant in the whole subtree.
template <class T>
typename IsolationGrower<T>::Split IsolationGrower<T>::draw_split(std::size_t begin,
                                                                  std::size_t end,
                                                                  const Draws& draws,
                                                                  std::size_t& n_constant) {
  const std::size_t n_before = n_constant;
  for (; n_constant < columns_.size(); ++n_constant) {
    Split split;
    draw_column(n_constant, draws);
    split.column = columns_[n_constant];
    const bool is_cut = is_category(split.column) ? cut_levels(begin, end, draws, split)
                                                  : cut_numbers(begin, end, draws, split);
    if (is_cut) return split;
  }
  put_back(n_before, n_constant, draws);
  return {};
}

// Draw the column at this place among those that are not known to be constant.
template <class T>
void IsolationGrower<T>::draw_column(std::size_t place, const Draws& draws) {
  const std::size_t n_left = columns_.size() - place;
  std::swap(columns_[place], columns_[place + draws.below(first_column_word + place, n_left)]);
}

// Undo draws, so that the columns of a node depend on its random words only.
template <class T>
void IsolationGrower<T>::put_back(std::size_t first, std::size_t end, const Draws& draws) {
  while (end-- > first) draw_column(end, draws);
}

// A threshold drawn uniformly between the least and the largest value. If all values are equal, but
// some are missing, the missing ones are split off.
template <class T>
bool IsolationGrower<T>::cut_numbers(std::size_t begin, std::size_t end, const Draws& draws,
                                     Split& split) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least = infinity, most = -infinity;
  std::size_t n_present = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const auto x = static_cast<double>(table_.at(drawn_[i].row, split.column));
    least = x < least ? x : least;
    most = x > most ? x : most;
    n_present += x == x;
  }
  if (n_present == 0) return false;
  if (n_present == 1 || !(least < most)) {
    split.threshold = infinity;
    split.missing_left = false;
    return n_present < end - begin;
  }
  // An infinity is infinitely far from the other values, so that it is split off.
  split.threshold = most == infinity && least > -infinity
                        ? std::numeric_limits<double>::max()
                        : number_between(least, most, draws.unit(threshold_word)) + 0.0;  // no -0
  split.missing_left = draws_left(begin, end, draws, split);
  return true;
}

// A random set of levels, with some of those in the node on either side. Levels that are not in the
// node fall on a random side, too. If there is one level only, missing values are split off.
template <class T>
bool IsolationGrower<T>::cut_levels(std::size_t begin, std::size_t end, const Draws& draws,
                                    Split& split) {
  const auto n_words = static_cast<std::size_t>(params_.n_levels[split.column] + 63) / 64;
  present_.assign(n_words, 0);
  std::size_t n_present = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const T x = table_.at(drawn_[i].row, split.column);
    if (x != x) continue;
    const auto level = static_cast<std::size_t>(x);
    present_[level / 64] |= std::uint64_t{1} << (level % 64);
    ++n_present;
  }
  if (n_present == 0) return false;
  int n_levels = 0;
  for (const std::uint64_t word : present_) n_levels += std::popcount(word);
  split.levels.assign(n_words, ~std::uint64_t{0});
  if (n_levels == 1) {
    split.missing_left = false;
    return n_present < end - begin;
  }
  std::uint64_t next = first_level_word;
  do {
    for (std::uint64_t& word : split.levels) word = draws.word(next++);
  } while (!has_any(present_, split.levels, true) || !has_any(present_, split.levels, false));
  split.missing_left = draws_left(begin, end, draws, split);
  return true;
}

// Missing values go where a random one of the other rows goes.
template <class T>
bool IsolationGrower<T>::draws_left(std::size_t begin, std::size_t end, const Draws& draws,
                                    const Split& split) const {
  std::uint64_t n_left = 0, n_present = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const T x = table_.at(drawn_[i].row, split.column);
    if (x != x) continue;
    n_present += drawn_[i].copies;
    n_left += goes_left(drawn_[i].row, split) ? drawn_[i].copies : 0;
  }
  return draws.below(missing_word, n_present) < n_left;
}

template <class T>
bool IsolationGrower<T>::goes_left(std::int64_t row, const Split& split) const {
  const T x = table_.at(row, split.column);
  if (x != x) return split.missing_left;
  if (split.levels.empty()) return static_cast<double>(x) <= split.threshold;
  return data::in_set(split.levels.data(), static_cast<std::int64_t>(x));
}

// Rows that go left come first.
template <class T>
std::size_t IsolationGrower<T>::part(std::size_t begin, std::size_t end, const Split& split) {
  const auto middle = std::partition(drawn_.begin() + begin, drawn_.begin() + end,
                                     [&](const Drawn& one) { return goes_left(one.row, split); });
  return static_cast<std::size_t>(middle - drawn_.begin());
}

template <class T>
double IsolationGrower<T>::copies_of(std::size_t begin, std::size_t end) const {
  std::uint64_t sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += drawn_[i].copies;
  return static_cast<double>(sum);
}

template <class T>
PackedForest grow_isolation_trees(const data::Table<T>& table, const std::int64_t* index,
                                  const data::RowDraws& rows, const IsolationParams& params,
                                  std::uint64_t first, std::int64_t n_trees, int n_threads) {
  const std::int64_t n_growers = std::min<std::int64_t>(n_trees, n_threads);
  std::vector<std::unique_ptr<IsolationGrower<T>>> growers(static_cast<std::size_t>(n_growers));
  ForestWriter writer(n_trees, n_growers);
  parallel_for(n_trees, n_threads, [&](std::int64_t tree, int thread) {
    auto& grower = growers[thread];
    if (!grower) grower = std::make_unique<IsolationGrower<T>>(table, index, rows, params);
    writer.put(tree, grower->grow(first + static_cast<std::uint64_t>(tree)));
  });
  return writer.take();
}

template PackedForest grow_isolation_trees(const data::Table<float>&, const std::int64_t*,
                                           const data::RowDraws&, const IsolationParams&,
                                           std::uint64_t, std::int64_t, int);
template PackedForest grow_isolation_trees(const data::Table<double>&, const std::int64_t*,
                                           const data::RowDraws&, const IsolationParams&,
                                           std::uint64_t, std::int64_t, int);

}  // namespace weald::grow
