#include "forest/leaf_impurity.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "criteria/criteria.hpp"
#include "forest/median_scan.hpp"

namespace weald::forest {
namespace {

std::vector<double> means(const target::Channels& channels, const Row* rows, std::int64_t n) {
  std::vector<Int128> totals(static_cast<std::size_t>(1 + channels.n_channels()), 0);
  channels.add_exact(rows, n, totals.data());
  std::vector<double> all;
  for (int k = 0; k < channels.n_channels(); ++k)
    all.push_back(channels.leaf_sum(rows, n, totals.data(), k) /
                  channels.exact_weight(totals.data()));
  return all;
}

// The unit of the whole tree is too coarse for rows of small targets.
int unit_of(const target::Channels& channels, const Row* rows, std::int64_t n) {
  if (!channels.has_small_rows()) return channels.unit();
  double largest = 0.0;
  for (std::int64_t i = 0; i < n; ++i)
    for (int k = 0; k < channels.n_channels(); ++k)
      largest = std::max(largest, std::abs(channels.number(k, rows[i])));
  return exponent_above(largest);
}

// In units of 2^unit targets and their squares are finite.
template <class Error>
double sum_of(const target::Channels& channels, const Row* rows, std::int64_t n,
              const std::vector<double>& predictions, int unit, Error error) {
  const auto term = [&](Row row) {
    double sum = 0.0;
    for (int k = 0; k < channels.n_channels(); ++k)
      sum += error(scale_by_power(channels.number(k, row), -unit),
                   scale_by_power(predictions[k], -unit));
    return channels.target().weight ? sum * channels.target().weight[row] : sum;
  };
  double largest = 0.0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, term(rows[i]));
  if (largest == 0.0) return 0.0;
  const FixedPoint fixed(exponent_above(largest), exact_bits);
  Int128 total = 0;
  for (std::int64_t i = 0; i < n; ++i)
    total += static_cast<Int128>(fixed(term(rows[i]))) * channels.copies_of(rows[i]);
  return to_double(total, fixed.shift);
}

}  // namespace

double leaf_impurity(std::string_view criterion, const target::Channels& channels, const Row* rows,
                     std::int64_t n) {
  if (n < 2 || channels.target().classes || channels.is_pure(rows, n)) return 0.0;
  const int unit = unit_of(channels, rows, n);
  if (criterion == MedianScan::name) {
    const auto absolute = [](double number, double median) { return std::abs(number - median); };
    return scale_by_power(
        sum_of(channels, rows, n, {median_of_rows(channels, rows, n)}, unit, absolute), unit);
  }
  double rest = -1.0;
  criteria::AllCriteria::with_name(criterion, [&]<criteria::Criterion C>(C) {
    if constexpr (C::sums_of == SumsOf::numbers)
      rest =
          scale_by_power(sum_of(channels, rows, n, means(channels, rows, n), unit, C::row_impurity),
                         criteria::gain_exponent<C>(unit));
  });
  if (rest < 0.0) throw std::invalid_argument("criterion is not for regression");
  return rest;
}

}  // namespace weald::forest
