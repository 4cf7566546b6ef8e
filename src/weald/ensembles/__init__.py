"""The methods, one file each."""

from weald.ensembles.adaboost import AdaBoostClassifier
from weald.ensembles.adaboost_r2 import AdaBoostRegressor
from weald.ensembles.bagging import BaggingClassifier, BaggingRegressor
from weald.ensembles.blending import BlendingClassifier, BlendingRegressor
from weald.ensembles.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.density import DensityClassifier
from weald.ensembles.distilled import Distilled
from weald.ensembles.distilling import distill
from weald.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from weald.ensembles.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from weald.ensembles.greedy import GreedySelection
from weald.ensembles.member_errors import MemberError
from weald.ensembles.option_tree import OptionTreeClassifier, OptionTreeRegressor
from weald.ensembles.random_forest import RandomForestClassifier, RandomForestRegressor
from weald.ensembles.rotation_forest import RotationForestClassifier, RotationForestRegressor
from weald.ensembles.rule_list import RuleListClassifier, RuleListRegressor
from weald.ensembles.stacking import StackingClassifier, StackingRegressor
from weald.ensembles.voting import VotingClassifier, VotingRegressor

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
