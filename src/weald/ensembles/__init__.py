"""The methods, one file each."""

from weald.ensembles.adaboost import AdaBoostClassifier
from weald.ensembles.adaboost_r2 import AdaBoostRegressor
from weald.ensembles.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
]
