"""Estimators of scikit-learn that a model file may hold."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import weald
from weald.persist.kinds import KINDS
from weald.persist.model_file import model_bytes, model_of_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
NUMBERS = X[:, 0] + RNG.normal(size=90)
CLASSES = np.digitize(NUMBERS, [-0.5, 0.5])
NETWORK = {"hidden_layer_sizes": (4,), "max_iter": 20, "random_state": 0}

ALONE = [
    BernoulliNB(),
    DummyClassifier(),
    DummyRegressor(),
    ElasticNet(),
    GaussianNB(),
    Lasso(),
    LinearDiscriminantAnalysis(),
    LinearRegression(),
    LogisticRegression(),
    LogisticRegressionCV(),
    MLPClassifier(**NETWORK),
    MLPRegressor(**NETWORK),
    MLPClassifier(**NETWORK, solver="lbfgs"),
    MLPClassifier(**NETWORK, early_stopping=True),
    Ridge(),
    RidgeCV(),
    RidgeClassifier(),
]
IN_A_PIPELINE = [
    make_pipeline(SimpleImputer(), StandardScaler(), Ridge()),
    make_pipeline(MinMaxScaler(), MultinomialNB()),
]


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", [*ALONE, *IN_A_PIPELINE], ids=name_of)
def test_what_is_saved_predicts_the_same(estimator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the network has not converged
        if is_classifier(estimator):
            model: Any = weald.StackingClassifier([("one", estimator)], cv=2).fit(X, CLASSES)
        else:
            model = weald.StackingRegressor([("one", estimator)], cv=2).fit(X, NUMBERS)
        loaded = model_of_bytes(model_bytes(model))
        assert np.array_equal(loaded.predict(X), model.predict(X))
        parts = [loaded.estimators_[0].fit(X, CLASSES) for _ in range(2)]  # training goes on
        assert np.array_equal(parts[0].predict(X), parts[1].predict(X))


def test_all_that_a_file_may_hold_is_tested() -> None:
    steps = [step for one in IN_A_PIPELINE for _, step in one.steps]
    tested = {f"sklearn.{name_of(one)}" for one in [*ALONE, *IN_A_PIPELINE, *steps]}
    # What has no prediction of its own: the first two are parts of networks.
    others = {"LabelBinarizer", "LabelEncoder", "GroupKFold", "KFold", "RepeatedKFold"}
    others |= {"StratifiedKFold", "TimeSeriesSplit"}
    known = {one for one in KINDS if one.startswith("sklearn.")}
    assert known == tested | {f"sklearn.{one}" for one in others}
