#include "rotation/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/exact_sum.hpp"
#include "rotation/jacobi.hpp"

namespace weald::rotation {
namespace {

// Random words of a tree: below this number for the order of columns, from it on keys of blocks.
constexpr std::uint64_t first_block_key = std::uint64_t{1} << 40;

// Gathers the values of some columns in the drawn rows, and the counts of these.
void gather(const RotationTable& table, const std::int32_t* columns, int n,
            RotationScratch& scratch) {
  auto& [counts, drawn, values] = scratch;
  drawn.clear();
  for (const std::int64_t count : counts)
    if (count > 0) drawn.push_back(count);
  const std::size_t n_drawn = drawn.size();
  values.resize(n_drawn * static_cast<std::size_t>(n));
  for (int a = 0; a < n; ++a) {
    const double* const from = table.values_of(columns[a]);
    double* to = values.data() + static_cast<std::size_t>(a) * n_drawn;
    for (std::size_t row = 0; row < counts.size(); ++row)
      if (counts[row] > 0) *to++ = from[row];
  }
}

// Centres each column and scales all by a power of two to below 1 in absolute value. Returns false
// if all are zero.
bool centre(RotationScratch& scratch, int n) {
  const std::size_t n_drawn = scratch.drawn.size();
  std::int64_t total = 0;
  for (const std::int64_t count : scratch.drawn) total += count;
  double largest = 0.0;
  for (int a = 0; a < n; ++a) {
    double* const values = scratch.values.data() + static_cast<std::size_t>(a) * n_drawn;
    double most = 0.0;
    for (std::size_t i = 0; i < n_drawn; ++i) most = std::max(most, std::abs(values[i]));
    const FixedPoint fixed(exponent_above(most), exact_bits);
    Int128 sum = 0;
    for (std::size_t i = 0; i < n_drawn; ++i) sum += Int128{fixed(values[i])} * scratch.drawn[i];
    const double mean = to_double(sum, fixed.shift) / static_cast<double>(total);
    for (std::size_t i = 0; i < n_drawn; ++i) {
      values[i] -= mean;
      largest = std::max(largest, std::abs(values[i]));
    }
  }
  if (largest == 0.0) return false;
  const int exponent = exponent_above(largest);
  for (double& value : scratch.values) value = scale_by_power(value, -exponent);
  return true;
}

// Covariance of centred values below 1, from exact sums of products.
void covariance(const RotationScratch& scratch, int n, double* matrix) {
  const auto n_drawn = static_cast<std::int64_t>(scratch.drawn.size());
  const FixedPoint fixed(0, exact_bits);
  std::int64_t total = 0;
  for (const std::int64_t count : scratch.drawn) total += count;
  for (int a = 0; a < n; ++a)
    for (int b = a; b < n; ++b) {
      const double* const x = scratch.values.data() + a * n_drawn;
      const double* const y = scratch.values.data() + b * n_drawn;
      Int128 sum = 0;
      for (std::int64_t i = 0; i < n_drawn; ++i)
        sum += Int128{fixed(x[i] * y[i])} * scratch.drawn[i];
      matrix[a * n + b] = matrix[b * n + a] =
          to_double(sum, fixed.shift) / static_cast<double>(total);
    }
}

}  // namespace

RowsByClass::RowsByClass(const std::int32_t* classes, int n_classes, const std::int64_t* mass,
                         bool counts_copies, std::int64_t n_rows)
    : n_rows_(n_rows),
      counts_copies_(counts_copies),
      first_(static_cast<std::size_t>(n_classes) + 1, 0) {
  const auto class_of = [&](std::int64_t row) { return classes ? classes[row] : 0; };
  const auto has_mass = [&](std::int64_t row) { return !mass || mass[row] > 0; };
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (has_mass(row)) ++first_[class_of(row) + 1];
  for (int k = 0; k < n_classes; ++k) {
    if (first_[k + 1] > 0) present_.push_back(k);
    first_[k + 1] += first_[k];
  }
  rows_.resize(static_cast<std::size_t>(first_[n_classes]));
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  for (std::int64_t row = 0; row < n_rows; ++row)
    if (has_mass(row)) rows_[next[class_of(row)]++] = static_cast<Row>(row);
  if (!mass) return;
  std::int64_t end = 0;
  for (const Row row : rows_) end_of_.push_back(end += mass[row]);
}

std::vector<int> RowsByClass::draw_classes(const Draws& draws) const {
  const std::uint64_t n = present_.size();
  std::vector<int> kept;
  for (std::uint64_t attempt = 0; kept.empty(); ++attempt)
    for (std::uint64_t k = 0; k < n; ++k)
      if (n == 1 || draws.word(attempt * n + k) >> 63) kept.push_back(present_[k]);
  return kept;
}

void RowsByClass::draw(const std::vector<int>& classes, double fraction, bool replace,
                       const Draws& draws, std::int64_t* counts) const {
  std::fill_n(counts, n_rows_, 0);
  replace ? draw_with_replacement(classes, fraction, draws, counts)
          : draw_without_replacement(classes, fraction, draws, counts);
}

void RowsByClass::draw_with_replacement(const std::vector<int>& classes, double fraction,
                                        const Draws& draws, std::int64_t* counts) const {
  std::vector<std::int64_t> ends;  // cumulative mass of the classes
  std::int64_t total = 0, n_copies = 0;
  for (const int k : classes) {
    const std::int64_t mass = mass_before(first_[k + 1]) - mass_before(first_[k]);
    n_copies += counts_copies_ ? mass : first_[k + 1] - first_[k];
    ends.push_back(total += mass);
  }
  const auto wanted =
      static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(n_copies) + 0.5));
  const std::int64_t n_draws = std::max<std::int64_t>(1, wanted);
  for (std::int64_t i = 0; i < n_draws; ++i) {
    auto unit = static_cast<std::int64_t>(
        draws.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(total)));
    const auto end = std::upper_bound(ends.begin(), ends.end(), unit);
    const int k = classes[end - ends.begin()];
    unit += mass_before(first_[k]) - (end == ends.begin() ? 0 : end[-1]);
    std::int64_t place = unit;
    if (!end_of_.empty())
      place = std::upper_bound(end_of_.begin() + first_[k], end_of_.begin() + first_[k + 1], unit) -
              end_of_.begin();
    ++counts[rows_[place]];
  }
}

