#include "survival/survival_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/draws.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"
#include "data/column_sampling.hpp"
#include "survival/log_rank.hpp"

namespace weald::survival {
namespace {

// Statistics that differ by less are ties; the split that was tried first stays.
constexpr double tie = 1e-12;

struct Split {
  int column = -1;
  double statistic = 0.0, threshold = 0.0;
  bool missing_left = false;
  std::vector<std::uint8_t> goes_left = {};  // of each code
};

struct OpenNode {
  std::int64_t begin, end;
  int depth;
  Draws draws;
  std::int64_t parent;  // whose right child this is; -1: a left child, or the root
};

class TreeGrower {
 public:
  TreeGrower(const SurvivalTable& table, const std::int64_t* copies, const SurvivalParams& params)
      : table_(table), copies_(copies), params_(params) {
    for (std::int64_t row = 0; row < table.n_rows; ++row)
      if (copies_[row] > 0) rows_.push_back(static_cast<Row>(row));
    std::sort(rows_.begin(), rows_.end(), [&](Row a, Row b) {
      if (table_.time[a] != table_.time[b]) return table_.time[a] < table_.time[b];
      if (table_.is_event[a] != table_.is_event[b]) return table_.is_event[a] > table_.is_event[b];
      if (weight(a) != weight(b)) return weight(a) < weight(b);
      return copies_[a] < copies_[b];
    });
    sampler_.start(table.n_columns, params.max_features);
    sorted_.resize(rows_.size());
    right_rows_.resize(rows_.size());
  }

  SurvivalTree grow(std::uint64_t number) {
    const auto n = static_cast<std::int64_t>(rows_.size());
    open_.push_back({0, n, 0, Draws(params_.seed, number, Purpose::columns), -1});
    while (!open_.empty()) {
      steps_.take(open_.back().end - open_.back().begin);
      const OpenNode node = open_.back();
      open_.pop_back();
      const auto place = static_cast<std::int64_t>(tree_.feature.size());
      if (node.parent >= 0) tree_.right[node.parent] = static_cast<std::int32_t>(place);
      describe(node);
      const Split split = may_split(node) ? best_split(node) : Split{};
      if (split.column < 0) {
        write_leaf(node);
        continue;
      }
      write_split(node, split);
      const std::int64_t middle = part(node, split);
      open_.push_back({middle, node.end, node.depth + 1, node.draws.child(true), place});
      open_.push_back({node.begin, middle, node.depth + 1, node.draws.child(false), -1});
    }
    return std::move(tree_);
  }

 private:
  double weight(Row row) const {
    return (table_.weight ? table_.weight[row] : 1.0) * static_cast<double>(copies_[row]);
  }
  Row row_at(const OpenNode& node, std::int64_t i) const { return rows_[node.begin + i]; }

  void describe(const OpenNode& node) {
    log_rank_.start(
        node.end - node.begin, [&](std::int64_t i) { return table_.time[row_at(node, i)]; },
        [&](std::int64_t i) { return table_.is_event[row_at(node, i)] != 0; },
        [&](std::int64_t i) { return weight(row_at(node, i)); });
    weight_ = 0.0;
    n_copies_ = 0;
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      weight_ += weight(rows_[i]);
      n_copies_ += copies_[rows_[i]];
    }
  }

  bool may_split(const OpenNode& node) const {
    return log_rank_.n_steps() > 0 && n_copies_ >= params_.min_samples_split &&
           n_copies_ >= 2 * params_.min_samples_leaf && node.end - node.begin > 1 &&
           (params_.max_depth == 0 || node.depth < params_.max_depth);
  }

  Split best_split(const OpenNode& node) {
    Split best;
    for (int j = 0; j < sampler_.most(); ++j) {
      if (j >= sampler_.wanted() && best.column >= 0) break;
      search(node, sampler_.draw(j, node.draws), best);
    }
    sampler_.put_back();
    return best;
  }

  void search(const OpenNode& node, int column, Split& best) {
    const int n_codes = table_.n_codes[column];
    const std::uint16_t* const codes = table_.column(column);
    const std::int64_t n = node.end - node.begin;
    first_.assign(static_cast<std::size_t>(n_codes) + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) ++first_[codes[row_at(node, i)] + 1];
    const std::int64_t n_missing = first_[1];
    if (*std::max_element(first_.begin(), first_.end()) == n) return;  // constant
    for (int code = 0; code < n_codes; ++code) first_[code + 1] += first_[code];
    next_.assign(first_.begin(), first_.end() - 1);
    for (std::int64_t i = 0; i < n; ++i)
      sorted_[next_[codes[row_at(node, i)]]++] = static_cast<std::uint32_t>(i);
    order_.clear();
    for (int code = 1; code < n_codes; ++code)
      if (first_[code + 1] > first_[code]) order_.push_back(code);
    if (table_.is_category[column]) order_by_risk(node);
    if (n_missing > 0) scan(node, column, true, best);
    scan(node, column, false, best);
  }

  // Levels from the lowest ratio of observed to expected events to the highest.
  void order_by_risk(const OpenNode& node) {
    risk_.assign(first_.size(), 0.0);
    for (const int code : order_) {
      double seen = 0.0, expected = 0.0;
      for (std::int64_t p = first_[code]; p < first_[code + 1]; ++p) {
        const std::int64_t i = sorted_[p];
        const Row row = row_at(node, i);
        seen += table_.is_event[row] ? weight(row) : 0.0;
        expected += weight(row) * log_rank_.hazard_of(i);
      }
      // A level without expected events was observed too shortly: it is put in the middle.
      risk_[code] = expected > 0.0 ? seen / expected : 1.0;
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return risk_[a] < risk_[b]; });
  }

