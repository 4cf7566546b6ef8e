"""Warning for tables of distinct rows with counts as weights: held-out estimates are biased."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
)


def drawn(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(n, 2)).astype(float)
    p = np.where(X.sum(axis=1) > 11, 0.9, 0.1)
    return X, (rng.random(n) < p).astype(int)


def compressed():
    X, y = drawn()
    rows, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    return rows[:, :2], rows[:, 2].astype(int), counts


ESTIMATING = [
    RandomForestClassifier(10, random_state=0),  # selects its settings by out-of-bag error
    RandomForestClassifier(60, min_samples_leaf=1, max_features=1, oob_score=True, random_state=0),
    RandomForestRegressor(60, min_samples_leaf=1, max_features=1, oob_score=True, random_state=0),
    ExtraTreesClassifier(60, bootstrap=True, oob_score=True, random_state=0),
    RotationForestClassifier(60, bootstrap=True, oob_score=True, random_state=0),
    BaggingClassifier(n_estimators=60, oob_score=True, random_state=0),
    BaggingClassifier(DecisionTreeClassifier(), 60, oob_score=True, random_state=0),
    BaggingRegressor(DecisionTreeRegressor(), 60, oob_score=True, random_state=0),
    BoostedTreesClassifier(quality="fast", n_estimators=5, early_stopping=True, random_state=0),
    BoostedTreesRegressor(quality="fast", n_estimators=5, early_stopping=True, random_state=0),
    BoostedTreesClassifier(quality="fast", n_estimators=5, n_bags=60, random_state=0),
    GradientBoostingClassifier(n_estimators=5, n_iter_no_change=3, random_state=0),
]


@pytest.mark.parametrize("model", ESTIMATING, ids=str)
def test_counts_as_weights_are_warned_of(model):
    X, y, counts = compressed()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=counts)
    about = [w for w in caught if "counts as sample_weight" in str(w.message)]
    assert len(about) == 1
    assert "np.repeat" in str(about[0].message)
    assert Path(about[0].filename) == Path(__file__)


@pytest.mark.parametrize("model", ESTIMATING, ids=str)
def test_other_tables_are_not_warned_of(model):
    X, y = drawn()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    x, target, _ = compressed()
    rng = np.random.default_rng(2)
    tables = [
        (X, y, weight),  # importance weights of repeated rows
        (rng.normal(size=X.shape), y, weight),  # no two rows share their columns
        (x, target, None),
        (x, target, np.full(len(x), 3.0)),
    ]
    for columns, labels, weights in tables:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(columns, labels, sample_weight=weights)
        assert not [w for w in caught if "counts as sample_weight" in str(w.message)]


def test_repeated_measurements_of_regression_are_not_warned_of():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(200, 2)), 3, axis=0)
    y = X[:, 0] + rng.normal(size=600)
    weight = rng.integers(1, 5, 600)
    RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        BoostedTreesClassifier(quality="fast", n_estimators=3),
        ExtraTreesClassifier(5, random_state=0),
        RandomForestClassifier(5, min_samples_leaf=1, max_features=1, random_state=0),
    ],
    ids=str,
)
def test_fits_that_estimate_nothing_are_not_warned_of(model):
    X, y, counts = compressed()
    model.fit(X, y, sample_weight=counts)
