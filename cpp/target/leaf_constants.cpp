#include "target/leaf_constants.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/exact_sum.hpp"

namespace weald::target {
namespace {

bool is_less(const WeightedValue& a, const WeightedValue& b) { return a.value < b.value; }

Int128 mass_of(const WeightedValue* begin, const WeightedValue* end) {
  Int128 total = 0;
  for (const WeightedValue* at = begin; at < end; ++at) total += at->mass;
  return total;
}

}  // namespace

std::vector<std::int64_t> masses(const double* weight, const std::int64_t* copies,
                                 std::int64_t n_rows) {
  std::vector<std::int64_t> mass(static_cast<std::size_t>(n_rows), 1);
  if (copies) mass.assign(copies, copies + n_rows);
  if (!weight) return mass;
  double top = 0.0;
  std::int64_t n_copies = 0;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    if (mass[row] <= 0) continue;
    top = std::max(top, weight[row]);
    n_copies += mass[row];
  }
  const int bits = 61 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_copies)));
  const FixedPoint fixed(exponent_above(top), bits);
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (mass[row] > 0) mass[row] *= std::max<std::int64_t>(1, fixed(weight[row]));
  return mass;
}

double quantile(std::vector<WeightedValue>& values, double level) {
  WeightedValue* begin = values.data();
  WeightedValue* end = begin + values.size();
  const double wanted = level * static_cast<double>(mass_of(begin, end));
  const auto reaches = [&](Int128 mass) { return static_cast<double>(mass) >= wanted; };
  Int128 below = 0;  // mass of the values before `begin`
  double last = begin->value;
  while (begin < end) {
    WeightedValue* const middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, is_less);
    const Int128 before = below + mass_of(begin, middle);
    last = middle->value;
    if (middle > begin && reaches(before)) {
      end = middle;
    } else if (reaches(before + middle->mass)) {
      return middle->value;
    } else {
      below = before + middle->mass;
      begin = middle + 1;
    }
  }
  return last;
}

double huber_constant(std::vector<WeightedValue>& values, double width) {
  std::sort(values.begin(), values.end(), is_less);
  const std::size_t n = values.size();
  const double low = values.front().value, high = values.back().value;
  if (low == high) return low;
  const FixedPoint fixed(exponent_above(std::max(std::abs(low), std::abs(high))), exact_bits);
  std::vector<Int128> mass(n + 1, 0), sum(n + 1, 0);  // cumulative, over the first i values
  for (std::size_t i = 0; i < n; ++i) {
    mass[i + 1] = mass[i] + values[i].mass;
    sum[i + 1] = sum[i] + static_cast<Int128>(fixed(values[i].value)) * values[i].mass;
  }
  // Root of the non-decreasing derivative: bracketed, by the Newton step that is exact if the same
  // values stay within the width, or by bisection.
  double begin = low, end = high, c = 0.5 * low + 0.5 * high;
  for (int step = 0; step < 200; ++step) {
    const auto first =
        std::lower_bound(values.begin(), values.end(), WeightedValue{c - width, 0}, is_less);
    const auto last = std::upper_bound(first, values.end(), WeightedValue{c + width, 0}, is_less);
    const std::size_t a = static_cast<std::size_t>(first - values.begin());
    const std::size_t b = static_cast<std::size_t>(last - values.begin());
    const double within = static_cast<double>(mass[b] - mass[a]);
    const double pull = width * static_cast<double>((mass[n] - mass[b]) - mass[a]);
    const double target = to_double(sum[b] - sum[a], fixed.shift) + pull;
    const double derivative = within * c - target;
    if (derivative == 0.0) return c;
    (derivative < 0.0 ? begin : end) = c;
    const double newton = within > 0.0 ? target / within : c;
    const double next = newton > begin && newton < end ? newton : 0.5 * begin + 0.5 * end;
    if (next == c || !(begin < next && next < end)) return c;
    c = next;
  }
  return c;
}

}  // namespace weald::target
