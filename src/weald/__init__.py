"""weald: ensemble learning for tables, on one native tree engine."""

import importlib
import types
import typing

from weald import aggregation, datasets
from weald.config import show_config
from weald.data import read
from weald.ensembles import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BlendingClassifier,
    BlendingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MemberError,
    OptionTreeClassifier,
    OptionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
    distill,
)
from weald.version import __version__

if typing.TYPE_CHECKING:
    from weald import theory

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BlendingClassifier",
    "BlendingRegressor",
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "MemberError",
    "OptionTreeClassifier",
    "OptionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "aggregation",
    "datasets",
    "distill",
    "read",
    "show_config",
    "theory",
]


def __getattr__(name: str) -> types.ModuleType:
    """Import a room that few programs need only when it is asked for."""
    if name == "theory":
        return importlib.import_module("weald.theory")
    raise AttributeError(f"module 'weald' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
