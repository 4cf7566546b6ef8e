"""Trees: how they are grown, and the one model they become."""

from weald.trees.cost_complexity import pruned_forest, pruning_alphas
from weald.trees.forest import Forest, ForestBuilder, picked_sets
from weald.trees.growing import GrownTree, TreeGrower, TreeLimits, check_search
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
    "TreeGrower",
    "TreeLimits",
    "TreeView",
    "check_search",
    "decision_paths",
    "depths",
    "grow_members",
    "picked_sets",
    "pruned_forest",
    "pruning_alphas",
    "tree_text",
]
