"""The methods, one file each."""

from weald.ensembles.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
]
