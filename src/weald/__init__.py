"""weald: ensemble learning for tables, on one native tree engine."""

from weald import datasets
from weald.config import show_config
from weald.data import read
from weald.ensembles import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from weald.version import __version__

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "__version__",
    "datasets",
    "read",
    "show_config",
]
