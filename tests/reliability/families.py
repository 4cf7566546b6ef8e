"""One estimator of each family, with classifiers and regressors: for tests of common behaviour."""

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

import weald
from contract.subjects import EVERY_CLASSIFIER, quick

FAMILIES = [
    weald.BoostedTreesClassifier,
    weald.BoostedTreesRegressor,
    weald.RandomForestClassifier,
    weald.ExtraTreesRegressor,
    weald.DecisionTreeRegressor,
    weald.OptionTreeClassifier,
    weald.AdaBoostClassifier,
    weald.AdaBoostRegressor,
    weald.GradientBoostingRegressor,
    weald.BaggingClassifier,
    weald.VotingRegressor,
    weald.StackingClassifier,
    weald.BlendingRegressor,
    weald.RotationForestClassifier,
]
every_family = pytest.mark.parametrize("estimator", FAMILIES)
every_family_of_classes = pytest.mark.parametrize(
    "estimator", [one for one in FAMILIES if one in EVERY_CLASSIFIER]
)
every_family_of_numbers = pytest.mark.parametrize(
    "estimator", [one for one in FAMILIES if one not in EVERY_CLASSIFIER]
)


def foreign_ensembles() -> list[BaseEstimator]:
    """Ensembles of scikit-learn's estimators, which would accept what ours reject."""
    line, pair = LinearRegression(), [("line", LinearRegression()), ("other", LinearRegression())]
    curves = [("curve", LogisticRegression()), ("other", LogisticRegression())]
    return [
        weald.BaggingRegressor(line, n_estimators=2, random_state=0),
        weald.VotingRegressor(pair),
        weald.VotingClassifier(curves, voting="soft"),
        weald.StackingRegressor(pair, cv=2),
        weald.BlendingRegressor(pair, random_state=0),
        weald.AdaBoostRegressor(line, n_estimators=2, random_state=0),
        weald.GradientBoostingRegressor(estimator=line, n_estimators=2),
    ]


every_foreign = pytest.mark.parametrize(
    "model", foreign_ensembles(), ids=lambda model: type(model).__name__
)


def scaled(estimator: type, **parameters: Any) -> BaseEstimator:
    """The quick model behind a step that other people made."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(StandardScaler(), quick(estimator, **parameters))
