// How the driver grows trees.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "categories.hpp"
#include "grower.hpp"
#include "kernels/kernels.hpp"
#include "tables.hpp"
#include "trees.hpp"

namespace weald::portable {

struct Setting {
  std::string name;
  TreeParams params;
  std::vector<Cells> cells;  // of the newton criterion
  bool weighted, copied;
  bool has_levels = false;  // the third column, of whole numbers from 0 to 49, holds categories

  Categories categories(const Binned& binned) const {
    Categories all;
    if (!has_levels) return all;
    if (binned.n_bins[2] != 50) throw std::logic_error("not all levels occur");
    all.is_category.assign(binned.n_bins.size(), 0);
    all.is_category[2] = 1;
    return all;
  }
};

inline Setting with_levels(Setting setting) {
  setting.name += ", levels";
  setting.has_levels = true;
  return setting;
}

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

// Penalties, drawn columns, groups of them and directions; splits are taken back afterwards.
inline Setting constrained() {
  TreeParams params;
  params.max_leaf_nodes = 40;
  params.split.min_gain = 0.0;
  params.split.penalty.l1 = 0.25;
  params.split.penalty.l2 = 1.0;
  params.prune_gain = 0x1p-6;
  params.columns.max_features = 3;
  params.columns.seed = 7;
  params.columns.groups = {{0, 1, 2, 3, 4, 5}, {4, 5, 6, 7, 8, 9, 10}, {1, 11, 12, 13}};
  params.split.direction = {1, -1, 0, 0, 1, 0, 0, -1, 0, 0, 1, 0, 0, 0};
  return {"constrained", params, {Cells::packed, Cells::wide}, true, true};
}

inline std::string_view name_of(Cells cells) {
  return cells == Cells::automatic ? "automatic" : cells == Cells::packed ? "packed" : "wide";
}

}  // namespace weald::portable
