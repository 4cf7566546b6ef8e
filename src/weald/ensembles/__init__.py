"""The methods, one file each."""

from weald.ensembles.adaboost.adaboost import AdaBoostClassifier
from weald.ensembles.adaboost.adaboost_r2 import AdaBoostRegressor
from weald.ensembles.bagging.bagging import BaggingClassifier, BaggingRegressor
from weald.ensembles.boosting.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosting.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
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
from weald.ensembles.members.member_errors import MemberError

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
    "DensityClassifier",
    "Distilled",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "GreedySelection",
    "MemberError",
    "OptionTreeClassifier",
    "OptionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "RuleListClassifier",
    "RuleListRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "distill",
]
