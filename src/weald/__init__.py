"""weald: ensemble learning for tables, on one native tree engine."""

from weald import datasets
from weald.data import read
from weald.ensembles import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from weald.errors import WealdWarning

__version__ = "0.1.0"

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "WealdWarning",
    "datasets",
    "read",
]
