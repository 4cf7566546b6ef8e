#include "split/feature_bundles.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"
#include "split/sparse_columns.hpp"

namespace weald::split {
namespace {

constexpr int most_states = 256;  // a joint code fits one byte

// Smaller tables are counted so fast that expanding joint histograms would cost more.
constexpr std::int64_t least_rows = 16'384;

// One addition per row and column saved pays for expanding about this many cells over all nodes of
// a tree.
constexpr std::int64_t cells_per_addition = 256;

// Columns with more codes than this are not bundled.
constexpr int few_codes = 64;

// Number of bundles a column is tried with, newest first.
constexpr std::size_t most_tries = 8;

}  // namespace

FeatureBundles::FeatureBundles(const Codes& codes, const data::Categories& categories,
                               bool by_lists, int n_threads)
    : n_rows_(codes.n_rows) {
  if (codes.n_rows < least_rows) return;
  const auto stays_single = [&](int column) {
    return codes.n_bins[column] + 1 > few_codes || categories.wide_place(column) >= 0;
  };
  // If the fewest bundles that can hold all eligible columns would not pay, more of them do not
  // either. A column has a joint code of its own for each of its codes but one; code 0 may not
  // occur.
  std::int64_t n_single = 0, least_states = 0;
  for (int column = 0; column < codes.n_columns; ++column) {
    n_single += stays_single(column);
    least_states += stays_single(column) ? 0 : codes.n_bins[column] - 1;
  }
  const std::int64_t fewest = n_single + 1 + least_states / most_states;
  if (!pays(codes, fewest)) return;
  if (by_lists && SparseColumns::estimated_additions(codes) <= static_cast<double>(fewest)) return;
  std::vector<Bundle> open;
  for (int column = 0; column < codes.n_columns; ++column) {
    if (stays_single(column)) {
      bundles_.push_back({{column}, {}, codes.n_bins[column] + 1, {}});
      continue;
    }
    const std::size_t n_tries = std::min(open.size(), most_tries);
    const bool found = std::any_of(open.rbegin(), open.rbegin() + static_cast<int>(n_tries),
                                   [&](Bundle& one) { return try_to_add(one, codes, column); });
    if (found) continue;
    open.push_back({{}, {}, 1, LargeVector<Code>(static_cast<std::size_t>(n_rows_), Code{0})});
    try_to_add(open.back(), codes, column);
  }
  std::move(open.begin(), open.end(), std::back_inserter(bundles_));
  if (pays(codes, static_cast<std::int64_t>(bundles_.size())))
    gather(codes, n_threads);
  else
    bundles_.clear();
}

// Whether counting `after` columns instead of all of them pays.
bool FeatureBundles::pays(const Codes& codes, std::int64_t after) {
  const auto before = static_cast<std::int64_t>(codes.n_columns);
  std::int64_t n_cells = 0;
  for (int column = 0; column < codes.n_columns; ++column) n_cells += codes.n_bins[column] + 1;
  if (codes.n_rows * (before - after) < cells_per_addition * n_cells) return false;
  // Rows are read in groups of columns, so saving one group is also worth it.
  const auto groups = [](std::int64_t columns) { return (columns + lanes - 1) / lanes; };
  return 4 * after <= 3 * before || groups(after) < groups(before);
}

// Add a column unless that gives more than 256 joint codes.
bool FeatureBundles::try_to_add(Bundle& bundle, const Codes& codes, int column) const {
  const int n_codes = codes.n_bins[column] + 1, group = column / lanes;
  const Code* const code = codes.group(group) + column % lanes;
  const std::int64_t stride = codes.stride(group);
  std::vector<std::int16_t> state_of(static_cast<std::size_t>(bundle.n_states * n_codes), -1);
  std::vector<std::pair<int, Code>> states;  // the previous joint code, and the column's code
  LargeVector<Code> joint(static_cast<std::size_t>(n_rows_));
  for (std::int64_t row = 0; row < n_rows_; ++row) {
    const Code here = code[row * stride];
    std::int16_t& state = state_of[bundle.joint[row] * n_codes + here];
    if (state < 0) {
      if (states.size() == most_states) return false;
      state = static_cast<std::int16_t>(states.size());
      states.emplace_back(bundle.joint[row], here);
    }
    joint[row] = static_cast<Code>(state);
  }
  const std::size_t width = bundle.columns.size();
  std::vector<Code> held;
  for (const auto& [before, here] : states) {
    const auto old = bundle.held.begin() + static_cast<std::ptrdiff_t>(before * width);
    held.insert(held.end(), old, old + static_cast<std::ptrdiff_t>(width));
    held.push_back(here);
  }
  bundle.columns.push_back(column);
  bundle.held = std::move(held);
  bundle.n_states = static_cast<int>(states.size());
  bundle.joint = std::move(joint);
  return true;
}

// Write the table of joint codes and free the construction buffers.
void FeatureBundles::gather(const Codes& codes, int n_threads) {
  for (const Bundle& bundle : bundles_) n_bins_.push_back(bundle.n_states - 1);
  const auto n_columns = static_cast<std::int64_t>(n_bins_.size());
  counted_.resize(static_cast<std::size_t>(Codes::bytes(n_rows_, n_columns)));
  const Codes counted = this->codes();
  parallel_for(n_columns, n_threads, [&](std::int64_t task, int) {
    const int to = static_cast<int>(task), group = to / lanes;
    Bundle& bundle = bundles_[task];
    Code* const out = counted_.data() + (counted.group(group) - counted.data) + to % lanes;
    const std::int64_t stride = counted.stride(group);
    for (std::int64_t row = 0; row < n_rows_; ++row)
      out[row * stride] = bundle.joint.empty() ? codes.at(static_cast<Row>(row), bundle.columns[0])
                                               : bundle.joint[row];
    bundle.joint = {};
    if (!bundle.held.empty()) find_usual(bundle);
  });
}

void FeatureBundles::find_usual(Bundle& bundle) {
  const std::size_t width = bundle.columns.size();
  bundle.usual.resize(width);
  bundle.others.resize(width);
  for (std::size_t i = 0; i < width; ++i) {
    const auto held = [&](int state) { return bundle.held[state * width + i]; };
    std::vector<int> n_states(max_value_bins + 1, 0);
    for (int state = 0; state < bundle.n_states; ++state) ++n_states[held(state)];
    const auto most = std::max_element(n_states.begin(), n_states.end());
    bundle.usual[i] = static_cast<Code>(most - n_states.begin());
    for (int state = 0; state < bundle.n_states; ++state)
      if (held(state) != bundle.usual[i])
        bundle.others[i].push_back({static_cast<std::int16_t>(state), held(state)});
  }
}

data::Categories FeatureBundles::categories(const data::Categories& of_columns) const {
  data::Categories counted;  // categorical or not does not matter for summing
  for (const data::WideColumn& wide : of_columns.wide) {
    const auto is_it = [&](const Bundle& bundle) { return bundle.columns[0] == wide.column; };
    const auto at = std::find_if(bundles_.begin(), bundles_.end(), is_it) - bundles_.begin();
    counted.wide.push_back({static_cast<int>(at), wide.codes, wide.n_levels});
  }
  return counted;
}

void FeatureBundles::expand(const HistogramLayout& from, const std::int64_t* counted,
                            const HistogramLayout& to, std::int64_t* cells) const {
  const int cell_size = from.cell_size();
  for (std::size_t b = 0; b < bundles_.size(); ++b) {
    const Bundle& bundle = bundles_[b];
    const auto place = static_cast<int>(b);
    const std::int64_t* const joint = counted + from.column_begin(place);
    const std::int64_t step = from.stride_of(place);
    if (!bundle.held.empty()) {
      add_up(bundle, joint, step, to, cells);
      continue;
    }
    std::int64_t* const column = cells + to.column_begin(bundle.columns[0]);
    const std::int64_t stride = to.stride_of(bundle.columns[0]);
    for (int code = 0; code <= from.levels_of(place); ++code)
      std::copy_n(joint + code * step, cell_size, column + code * stride);
  }
}

// The histogram of a column's most frequent code is the total minus its other codes: of forty
// one-hot columns each differs from its usual code in one state of forty.
void FeatureBundles::add_up(const Bundle& bundle, const std::int64_t* joint, std::int64_t step,
                            const HistogramLayout& to, std::int64_t* cells) {
  const int cell_size = to.cell_size();
  std::vector<std::int64_t> total(static_cast<std::size_t>(cell_size), 0);
  for (int state = 0; state < bundle.n_states; ++state)
    for (int c = 0; c < cell_size; ++c) total[c] += joint[state * step + c];
  for (std::size_t i = 0; i < bundle.columns.size(); ++i) {
    const int column = bundle.columns[i];
    const std::int64_t stride = to.stride_of(column);
    const auto cell = [&](int code) { return cells + to.column_begin(column) + code * stride; };
    for (int code = 0; code <= to.levels_of(column); ++code) std::fill_n(cell(code), cell_size, 0);
    std::int64_t* const usual = cell(bundle.usual[i]);
    std::copy_n(total.data(), cell_size, usual);
    for (const auto [state, code] : bundle.others[i]) {
      const std::int64_t* const sum = joint + state * step;
      std::int64_t* const into = cell(code);
      for (int c = 0; c < cell_size; ++c) {
        into[c] += sum[c];
        usual[c] -= sum[c];
      }
    }
  }
}

}  // namespace weald::split
