"""Trees: how they are grown, and the one model they become."""

from weald.trees.forest import Forest, ForestBuilder, picked_sets
from weald.trees.growing import GrownTree, TreeGrower, TreeLimits, check_search
from weald.trees.text import tree_text

__all__ = [
    "Forest",
    "ForestBuilder",
    "GrownTree",
    "TreeGrower",
    "TreeLimits",
    "check_search",
    "picked_sets",
    "tree_text",
]
