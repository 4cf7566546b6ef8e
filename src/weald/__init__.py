"""weald: ensemble learning for tables, on one native tree engine."""

from weald import aggregation, datasets
from weald.config import show_config
from weald.data import read
from weald.ensembles import (
    BlendingClassifier,
    BlendingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    MemberError,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from weald.version import __version__

__all__ = [
    "BlendingClassifier",
    "BlendingRegressor",
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "MemberError",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "aggregation",
    "datasets",
    "read",
    "show_config",
]
