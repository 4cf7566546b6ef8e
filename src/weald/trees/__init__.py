"""Trees: how they are grown, and the one model they become."""

from weald.trees.cost_complexity import pruned_forest, pruning_alphas
from weald.trees.forest import Forest, ForestBuilder, mean_shares, picked_sets
from weald.trees.growing import GrownTree, TreeGrower, TreeLimits, check_search
from weald.trees.rotations import (
    RotatedForest,
    RotationRows,
    Rotations,
    RotationSample,
    grow_rotated_members,
)
from weald.trees.text import tree_text
from weald.trees.view import TreeView, decision_paths, depths
from weald.trees.woodland import ForestLimits, ForestRows, OutOfBag, grow_members

__all__ = [
    "Forest",
    "ForestBuilder",
    "ForestLimits",
    "ForestRows",
    "GrownTree",
    "OutOfBag",
    "RotatedForest",
    "RotationRows",
    "RotationSample",
    "Rotations",
    "TreeGrower",
    "TreeLimits",
    "TreeView",
    "check_search",
    "decision_paths",
    "depths",
    "grow_members",
    "grow_rotated_members",
    "mean_shares",
    "picked_sets",
    "pruned_forest",
    "pruning_alphas",
    "tree_text",
]
