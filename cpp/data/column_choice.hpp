// Which columns a node may ask: all of them, some drawn by lot, or those that may meet on its path.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/draws.hpp"

namespace weald::data {

// For what columns are drawn: for a whole tree, for all nodes of one depth, or for each node.
enum class Sampling { tree, level, node };

struct ColumnParams {
  int max_features = 0;  // 0: all
  Sampling sampling = Sampling::node;
  std::uint64_t seed = 0;
  // Columns that may meet on a path, each group in rising order; none: all may.
  std::vector<std::vector<int>> groups;

  bool is_free() const { return max_features == 0 && groups.empty(); }
};

// The columns that one node looks at; further ones, one at a time, if these cannot be cut at all.
class ColumnLook {
 public:
  ColumnLook() = default;  // all columns
  ColumnLook(std::vector<int> order, std::size_t n_first, int n_columns);

  bool is_all() const { return marks_.empty(); }
  bool takes(int column) const { return is_all() || marks_[column] != 0; }
  bool takes_any(int begin, int end) const;

  // Turns from those it took so far to the next one, and tells it; -1: there is none.
  int turn_to_next();

 private:
  std::vector<char> marks_;  // of each column
  std::vector<int> order_;
  std::size_t n_seen_ = 0;
};

class ColumnChoice {
 public:
  // What the way from the root to a node decides.
  struct Path {
    Draws draws{0};
    bool is_root = true;           // all groups
    std::vector<int> groups = {};  // those that hold every column asked on the way
  };

  ColumnChoice(ColumnParams params, int n_columns);

  bool is_free() const { return params_.is_free(); }
  Path root(std::uint64_t member) const;
  Path child(const Path& path, int column, bool is_right) const;
  ColumnLook look(const Path& path) const;

 private:
  std::vector<char> allowed(const Path& path) const;

  ColumnParams params_;
  int n_columns_;
};

}  // namespace weald::data
