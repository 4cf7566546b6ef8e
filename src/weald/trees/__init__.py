"""Trees: how they are grown, and the one model they become."""

from weald.trees.forest import Forest, ForestBuilder, picked_sets
from weald.trees.frame import made_frame, node_columns
from weald.trees.growing import GrownTree, TreeGrower, TreeLimits, check_search
from weald.trees.text import tree_text
from weald.trees.woodland import ForestLimits, ForestRows, OutOfBag, grow_members

__all__ = [
    "Forest",
    "ForestBuilder",
    "ForestLimits",
    "ForestRows",
    "GrownTree",
    "OutOfBag",
    "TreeGrower",
    "TreeLimits",
    "check_search",
    "grow_members",
    "made_frame",
    "node_columns",
    "picked_sets",
    "tree_text",
]
