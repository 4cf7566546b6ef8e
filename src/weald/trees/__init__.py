"""Trees: how they are grown, and the one model they become."""

from weald.trees.conditions import conditions_of_leaf
from weald.trees.forest import Forest, ForestBuilder, mean_shares, picked_sets
from weald.trees.growing import GrownTree, TreeGrower, TreeLimits, check_search
from weald.trees.option_forest import (
    Branch,
    OptionForest,
    heads_of,
    inserted_option,
    options_at,
)
from weald.trees.option_growing import OptionGrower, OptionLimits, OptionTarget
from weald.trees.option_text import option_tree_text
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
    "Branch",
    "Forest",
    "ForestBuilder",
    "ForestLimits",
    "ForestRows",
    "GrownTree",
    "OptionForest",
    "OptionGrower",
    "OptionLimits",
    "OptionTarget",
    "OutOfBag",
    "RotatedForest",
    "RotationRows",
    "RotationSample",
    "Rotations",
    "TreeGrower",
    "TreeLimits",
    "check_search",
    "conditions_of_leaf",
    "grow_members",
    "grow_rotated_members",
    "heads_of",
    "inserted_option",
    "mean_shares",
    "option_tree_text",
    "options_at",
    "picked_sets",
    "tree_text",
]
