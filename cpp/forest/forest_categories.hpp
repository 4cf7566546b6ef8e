// The categories present in a node, in the order in which sets of them are tried.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/draws.hpp"
#include "data/categories.hpp"
#include "data/ranks.hpp"
#include "split/category_order.hpp"

namespace weald::forest {

// Levels (categories) are numbered from 1 in order of appearance, so that small nodes stay cheap
// however many levels the column has; 0 stands for missing values. `frequent` are the levels that
// are assigned to a side, in the order in which sets are tried: a prefix goes left, the rest right.
// `others`, rare levels and missing values, go to one side together.
class NodeLevels {
 public:
  void gather(const data::RankedTable& table, int column, const Row* rows, std::int64_t n,
              bool reads_many) {
    n_levels_ = table.n_levels(column);
    if (number_of_.size() <= static_cast<std::size_t>(n_levels_))
      number_of_.resize(static_cast<std::size_t>(n_levels_) + 1, 0);
    if (static_cast<std::int64_t>(numbers_.size()) < n)
      numbers_.resize(static_cast<std::size_t>(n));
    level_of_.assign(1, -1);
    bool has_missing = false;
    table.with_levels(column, reads_many, [&](auto&& level_of) {
      for (std::int64_t i = 0; i < n; ++i) {
        const int level = level_of(rows[i]);
        has_missing |= level == 0;
        if (level > 0 && number_of_[level] == 0) {
          number_of_[level] = static_cast<std::int32_t>(level_of_.size());
          level_of_.push_back(level - 1);
        }
        numbers_[i] = number_of_[level];
      }
    });
    for (std::size_t number = 1; number < level_of_.size(); ++number)
      number_of_[level_of_[number] + 1] = 0;
    frequent.clear();
    others.clear();
    if (has_missing) others.push_back(0);
  }

  int n_here() const { return static_cast<int>(level_of_.size()) - 1; }
  int n_of_column() const { return n_levels_; }
  std::int32_t number(std::int64_t i) const { return numbers_[i]; }

  // Ties are ordered by level.
  template <class KeyOf>
  void order_by(KeyOf&& key_of) {
    sorter_.sort(frequent, key_of, [&](int number) { return level_of_[number]; });
  }
  // Random order for the column.
  void shuffle(const Draws& draws, int column) {
    constexpr std::uint64_t levels = std::uint64_t{1} << 50;  // beyond all other draws of a node
    order_by([&](int number) {
      return draws.unit(levels + (static_cast<std::uint64_t>(column) << 16) +
                        static_cast<std::uint64_t>(level_of_[number]));
    });
  }

  // Stores the set of the first `end` frequent levels of the column, now the best one.
  void keep(int column, int end, bool missing_left) {
    column_ = column;
    left_ = split::set_of_first(frequent, static_cast<std::size_t>(end), frequent, n_levels_,
                                missing_left, [&](int number) { return level_of_[number]; });
  }
  // The left set of the node's best split; empty if the column is not categorical.
  data::LevelSet set_of(int column) const { return column == column_ ? left_ : data::LevelSet{}; }

  std::vector<int> frequent, others;  // numbers

 private:
  int n_levels_ = 0;                     // of the column
  std::vector<std::int32_t> number_of_;  // [level + 1], all 0 between calls
  std::vector<std::int32_t> numbers_;    // [row of the node]
  std::vector<int> level_of_;            // [number]
  split::LevelSorter sorter_;
  int column_ = -1;
  data::LevelSet left_;
};

}  // namespace weald::forest
