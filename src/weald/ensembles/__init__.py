"""Ensemble estimators. Classes are imported lazily, on first access."""

from typing import TYPE_CHECKING

from weald.lazy import attach

if TYPE_CHECKING:
    from weald.ensembles.adaboost.adaboost import AdaBoostClassifier
    from weald.ensembles.adaboost.adaboost_r2 import AdaBoostRegressor
    from weald.ensembles.auto.auto_ensemble import AutoEnsembleClassifier, AutoEnsembleRegressor
    from weald.ensembles.bagging.bagging import BaggingClassifier, BaggingRegressor
    from weald.ensembles.boosted_trees.boosted_ranker import BoostedTreesRanker
    from weald.ensembles.boosted_trees.boosted_trees import (
        BoostedTreesClassifier,
        BoostedTreesRegressor,
    )
    from weald.ensembles.combining.blending import BlendingClassifier, BlendingRegressor
    from weald.ensembles.combining.density import DensityClassifier
    from weald.ensembles.combining.greedy import GreedySelection
    from weald.ensembles.combining.stacking import StackingClassifier, StackingRegressor
    from weald.ensembles.combining.voting import VotingClassifier, VotingRegressor
    from weald.ensembles.distilling.distilled import Distilled
    from weald.ensembles.distilling.distilling import distill
    from weald.ensembles.distilling.rule_list import RuleListClassifier, RuleListRegressor
    from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from weald.ensembles.forests.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from weald.ensembles.forests.option_tree import OptionTreeClassifier, OptionTreeRegressor
    from weald.ensembles.forests.random_forest import RandomForestClassifier, RandomForestRegressor
    from weald.ensembles.forests.rotation_forest import (
        RotationForestClassifier,
        RotationForestRegressor,
    )
    from weald.ensembles.gradient_boosting.gradient_boosting import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
    )
    from weald.ensembles.imported.from_catboost import from_catboost
    from weald.ensembles.imported.from_lightgbm import from_lightgbm
    from weald.ensembles.imported.from_sklearn import from_sklearn
    from weald.ensembles.imported.from_xgboost import from_xgboost
    from weald.ensembles.imported.imported import ImportedClassifier, ImportedRegressor
    from weald.ensembles.isolation.isolation_forest import IsolationForest
    from weald.ensembles.members.member_errors import MemberError
    from weald.ensembles.survival.boosted_survival import BoostedTreesSurvival
    from weald.ensembles.survival.survival_forest import RandomSurvivalForest
else:
    __getattr__, __dir__ = attach(
        "weald.ensembles",
        {
            name: f"weald.ensembles.{module}"
            for module, names in {
                "adaboost.adaboost": ["AdaBoostClassifier"],
                "adaboost.adaboost_r2": ["AdaBoostRegressor"],
                "auto.auto_ensemble": ["AutoEnsembleClassifier", "AutoEnsembleRegressor"],
                "bagging.bagging": ["BaggingClassifier", "BaggingRegressor"],
                "boosted_trees.boosted_trees": ["BoostedTreesClassifier", "BoostedTreesRegressor"],
                "boosted_trees.boosted_ranker": ["BoostedTreesRanker"],
                "gradient_boosting.gradient_boosting": [
                    "GradientBoostingClassifier",
                    "GradientBoostingRegressor",
                ],
                "combining.blending": ["BlendingClassifier", "BlendingRegressor"],
                "combining.density": ["DensityClassifier"],
                "combining.greedy": ["GreedySelection"],
                "combining.stacking": ["StackingClassifier", "StackingRegressor"],
                "combining.voting": ["VotingClassifier", "VotingRegressor"],
                "distilling.distilled": ["Distilled"],
                "distilling.distilling": ["distill"],
                "distilling.rule_list": ["RuleListClassifier", "RuleListRegressor"],
                "imported.from_catboost": ["from_catboost"],
                "imported.from_lightgbm": ["from_lightgbm"],
                "imported.from_sklearn": ["from_sklearn"],
                "imported.from_xgboost": ["from_xgboost"],
                "imported.imported": ["ImportedClassifier", "ImportedRegressor"],
                "forests.decision_tree": ["DecisionTreeClassifier", "DecisionTreeRegressor"],
                "forests.extra_trees": ["ExtraTreesClassifier", "ExtraTreesRegressor"],
                "forests.option_tree": ["OptionTreeClassifier", "OptionTreeRegressor"],
                "forests.random_forest": ["RandomForestClassifier", "RandomForestRegressor"],
                "forests.rotation_forest": ["RotationForestClassifier", "RotationForestRegressor"],
                "isolation.isolation_forest": ["IsolationForest"],
                "members.member_errors": ["MemberError"],
                "survival.boosted_survival": ["BoostedTreesSurvival"],
                "survival.survival_forest": ["RandomSurvivalForest"],
            }.items()
            for name in names
        },
    )

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
    "DensityClassifier",
    "Distilled",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "GreedySelection",
    "ImportedClassifier",
    "ImportedRegressor",
    "IsolationForest",
    "MemberError",
    "OptionTreeClassifier",
    "OptionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "RuleListClassifier",
    "RuleListRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "distill",
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
]
