#include "explain/pattern_tables.hpp"

namespace weald::explain {

PatternTables::PatternTables(std::int64_t tree, std::int64_t n_leaves, const RowColumns& rows,
                             PatternWalk& walk, const std::vector<Quadrature>& rules)
    : first_(static_cast<std::size_t>(n_leaves)) {
  std::vector<double> counts;
  const double share = 1.0 / static_cast<double>(rows.n_rows());
  walk.walk(tree, rows,
            [&](std::int32_t leaf, const std::vector<std::int32_t>& players,
                const std::vector<std::uint16_t>& patterns) {
              const int n = static_cast<int>(players.size());
              first_[leaf] = static_cast<std::int64_t>(values_.size());
              if (n == 0) return;
              counts.assign(std::size_t{1} << n, 0.0);
              for (const std::uint16_t one : patterns) counts[one] += share;
              add_leaf(n, counts, rules[(n + 1) / 2 - 1]);
            });
}

// The value of player i is the integral over p in [0, 1] of the sum over the background rows of
// (x_i - z_i) times the product over the others of z_j + p (x_j - z_j), where x_j and z_j say
// whether the row and the background row meet the conditions on j. At each point, one pass for each
// bit turns the counts of patterns z into sums[x] of the product over all players; dividing out the
// factor of i gives the sums over background rows with z_i = 0 and with z_i = 1.
void PatternTables::add_leaf(int n, std::vector<double>& counts, const Quadrature& rule) {
  const std::size_t size = counts.size();
  by_player_.assign(size * n, 0.0);
  for (std::size_t q = 0; q < rule.points.size(); ++q) {
    const double p = rule.points[q], weight = rule.weights[q];
    sums_ = counts;
    for (std::size_t bit = 1; bit < size; bit *= 2)
      for (std::size_t block = 0; block < size; block += 2 * bit)
        for (std::size_t x = block; x < block + bit; ++x) {
          const double unmet = sums_[x], met = sums_[x + bit];
          sums_[x] = (1.0 - p) * met;
          sums_[x + bit] = met + p * unmet;
        }
    const double over_p = 1.0 / p, over_rest = 1.0 / (1.0 - p);
    for (int i = 0; i < n; ++i) {
      const std::size_t bit = std::size_t{1} << i;
      double* const to = by_player_.data() + i * size;
      for (std::size_t block = 0; block < size; block += 2 * bit)
        for (std::size_t x = block; x < block + bit; ++x) {
          const double met = sums_[x] * over_rest, unmet = (sums_[x + bit] - met) * over_p;
          to[x] -= weight * met;
          to[x + bit] += weight * unmet;
        }
    }
  }
  for (std::size_t x = 0; x < size; ++x)
    for (int i = 0; i < n; ++i) values_.push_back(by_player_[i * size + x]);
}

}  // namespace weald::explain
