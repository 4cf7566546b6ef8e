"""The methods, one file each."""

from weald.ensembles.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
]
