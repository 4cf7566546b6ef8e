"""weald: ensemble learning for tables, on one native tree engine."""

from weald import datasets
from weald.config import show_config
from weald.data import read
from weald.ensembles import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from weald.version import __version__

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "__version__",
    "datasets",
    "read",
    "show_config",
]
