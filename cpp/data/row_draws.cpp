#include "data/row_draws.hpp"

#include <algorithm>
#include <numeric>

#include "base/draws.hpp"
#include "base/elementary.hpp"

namespace weald::data {

RowDraws::RowDraws(std::int64_t n_rows, const std::int64_t* mass, std::int64_t n_draws,
                   bool replace, std::uint64_t seed)
    : n_rows_(n_rows), n_draws_(n_draws), replace_(replace), seed_(seed) {
  if (!mass) return;
  end_of_.resize(static_cast<std::size_t>(n_rows));
  std::partial_sum(mass, mass + n_rows, end_of_.begin());
}

std::vector<DrawnRow> RowDraws::draw(std::uint64_t member) const {
  std::vector<Row> places = replace_          ? with_replacement(member)
                            : end_of_.empty() ? without_replacement(member)
                                              : by_mass_without_replacement(member);
  std::sort(places.begin(), places.end());
  std::vector<DrawnRow> drawn;
  drawn.reserve(places.size());
  for (const Row place : places) {
    if (!drawn.empty() && drawn.back().place == place)
      ++drawn.back().copies;
    else
      drawn.push_back({place, 1});
  }
  return drawn;
}

std::vector<Row> RowDraws::with_replacement(std::uint64_t member) const {
  const Draws draws(seed_, member, Purpose::bootstrap);
  const std::int64_t total = end_of_.empty() ? n_rows_ : end_of_.back();
  std::vector<Row> places(static_cast<std::size_t>(n_draws_));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<std::int64_t>(draws.below(i, static_cast<std::uint64_t>(total)));
    places[i] = static_cast<Row>(
        end_of_.empty() ? at
                        : std::upper_bound(end_of_.begin(), end_of_.end(), at) - end_of_.begin());
  }
  return places;
}

// Floyd's algorithm: every subset of n_draws rows is equally likely.
std::vector<Row> RowDraws::without_replacement(std::uint64_t member) const {
  const Draws draws(seed_, member, Purpose::paste);
  std::vector<bool> is_drawn(static_cast<std::size_t>(n_rows_));
  std::vector<Row> places;
  places.reserve(static_cast<std::size_t>(n_draws_));
  for (auto last = static_cast<std::uint64_t>(n_rows_ - n_draws_);
       last < static_cast<std::uint64_t>(n_rows_); ++last) {
    const std::uint64_t drawn = draws.below(last, last + 1);
    const std::uint64_t place = is_drawn[drawn] ? last : drawn;
    is_drawn[place] = true;
    places.push_back(static_cast<Row>(place));
  }
  return places;
}

// The rows whose exponential clocks, with rates proportional to mass, ring first: as if rows were
// drawn one after another in proportion to mass (Efraimidis and Spirakis).
std::vector<Row> RowDraws::by_mass_without_replacement(std::uint64_t member) const {
  const Draws draws(seed_, member, Purpose::paste);
  std::vector<double> time(static_cast<std::size_t>(n_rows_));
  std::int64_t begin = 0;
  for (std::size_t row = 0; row < time.size(); ++row) {
    const auto mass = static_cast<double>(end_of_[row] - begin);
    time[row] = -elementary::log(1.0 - draws.unit(row)) / mass;
    begin = end_of_[row];
  }
  std::vector<Row> places(time.size());
  std::iota(places.begin(), places.end(), Row{0});
  const auto comes_before = [&](Row a, Row b) {
    return time[a] != time[b] ? time[a] < time[b] : a < b;
  };
  if (n_draws_ < n_rows_)
    std::nth_element(places.begin(), places.begin() + n_draws_, places.end(), comes_before);
  places.resize(static_cast<std::size_t>(n_draws_));
  return places;
}

}  // namespace weald::data
