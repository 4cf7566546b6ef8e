"""Growing, pruning, storing and displaying trees."""

from weald.trees.conditions import conditions_of_leaf
from weald.trees.cost_complexity import pruned_forest, pruned_newton_tree, pruning_alphas
from weald.trees.cutting import cut
from weald.trees.forest import Forest, ForestBuilder, mean_shares, picked_sets, unit_parts
from weald.trees.forest_training import ForestGrower, ForestLimits, ForestRows, OutOfBag
from weald.trees.frame import made_frame, node_columns
from weald.trees.growing import GrownTree, GrownTrees, TreeGrower, TreeLimits, check_search
from weald.trees.isolation import IsolationRows, depth_limit, grow_isolation_trees
from weald.trees.medians import weighted_median, with_medians
from weald.trees.option_forest import (
    Branch,
    OptionForest,
    heads_of,
    inserted_option,
    options_at,
    way_to,
)
from weald.trees.option_growing import OptionGrower, OptionLimits, OptionTarget
from weald.trees.option_text import option_tree_text
from weald.trees.rotations import (
    RotatedForest,
    RotationRows,
    Rotations,
    RotationSample,
    blocks_of,
    grow_rotated_trees,
)
from weald.trees.text import tree_text
from weald.trees.view import (
    LeafFacts,
    TreeView,
    class_impurity,
    decision_paths,
    depths,
    nodes_of_leaves,
)

__all__ = [
    "Branch",
    "Forest",
    "ForestBuilder",
    "ForestGrower",
    "ForestLimits",
    "ForestRows",
    "GrownTree",
    "GrownTrees",
    "IsolationRows",
    "LeafFacts",
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
    "TreeView",
    "blocks_of",
    "check_search",
    "class_impurity",
    "conditions_of_leaf",
    "cut",
    "decision_paths",
    "depth_limit",
    "depths",
    "grow_isolation_trees",
    "grow_rotated_trees",
    "heads_of",
    "inserted_option",
    "made_frame",
    "mean_shares",
    "node_columns",
    "nodes_of_leaves",
    "option_tree_text",
    "options_at",
    "picked_sets",
    "pruned_forest",
    "pruned_newton_tree",
    "pruning_alphas",
    "tree_text",
    "unit_parts",
    "way_to",
    "weighted_median",
    "with_medians",
]
