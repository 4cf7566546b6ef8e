#include "data/column_choice.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "data/column_sampling.hpp"

namespace weald::data {

CandidateColumns::CandidateColumns(std::vector<int> order, std::size_t n_first, int n_columns)
    : marks_(static_cast<std::size_t>(n_columns), 0),
      order_(std::move(order)),
      n_seen_(std::min(n_first, order_.size())) {
  for (std::size_t i = 0; i < n_seen_; ++i) marks_[order_[i]] = 1;
}

int CandidateColumns::next_column() {
  if (n_seen_ >= order_.size()) return -1;
  std::fill(marks_.begin(), marks_.end(), 0);
  const int column = order_[n_seen_++];
  marks_[column] = 1;
  return column;
}

ColumnChoice::ColumnChoice(ColumnParams params, int n_columns)
    : params_(std::move(params)), n_columns_(n_columns) {
  if (params_.max_features < 0 || params_.max_features > n_columns)
    throw std::invalid_argument("max_features must be at most the number of columns");
  for (auto& group : params_.groups) {
    const bool rises = std::is_sorted(group.begin(), group.end());
    if (group.empty() || !rises || group.front() < 0 || group.back() >= n_columns)
      throw std::invalid_argument("groups must contain columns of the table, in increasing order");
  }
}

ColumnChoice::Path ColumnChoice::root(std::uint64_t member) const {
  return {Draws(params_.seed, member, Purpose::columns)};
}

// With sampling by level, a depth uses the stream of its leftmost path; by tree, that of the root.
ColumnChoice::Path ColumnChoice::child(const Path& path, int column, bool is_right) const {
  Path next{path.draws, false};
  if (params_.sampling == Sampling::node) next.draws = path.draws.child(is_right);
  if (params_.sampling == Sampling::level) next.draws = path.draws.child(false);
  const auto keep = [&](int g) {
    const std::vector<int>& group = params_.groups[g];
    if (std::binary_search(group.begin(), group.end(), column)) next.groups.push_back(g);
  };
  if (path.is_root)
    for (int g = 0; g < static_cast<int>(params_.groups.size()); ++g) keep(g);
  else
    for (const int g : path.groups) keep(g);
  return next;
}

std::vector<char> ColumnChoice::allowed(const Path& path) const {
  const bool all = params_.groups.empty();
  std::vector<char> marks(static_cast<std::size_t>(n_columns_), all ? 1 : 0);
  const auto add = [&](const std::vector<int>& group) {
    for (const int column : group) marks[column] = 1;
  };
  if (path.is_root)
    for (const auto& group : params_.groups) add(group);
  else
    for (const int g : path.groups) add(params_.groups[g]);
  return marks;
}

// With sampling by tree only the drawn columns are candidates. By level or node, further columns
// are tried one at a time if no drawn one can be split.
CandidateColumns ColumnChoice::candidates(const Path& path) const {
  if (is_free()) return {};
  std::vector<int> order(static_cast<std::size_t>(n_columns_));
  std::iota(order.begin(), order.end(), 0);
  if (params_.max_features > 0) {
    ColumnSampler drawn;
    drawn.start(n_columns_, n_columns_);
    for (int j = 0; j < n_columns_; ++j) order[j] = drawn.draw(j, path.draws);
  }
  const bool of_tree = params_.sampling == Sampling::tree;
  if (params_.max_features > 0 && of_tree) order.resize(params_.max_features);
  const std::vector<char> marks = allowed(path);
  std::erase_if(order, [&](int column) { return marks[column] == 0; });
  const bool takes_all = params_.max_features == 0 || of_tree;
  const std::size_t n_first = takes_all ? order.size() : params_.max_features;
  return CandidateColumns(std::move(order), n_first, n_columns_);
}

}  // namespace weald::data
