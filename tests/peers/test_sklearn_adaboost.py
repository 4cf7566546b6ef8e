"""AdaBoost beside scikit-learn's classes of the same name."""

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_friedman1,
)
from sklearn.ensemble import AdaBoostClassifier as TheirClassifier
from sklearn.ensemble import AdaBoostRegressor as TheirRegressor
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from weald import AdaBoostClassifier, AdaBoostRegressor


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_the_same_model(load, rate: float) -> None:
    X, y = load(return_X_y=True)
    X, y = X[:600], y[:600]
    ours = AdaBoostClassifier(n_estimators=20, learning_rate=rate).fit(X, y)
    theirs = TheirClassifier(n_estimators=20, learning_rate=rate, random_state=0).fit(X, y)
    assert ours.estimator_errors_ == pytest.approx(theirs.estimator_errors_, rel=1e-9)
    assert ours.estimator_weights_ == pytest.approx(theirs.estimator_weights_, rel=1e-9)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-9)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    if load is not load_iris:  # has two columns that divide the rows alike
        assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-9)
    assert list(ours.staged_score(X, y)) == list(theirs.staged_score(X, y))
    assert ours.n_classes_ == theirs.n_classes_ and np.array_equal(ours.classes_, theirs.classes_)


def test_the_same_model_with_their_trees_and_weights() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).random(len(X)) + 0.1
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    ours = AdaBoostClassifier(tree, n_estimators=8, random_state=0).fit(X, y, weight)
    theirs = TheirClassifier(tree, n_estimators=8, random_state=0).fit(X, y, weight)
    assert ours.estimator_errors_[:2] == pytest.approx(theirs.estimator_errors_[:2], rel=1e-6)
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.02


def friedman() -> tuple[np.ndarray, np.ndarray]:
    return make_friedman1(1500, noise=1.0, random_state=0)


@pytest.mark.parametrize("load", [lambda: load_diabetes(return_X_y=True), friedman])
@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regression_is_as_good(load, loss: str) -> None:
    """Both draw: the mean of three seeds is compared."""
    X, y = load()
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)

    def mean_score(estimator: type, **more) -> float:
        fits = [estimator(loss=loss, random_state=seed, **more).fit(X, y) for seed in range(3)]
        return float(np.mean([fit.score(X_test, y_test) for fit in fits]))

    theirs = mean_score(TheirRegressor)
    assert mean_score(AdaBoostRegressor) > theirs - 0.06
    assert mean_score(AdaBoostRegressor, reweight="weighting") > theirs - 0.06
