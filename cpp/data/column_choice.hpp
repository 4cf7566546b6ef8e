// Candidate columns of a node: all, a random subset, or those its interaction constraints allow.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/draws.hpp"

namespace weald::data {

// Scope of column subsampling: per tree, per depth, or per node.
enum class Sampling { tree, level, node };

struct ColumnParams {
  int max_features = 0;  // 0: all
  Sampling sampling = Sampling::node;
  std::uint64_t seed = 0;
  // Interaction constraints: columns that may occur together on a path, each group sorted; empty:
  // no constraints.
  std::vector<std::vector<int>> groups;

  bool is_free() const { return max_features == 0 && groups.empty(); }
};

// The candidate columns of one node, and the order of further ones to try one at a time if none of
// these can be split.
class CandidateColumns {
 public:
  CandidateColumns() = default;  // all columns
  CandidateColumns(std::vector<int> order, std::size_t n_first, int n_columns);

  bool is_all() const { return marks_.empty(); }
  bool takes(int column) const { return is_all() || marks_[column] != 0; }

  // Replace the candidates by the next column and return it; -1: there is none.
  int next_column();

 private:
  std::vector<char> marks_;  // of each column
  std::vector<int> order_;
  std::size_t n_seen_ = 0;
};

class ColumnChoice {
 public:
  // State of the path from the root to a node.
  struct Path {
    Draws draws{0};
    bool is_root = true;           // all groups are possible
    std::vector<int> groups = {};  // groups that contain every column split on the path
  };

  ColumnChoice(ColumnParams params, int n_columns);

  bool is_free() const { return params_.is_free(); }
  Path root(std::uint64_t member) const;
  Path child(const Path& path, int column, bool is_right) const;
  CandidateColumns candidates(const Path& path) const;

 private:
  std::vector<char> allowed(const Path& path) const;

  ColumnParams params_;
  int n_columns_;
};

}  // namespace weald::data
