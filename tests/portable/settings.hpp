// How the driver grows trees.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "data/categories.hpp"
#include "grow/grower.hpp"
#include "kernels/kernels.hpp"
#include "tables.hpp"
#include "trees.hpp"

namespace weald::portable {

struct Setting {
  std::string name;
  weald::tree::TreeParams params;
  std::vector<weald::target::Cells> cells;  // of the newton criterion
  bool weighted, copied;
  bool has_levels = false;  // the third column, of whole numbers from 0 to 49, holds categories

  weald::data::Categories categories(const Binned& binned) const {
    weald::data::Categories all;
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
  weald::tree::TreeParams params;
  params.max_leaf_nodes = 31;
  return {
      "plain", params, {weald::target::Cells::packed, weald::target::Cells::wide}, false, false};
}

// Every limit and penalty; rows have weights and copies.
inline Setting bounded() {
  weald::tree::TreeParams params;
  params.growth = weald::tree::Growth::depth_wise;
  params.max_depth = 5;
  params.split.min_samples_leaf = 20;
  params.split.min_child_weight = 0.5;
  params.split.min_gain = 0x1p-10;
  params.split.penalty.l2 = 1.0;
  return {
      "bounded",
      params,
      {weald::target::Cells::automatic, weald::target::Cells::packed, weald::target::Cells::wide},
      true,
      true};
}

// Trees too large for masks, which also make splits that gain nothing; rows have copies.
inline Setting large() {
  weald::tree::TreeParams params;
  params.max_leaf_nodes = weald::kernels::max_mask_leaves + 10;
  params.split.min_samples_leaf = 2;
  params.split.min_gain = -infinity;
  return {"large", params, {weald::target::Cells::packed, weald::target::Cells::wide}, false, true};
}

// One test a level; rows have weights.
inline Setting symmetric() {
  weald::tree::TreeParams params;
  params.growth = weald::tree::Growth::symmetric;
  params.max_depth = 5;
  params.split.min_samples_leaf = 5;
  return {
      "symmetric", params, {weald::target::Cells::packed, weald::target::Cells::wide}, true, false};
}

// Penalties, drawn columns, groups of them and directions; splits are taken back afterwards.
inline Setting constrained() {
  weald::tree::TreeParams params;
  params.max_leaf_nodes = 40;
  params.split.min_gain = 0.0;
  params.split.penalty.l1 = 0.25;
  params.split.penalty.l2 = 1.0;
  params.prune_gain = 0x1p-6;
  params.columns.max_features = 3;
  params.columns.seed = 7;
  params.columns.groups = {{0, 1, 2, 3, 4, 5}, {4, 5, 6, 7, 8, 9, 10}, {1, 11, 12, 13}};
  params.split.direction = {1, -1, 0, 0, 1, 0, 0, -1, 0, 0, 1, 0, 0, 0};
  return {"constrained",
          params,
          {weald::target::Cells::packed, weald::target::Cells::wide},
          true,
          true};
}

inline std::string_view name_of(weald::target::Cells cells) {
  return cells == weald::target::Cells::automatic ? "automatic"
         : cells == weald::target::Cells::packed  ? "packed"
                                                  : "wide";
}

}  // namespace weald::portable
