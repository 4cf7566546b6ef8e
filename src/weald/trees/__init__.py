"""Trees: how they are grown, and the one model they become."""

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
    "check_search",
    "grow_members",
    "grow_rotated_members",
    "mean_shares",
    "picked_sets",
    "tree_text",
]
