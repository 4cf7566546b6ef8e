// Shapley values of one tree for pairs of an explained row and a background row.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/shap_layout.hpp"
#include "tree/forest.hpp"

namespace weald::explain {

// Where both rows go the same way, only that child is visited; where they part, the player of the
// split follows the explained row in one child and the background row in the other. A leaf with a
// players of the first kind and b of the second adds v (a-1)! b! / (a+b)! to the former and
// subtracts v a! (b-1)! / (a+b)! from the latter.
class PairWalk {
 public:
  PairWalk(const tree::Forest& forest, const ShapColumns& columns);

  void lay_out(std::int64_t tree);

  // Adds to phi[player]; x and z are the values of the rows by slot.
  void add(const double* x, const double* z, int output, double* phi);

 private:
  struct Node {
    double threshold;
    std::int32_t slot, player, set;  // slot -1: a leaf
    std::int32_t right;              // of a leaf, its index
    bool missing_left;
  };
  enum class Follows : std::uint8_t { both, row, background };
  struct Branch {
    std::int32_t player, other;  // the child that is visited second
    int n_row, n_background;
    bool is_second;
    double plus, minus;  // of the child that was visited first
  };

  bool goes_left(const Node& node, const double* x) const;
  // n! m! / (n + m + 1)!
  double share(int n, int m) const { return shares_[n * width_ + m]; }

  const tree::Forest& forest_;
  const ShapColumns& columns_;
  std::int64_t tree_ = 0;
  std::vector<Node> nodes_;
  std::vector<Follows> follows_;  // of each player
  std::vector<Branch> branches_;
  std::vector<double> shares_;
  std::int64_t width_ = 0;
};

}  // namespace weald::explain
