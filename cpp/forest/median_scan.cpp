#include "forest/median_scan.hpp"

#include <functional>

namespace weald::forest {
namespace {

// Sorting many values takes seconds, so it can be interrupted; the order is unspecified then.
template <class T, class Before>
void sort(std::vector<T>& all, InterruptSteps& steps, Before before) {
  constexpr std::size_t few = 1 << 14;
  steps.take(static_cast<std::int64_t>(all.size()));
  if (all.size() < few) return std::sort(all.begin(), all.end(), before);
  std::sort(all.begin(), all.end(), [&](const T& a, const T& b) {
    steps.take();
    return before(a, b);
  });
}

}  // namespace

void MedianScan::start(const target::Channels& channels, const split::SplitLimits& limits,
                       std::int64_t n_rows) {
  channels_ = &channels;
  limits_ = &limits;
  const double* const values = channels.target().sums;
  std::vector<Row> order(static_cast<std::size_t>(n_rows));
  for (std::int64_t row = 0; row < n_rows; ++row) order[row] = static_cast<Row>(row);
  sort(order, steps_, [&](Row a, Row b) { return values[a] < values[b]; });
  rank_of_row_.resize(order.size());
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && values[order[i - 1]] < values[order[i]]) ++rank;
    rank_of_row_[order[i]] = rank;
  }
}

void MedianScan::load(const Row* rows, std::int64_t n, const std::int64_t* totals) {
  const target::Channels& channels = *channels_;
  const std::int64_t size = channels.cell_size();
  const auto n_rows = static_cast<std::size_t>(n);
  total_ = {totals[0], totals[1]};
  const int count = channels.count_index();
  total_copies_ = count >= 0 ? totals[count] : 0;
  keys_.resize(n_rows);
  value_of_.resize(n_rows);
  row_mass_.resize(n_rows);
  row_copies_.resize(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::int64_t* const cell = channels.values() + rows[i] * size;
    row_mass_[i] = {cell[0], cell[1]};
    row_copies_[i] = count >= 0 ? cell[count] : 0;
    keys_[i] = std::uint64_t{rank_of_row_[rows[i]]} << 32 | i;
    steps_.take();
  }
  sort(keys_, steps_, std::less{});
  values_.clear();
  all_at_.clear();
  for (std::size_t k = 0; k < n_rows; ++k) {
    const auto i = static_cast<std::size_t>(keys_[k] & 0xffffffff);
    if (k == 0 || keys_[k] >> 32 != keys_[k - 1] >> 32) {
      values_.push_back(channels.target().sums[rows[i]]);
      all_at_.push_back({});
    }
    value_of_[i] = static_cast<std::uint32_t>(values_.size() - 1);
    all_at_.back() = all_at_.back() + row_mass_[i];
    steps_.take();
  }
  // Fenwick trees: entry i sums the values that end with it.
  const std::size_t n_values = values_.size();
  top_ = std::bit_floor(n_values);
  all_tree_.assign(n_values + 1, {});
  for (std::size_t at = 1; at <= n_values; ++at) {
    all_tree_[at] = all_tree_[at] + all_at_[at - 1];
    const std::size_t above = at + (at & (0 - at));
    if (above <= n_values) all_tree_[above] = all_tree_[above] + all_tree_[at];
    steps_.take();
  }
  left_tree_.assign(n_values + 1, {});
  left_at_.assign(n_values, {});
  left_ = {};
  left_copies_ = 0;
  error_ = error_of(true);  // all rows lie right
}

void MedianScan::put(std::uint32_t i) {
  const Mass& mass = row_mass_[i];
  const std::size_t value = value_of_[i];
  steps_.take();
  left_ = left_ + mass;
  left_copies_ += row_copies_[i];
  left_at_[value] = left_at_[value] + mass;
  for (std::size_t at = value + 1; at < left_tree_.size(); at += at & (0 - at))
    left_tree_[at] = left_tree_[at] + mass;
}

// The first value for which is_below(weight up to it) is false.
template <class IsBelow>
MedianScan::Place MedianScan::find(bool of_right, IsBelow&& is_below) const {
  Place place{0, {}};
  for (std::size_t step = top_; step > 0; step /= 2) {
    const std::size_t next = place.value + step;
    if (next > values_.size()) continue;
    const Mass with = place.below + in_tree(next, of_right);
    if (!is_below(with.w)) continue;
    place = {next, with};
  }
  return place;
}

MedianScan::Place MedianScan::median_of(bool of_right) const {
  const std::int64_t total = side(of_right).w;
  return find(of_right, [=](std::int64_t w) { return 2 * w < total; });
}

double MedianScan::error_of(bool of_right) const {
  const Place median = median_of(of_right);
  if (median.value >= values_.size()) return 0.0;  // nothing weighs anything
  const Mass above = side(of_right) - median.below - at_value(median.value, of_right);
  const double middle = scale_by_power(values_[median.value], -channels_->unit());
  const Mass sums{above.w - median.below.w, above.s - median.below.s};
  const std::int64_t cell[] = {sums.w, sums.s};
  return channels_->sum_of(cell, 0) - middle * channels_->weight_of(cell);
}

double MedianScan::median_value_of(bool of_right) const {
  const Place median = median_of(of_right);
  const std::int64_t up_to = median.below.w + at_value(median.value, of_right).w;
  if (2 * up_to != side(of_right).w) return values_[median.value];
  const Place next = find(of_right, [=](std::int64_t w) { return w <= up_to; });
  return values_[median.value] / 2 + values_[next.value] / 2;
}

bool MedianScan::is_big_enough(const Mass& side, std::int64_t copies) const {
  const std::int64_t cell[] = {side.w, side.s};
  return side.w > 0 && (channels_->count_index() < 0 || copies >= limits_->min_samples_leaf) &&
         channels_->weight_of(cell) >= limits_->min_child_weight;
}

bool MedianScan::beats(const Left&, double bar) {
  if (!is_big_enough(left_, left_copies_) ||
      !is_big_enough(total_ - left_, total_copies_ - left_copies_))
    return false;
  score_ = -(error_of(false) + error_of(true));
  if (!(score_ > bar)) return false;
  if (direction_ == 0.0) return true;
  const double l = median_value_of(false), r = median_value_of(true);
  return bounds_.admit(l) && bounds_.admit(r) && direction_ * (r / 2 - l / 2) >= 0.0;
}

void MedianScan::keep(const Left&) {
  kept_.assign({left_.w, left_.s});
  if (channels_->count_index() > 0) kept_.push_back(left_copies_);
  kept_score_ = score_;
  if (limits_->is_directed()) kept_middle_ = median_value_of(false) / 2 + median_value_of(true) / 2;
}

double median_of_rows(const target::Channels& channels, const Row* rows, std::int64_t n) {
  std::vector<std::pair<double, std::int64_t>> all;
  InterruptSteps steps;
  std::int64_t total = 0, below = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t w = channels.values()[rows[i] * channels.cell_size()];
    if (w == 0) continue;
    all.emplace_back(channels.target().sums[rows[i]], w);
    total += w;
  }
  if (all.empty()) return n > 0 ? channels.target().sums[rows[0]] : 0.0;
  sort(all, steps, std::less{});
  std::size_t k = 0;
  while (2 * (below + all[k].second) < total) below += all[k++].second;
  if (2 * (below + all[k].second) > total) return all[k].first;
  return all[k].first / 2 + all[k + 1].first / 2;
}

}  // namespace weald::forest
