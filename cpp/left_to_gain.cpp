#include "left_to_gain.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "criteria/criteria.hpp"
#include "elementary.hpp"
#include "median_scan.hpp"

namespace weald {
namespace {

// What a number misses of the leaf's answer; never negative.
double squared(double number, double answer) { return (number - answer) * (number - answer); }
double absolute(double number, double answer) { return std::abs(number - answer); }
// Half the deviance. Its last terms add up to nothing: answers are means.
double poisson(double number, double answer) {
  const double ratio = number > 0.0 ? number * elementary::log(number / answer) : 0.0;
  return std::max(0.0, ratio + (answer - number));
}

std::vector<double> means(const Channels& channels, const Row* rows, std::int64_t n) {
  std::vector<Int128> totals(static_cast<std::size_t>(1 + channels.n_channels()), 0);
  channels.add_exact(rows, n, totals.data());
  std::vector<double> all;
  for (int k = 0; k < channels.n_channels(); ++k)
    all.push_back(channels.leaf_sum(rows, n, totals.data(), k) /
                  channels.exact_weight(totals.data()));
  return all;
}

// In units of 2^unit numbers and their squares are finite.
template <class Missed>
double sum_of(const Channels& channels, const Row* rows, std::int64_t n,
              const std::vector<double>& answers, Missed missed) {
  const int unit = channels.unit();
  const auto term = [&](Row row) {
    double sum = 0.0;
    for (int k = 0; k < channels.n_channels(); ++k)
      sum +=
          missed(scale_by_power(channels.number(k, row), -unit), scale_by_power(answers[k], -unit));
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

double left_to_gain(std::string_view criterion, const Channels& channels, const Row* rows,
                    std::int64_t n) {
  if (n < 2 || channels.target().classes || channels.is_pure(rows, n)) return 0.0;
  const int unit = channels.unit();
  if (criterion == MedianScan::name)
    return scale_by_power(sum_of(channels, rows, n, {median_of_rows(channels, rows, n)}, absolute),
                          unit);
  const std::vector<double> answers = means(channels, rows, n);
  if (criterion == PoissonDeviance::name)
    return scale_by_power(sum_of(channels, rows, n, answers, poisson),
                          gain_exponent<PoissonDeviance>(unit));
  return scale_by_power(sum_of(channels, rows, n, answers, squared), gain_exponent<Variance>(unit));
}

}  // namespace weald
