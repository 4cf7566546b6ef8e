"""weald: ensemble learning for tabular data on a native tree engine.

Everything but the version is imported lazily.
"""

from typing import TYPE_CHECKING

from weald.interpreter import refuse_free_threading
from weald.lazy import attach
from weald.version import __version__

refuse_free_threading()
del refuse_free_threading

if TYPE_CHECKING:
    from weald import aggregation, datasets, explain, export, plot, ranking, survival, theory
    from weald.config import show_config
    from weald.data import read
    from weald.data.parts.parts import parts
    from weald.diagnostics import diagnose
    from weald.ensembles import (
        AdaBoostClassifier,
        AdaBoostRegressor,
        AutoEnsembleClassifier,
        AutoEnsembleRegressor,
        BaggingClassifier,
        BaggingRegressor,
        BlendingClassifier,
        BlendingRegressor,
        BoostedTreesClassifier,
        BoostedTreesRanker,
        BoostedTreesRegressor,
        BoostedTreesSurvival,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        IsolationForest,
        MemberError,
        OptionTreeClassifier,
        OptionTreeRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
        RandomSurvivalForest,
        RotationForestClassifier,
        RotationForestRegressor,
        StackingClassifier,
        StackingRegressor,
        VotingClassifier,
        VotingRegressor,
        distill,
        from_catboost,
        from_lightgbm,
        from_sklearn,
        from_xgboost,
    )
    from weald.errors import ModelFormatError
    from weald.persist.model_file import load
    from weald.reports import report

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AutoEnsembleClassifier",
    "AutoEnsembleRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BlendingClassifier",
    "BlendingRegressor",
    "BoostedTreesClassifier",
    "BoostedTreesRanker",
    "BoostedTreesRegressor",
    "BoostedTreesSurvival",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "IsolationForest",
    "MemberError",
    "ModelFormatError",
    "OptionTreeClassifier",
    "OptionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "aggregation",
    "datasets",
    "diagnose",
    "distill",
    "explain",
    "export",
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "load",
    "parts",
    "plot",
    "ranking",
    "read",
    "report",
    "show_config",
    "survival",
    "theory",
]

if not TYPE_CHECKING:
    _ELSEWHERE = {
        "aggregation": None,
        "datasets": None,
        "export": None,
        "ModelFormatError": "weald.errors",
        "explain": None,
        "load": "weald.persist.model_file",
        "diagnose": "weald.diagnostics",
        "parts": "weald.data.parts.parts",
        "plot": None,
        "ranking": None,
        "read": "weald.data.reading",
        "report": "weald.reports",
        "show_config": "weald.config",
        "survival": None,
        "theory": None,
    }
    __getattr__, __dir__ = attach(
        "weald",
        {
            name: _ELSEWHERE.get(name, "weald.ensembles")
            for name in __all__
            if name != "__version__"
        },
    )
