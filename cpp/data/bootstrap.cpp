#include "data/bootstrap.hpp"

#include <algorithm>

#include "base/draws.hpp"

namespace weald::data {
namespace {

// Up to this much mass per draw, every unit of mass has a table entry; beyond, binary search.
constexpr std::int64_t listed_mass = 8;

}  // namespace

Bootstrap::Bootstrap(const std::int64_t* mass, std::int64_t n_units, std::int64_t n_draws,
                     std::uint64_t seed)
    : n_units_(n_units), n_draws_(n_draws), total_(n_units), seed_(seed) {
  if (!mass) return;
  total_ = 0;
  for (std::int64_t i = 0; i < n_units; ++i) total_ += mass[i];
  if (total_ <= listed_mass * n_units) {
    unit_of_.reserve(static_cast<std::size_t>(total_));
    for (std::int64_t i = 0; i < n_units; ++i)
      unit_of_.insert(unit_of_.end(), static_cast<std::size_t>(mass[i]), static_cast<Row>(i));
  } else {
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < n_units; ++i) end_of_.push_back(end += mass[i]);
  }
}

Bootstrap::Bootstrap(const Hash128* keys, std::int64_t n_units, std::int64_t n_draws,
                     std::uint64_t seed)
    : n_units_(n_units),
      n_draws_(n_draws),
      total_(n_units),
      seed_(seed),
      keys_(keys, keys + n_units) {}

void Bootstrap::draw_groups(const std::int64_t* group_of, std::int64_t n_rows) {
  group_of_.resize(static_cast<std::size_t>(n_rows));
  for (std::int64_t row = 0; row < n_rows; ++row) group_of_[row] = static_cast<Row>(group_of[row]);
}

void Bootstrap::draw(std::uint64_t member, std::int64_t* counts) const {
  if (group_of_.empty()) return draw_units(member, counts);
  std::vector<std::int64_t> of_group(static_cast<std::size_t>(n_units_));
  draw_units(member, of_group.data());
  for (std::size_t row = 0; row < group_of_.size(); ++row) counts[row] = of_group[group_of_[row]];
}

void Bootstrap::draw_units(std::uint64_t member, std::int64_t* counts) const {
  std::fill_n(counts, n_units_, 0);
  keys_.empty() ? draw_with_replacement(member, counts) : draw_without_replacement(member, counts);
}

void Bootstrap::draw_with_replacement(std::uint64_t member, std::int64_t* counts) const {
  const Draws draws(seed_, member, Purpose::bootstrap);
  const auto total = static_cast<std::uint64_t>(total_);
  for (std::int64_t i = 0; i < n_draws_; ++i) {
    const std::uint64_t place = draws.below(static_cast<std::uint64_t>(i), total);
    if (!unit_of_.empty()) {
      ++counts[unit_of_[place]];
    } else if (!end_of_.empty()) {
      const auto end =
          std::upper_bound(end_of_.begin(), end_of_.end(), static_cast<std::int64_t>(place));
      ++counts[end - end_of_.begin()];
    } else {
      ++counts[place];
    }
  }
}

void Bootstrap::draw_without_replacement(std::uint64_t member, std::int64_t* counts) const {
  struct Drawn {
    std::uint64_t word;
    Row unit;
    bool operator<(const Drawn& other) const {
      return word != other.word ? word < other.word : unit < other.unit;
    }
  };
  const DrawKey key{seed_, member, static_cast<std::uint64_t>(Purpose::paste)};
  std::vector<Drawn> all(static_cast<std::size_t>(n_units_));
  for (std::int64_t i = 0; i < n_units_; ++i) all[i] = {key(keys_[i]), static_cast<Row>(i)};
  const auto end = all.begin() + std::min(n_draws_, n_units_);
  if (end < all.end()) std::nth_element(all.begin(), end, all.end());
  for (auto one = all.begin(); one < end; ++one) ++counts[one->unit];
}

}  // namespace weald::data