  // Try a split after each bin, or level of the order, with the missing values on one side.
  void scan(const OpenNode& node, int column, bool missing_left, Split& best) {
    log_rank_.restart();
    std::int64_t n_left = 0;
    const auto move = [&](int code) {
      for (std::int64_t p = first_[code]; p < first_[code + 1]; ++p) {
        const Row row = row_at(node, sorted_[p]);
        log_rank_.move_left(sorted_[p], table_.is_event[row] != 0, weight(row));
        n_left += copies_[row];
      }
    };
    if (missing_left) move(0);
    const bool has_missing = first_[1] > 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      move(order_[i]);
      if (n_left < params_.min_samples_leaf) continue;
      if (n_copies_ - n_left < params_.min_samples_leaf || n_left == n_copies_) return;
      const double statistic = log_rank_.statistic();
      if (!(statistic > best.statistic * (1.0 + tie))) continue;
      best.column = column;
      best.statistic = statistic;
      // Missing values of other rows go to the larger side.
      best.missing_left = has_missing ? missing_left : 2 * n_left >= n_copies_;
      best.goes_left.assign(first_.size() - 1, 0);
      for (std::size_t j = 0; j <= i; ++j) best.goes_left[order_[j]] = 1;
      best.goes_left[0] = best.missing_left;
      best.threshold = threshold(column, order_, i);
    }
  }

  // Halfway, in bins, between the last bin on the left and the next one of the node.
  double threshold(int column, const std::vector<int>& order, std::size_t i) const {
    if (table_.is_category[column]) return 0.0;
    if (i + 1 == order.size()) return std::numeric_limits<double>::infinity();
    const int last = order[i], next = order[i + 1];
    return table_.cuts[table_.first_cut[column] + last - 1 + (next - last - 1) / 2];
  }

  // Rows of the left child first, each side in the order of times.
  std::int64_t part(const OpenNode& node, const Split& split) {
    const std::uint16_t* const codes = table_.column(split.column);
    std::int64_t left = node.begin, n_right = 0;
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      const Row row = rows_[i];
      if (split.goes_left[codes[row]])
        rows_[left++] = row;
      else
        right_rows_[n_right++] = row;
    }
    std::copy_n(right_rows_.begin(), n_right, rows_.begin() + left);
    return left;
  }

  void write_node(int feature, double threshold, bool missing_left, double gain) {
    tree_.feature.push_back(feature);
    tree_.threshold.push_back(threshold);
    tree_.missing_left.push_back(missing_left);
    tree_.gain.push_back(gain);
    tree_.weight.push_back(weight_);
    tree_.category_set.push_back(-1);
  }

  void write_split(const OpenNode&, const Split& split) {
    write_node(split.column, split.threshold, split.missing_left, split.statistic);
    tree_.right.push_back(-1);
    if (!table_.is_category[split.column]) return;
    tree_.category_set.back() = static_cast<std::int32_t>(tree_.first_word.size()) - 1;
    const std::size_t n_levels = split.goes_left.size() - 1, first = tree_.words.size();
    tree_.words.resize(first + (n_levels + 63) / 64);
    for (std::size_t level = 0; level < n_levels; ++level)
      if (split.goes_left[level + 1])
        tree_.words[first + level / 64] |= std::uint64_t{1} << (level % 64);
    tree_.first_word.push_back(static_cast<std::int64_t>(tree_.words.size()));
  }

  void write_leaf(const OpenNode& node) {
    write_node(-1, 0.0, false, 0.0);
    tree_.right.push_back(static_cast<std::int32_t>(tree_.value.size()));
    double hazard = 0.0, survival = 1.0, mortality = 0.0;
    for (int k = 1; k <= log_rank_.n_steps(); ++k) {
      const double rate = log_rank_.events(k) / log_rank_.at_risk(k);
      const Row row = row_at(node, log_rank_.first_row(k));
      const std::int32_t step = table_.n_event_times[table_.time[row]];
      hazard += rate;
      survival *= 1.0 - rate;
      mortality += rate * static_cast<double>(table_.n_steps() - step);
      tree_.step_time.push_back(step);
      tree_.step_hazard.push_back(hazard);
      tree_.step_survival.push_back(survival);
    }
    tree_.value.push_back(mortality);
    tree_.first_step.push_back(static_cast<std::int64_t>(tree_.step_time.size()));
  }

  const SurvivalTable& table_;
  const std::int64_t* copies_;
  const SurvivalParams& params_;
  std::vector<Row> rows_, right_rows_;
  std::vector<OpenNode> open_;
  data::ColumnSampler sampler_;
  LogRank log_rank_;
  double weight_ = 0.0;
  std::int64_t n_copies_ = 0;
  std::vector<std::int64_t> first_, next_;  // of each code: its rows in sorted_
  std::vector<std::uint32_t> sorted_;       // rows of the node by code
  std::vector<int> order_;                  // codes in the order of the scan
  std::vector<double> risk_;
  InterruptSteps steps_;
  SurvivalTree tree_;
};

}  // namespace

SurvivalTree grow_survival_tree(const SurvivalTable& table, const std::int64_t* copies,
                                const SurvivalParams& params, std::uint64_t number) {
  return TreeGrower(table, copies, params).grow(number);
}

}  // namespace weald::survival
