// How the driver grows trees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grower.hpp"
#include "kernels/kernels.hpp"
#include "tables.hpp"

namespace weald::portable {

struct Setting {
  std::string name;
  TreeParams params;
  std::vector<Cells> cells;  // of the newton criterion
  bool weighted, copied;
};

// Shallow trees on all rows.
inline Setting plain() {
  TreeParams params;
  params.max_leaf_nodes = 31;
  return {"plain", params, {Cells::packed, Cells::wide}, false, false};
}

// Every limit and penalty; rows have weights and copies.
inline Setting bounded() {
  TreeParams params;
  params.growth = Growth::depth_wise;
  params.max_depth = 5;
  params.split.min_samples_leaf = 20;
  params.split.min_child_weight = 0.5;
  params.split.min_gain = 0x1p-10;
  params.split.penalty.l2 = 1.0;
  return {"bounded", params, {Cells::automatic, Cells::packed, Cells::wide}, true, true};
}

// Trees too large for masks, which also make splits that gain nothing; rows have copies.
inline Setting large() {
  TreeParams params;
  params.max_leaf_nodes = max_mask_leaves + 10;
  params.split.min_samples_leaf = 2;
  params.split.min_gain = -infinity;
  return {"large", params, {Cells::packed, Cells::wide}, false, true};
}

// One test a level; rows have weights.
inline Setting symmetric() {
  TreeParams params;
  params.growth = Growth::symmetric;
  params.max_depth = 5;
  params.split.min_samples_leaf = 5;
  return {"symmetric", params, {Cells::wide}, true, false};
}

inline std::string_view name_of(Cells cells) {
  return cells == Cells::automatic ? "automatic" : cells == Cells::packed ? "packed" : "wide";
}

}  // namespace weald::portable
