#include "data/row_order.hpp"

#include <array>
#include <numeric>

namespace weald::data {
namespace {

// Search time is proportional to the number of bins, or to the rows of a node. Most nodes have a
// fraction of the table's rows, and partitioning and summing a row costs less than scanning a bin.
constexpr std::int64_t rows_for_a_bin = 8;

}  // namespace

RowOrder::RowOrder(const Codes& codes, bool must) : n_rows_(codes.n_rows) {
  const std::int64_t n_bins =
      std::accumulate(codes.n_bins, codes.n_bins + codes.n_columns, std::int64_t{0});
  const bool pays = n_rows_ * codes.n_columns <= rows_for_a_bin * n_bins;
  if (n_rows_ > kernels::most_ordered || !(pays || must)) return;
  for (int column = 0; column < codes.n_columns; ++column) {
    const Code* const its_codes = codes.columns + column * n_rows_;
    std::array<std::int64_t, max_value_bins + 2> next{};
    for (std::int64_t row = 0; row < n_rows_; ++row) ++next[its_codes[row] + 1];
    if (n_rows_ == 0 || next[its_codes[0] + 1] == n_rows_) continue;
    std::partial_sum(next.begin(), next.end(), next.begin());
    const std::size_t begin = rows_.size();
    rows_.resize(begin + static_cast<std::size_t>(n_rows_));
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      const auto code = static_cast<kernels::Ordered>(its_codes[row]);
      rows_[begin + next[code]++] = code << 16 | static_cast<kernels::Ordered>(row);
    }
    columns_.push_back(column);
  }
  rows_.resize(rows_.size() + slack);
}

}  // namespace weald::data