// A row of c copies is drawn floor(fraction * c) times, and once more with the probability of the
// remainder; with weights a row is drawn with its whole mass.
void RowsByClass::draw_without_replacement(const std::vector<int>& classes, double fraction,
                                           const Draws& draws, std::int64_t* counts) const {
  bool any = false;
  for (const int k : classes)
    for (std::int64_t place = first_[k]; place < first_[k + 1]; ++place) {
      const Row row = rows_[place];
      const std::int64_t mass = mass_at(place);
      const double expected = fraction * (counts_copies_ ? static_cast<double>(mass) : 1.0);
      const double certain = std::floor(expected);
      const std::int64_t n =
          static_cast<std::int64_t>(certain) + (draws.unit(row) < expected - certain ? 1 : 0);
      counts[row] = counts_copies_ ? n : n * mass;
      any = any || n > 0;
    }
  if (!any) counts[rows_[first_[classes[0]]]] = 1;
}

std::vector<std::int64_t> first_loadings(const std::vector<std::int64_t>& first_of_block) {
  std::vector<std::int64_t> first{0};
  for (std::size_t b = 1; b < first_of_block.size(); ++b) {
    const std::int64_t size = first_of_block[b] - first_of_block[b - 1];
    first.push_back(first.back() + size * size);
  }
  return first;
}

Rotation draw_rotation(const RotationTable& table, const RowsByClass& rows,
                       const RotationParams& params, std::uint64_t member,
                       RotationScratch& scratch) {
  const int n = table.columns().n_rotated();
  const Draws draws(params.seed, member, Purpose::rotation);
  Rotation rotation;
  rotation.order.resize(static_cast<std::size_t>(n));
  std::iota(rotation.order.begin(), rotation.order.end(), 0);
  for (int j = 0; j < n; ++j)
    std::swap(rotation.order[j], rotation.order[j + static_cast<int>(draws.below(j, n - j))]);

  const std::vector<std::int64_t> first = first_loadings(params.first_of_block);
  rotation.loading.resize(static_cast<std::size_t>(first.back()));
  scratch.counts.resize(static_cast<std::size_t>(table.n_rows()));
  std::vector<double> matrix;
  for (std::size_t b = 0; b + 1 < params.first_of_block.size(); ++b) {
    const std::int64_t begin = params.first_of_block[b];
    const auto size = static_cast<int>(params.first_of_block[b + 1] - begin);
    const Draws block(draws.word(first_block_key + b));
    const std::vector<int> classes = rows.draw_classes(Draws(block.word(0)));
    rows.draw(classes, params.sample_fraction, params.replace, Draws(block.word(1)),
              scratch.counts.data());
    gather(table, rotation.order.data() + begin, size, scratch);
    matrix.assign(static_cast<std::size_t>(size) * static_cast<std::size_t>(size), 0.0);
    if (centre(scratch, size)) covariance(scratch, size, matrix.data());
    principal_axes(matrix.data(), size, rotation.loading.data() + first[b]);
  }
  return rotation;
}

}  // namespace weald::rotation
