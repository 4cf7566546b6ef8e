"""Estimators without categorical support name the column in the error; others accept it."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import weald
from contract.frames import container, labels
from contract.subjects import (
    EVERY_CLASSIFIER,
    EVERY_ESTIMATOR,
    answers,
    has,
    quick,
    takes_members,
)

FRAMED = [e for e in EVERY_ESTIMATOR if has(e, "categorical_features")]
ADABOOST = [weald.AdaBoostClassifier, weald.AdaBoostRegressor]
DESCENT = [weald.GradientBoostingClassifier, weald.GradientBoostingRegressor]


def refused(model: Any, frame: Any, who: str) -> None:
    with pytest.raises(TypeError, match=f"Column 'city' holds categories, which .*{who}") as error:
        model.fit(frame, labels())
    assert "BoostedTrees" in str(error.value)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("estimator", ADABOOST)
def test_base_estimators_of_adaboost_without_category_support(estimator) -> None:
    frame, y = container("pandas"), labels()
    start = LogisticRegression() if estimator in EVERY_CLASSIFIER else LinearRegression()
    model = quick(estimator).set_params(estimator=start)
    refused(model, frame, type(start).__name__)
    own = weald.DecisionTreeClassifier if estimator in EVERY_CLASSIFIER else None
    named = (own or weald.DecisionTreeRegressor)(categorical_features=["city"])
    refused(quick(estimator).set_params(estimator=named), frame, type(named).__name__)
    numbers = frame[["when"]].assign(when=frame["when"].fillna(frame["when"].min()))
    assert len(model.fit(numbers, y).predict(numbers)) == len(y)


@pytest.mark.parametrize("estimator", DESCENT)
def test_foreign_base_estimators_need_numbers(estimator) -> None:
    frame, y = container("pandas"), labels()
    numbers = frame[["when"]].assign(when=frame["when"].fillna(frame["when"].min()))
    model = quick(estimator, min_samples_leaf=1).set_params(estimator=LinearRegression())
    refused(model, frame, "LinearRegression")
    assert np.isfinite(answers(model.fit(numbers, y), numbers)).all()
    start = weald.DecisionTreeClassifier() if estimator in EVERY_CLASSIFIER else LinearRegression()
    refused(quick(estimator, init=start), frame, type(start).__name__)


@pytest.mark.parametrize("estimator", DESCENT)
def test_warm_start_with_categories(estimator) -> None:
    frame, y = container("pandas"), labels()
    at_once = quick(estimator, n_estimators=6).fit(frame, y)
    later = quick(estimator, n_estimators=3, warm_start=True).fit(frame, y)
    later.set_params(n_estimators=6).fit(frame, y)
    assert later.fingerprint() == at_once.fingerprint()
    later.set_params(n_estimators=7)
    with pytest.raises(ValueError, match="other kinds or categories"):
        later.fit(frame.assign(city=frame["city"].replace("Ulm", "Rom")), y)
    assert later.fingerprint() == at_once.fingerprint()


@pytest.mark.parametrize("estimator", DESCENT)
def test_pruned_and_single_trees_keep_their_sets(estimator) -> None:
    frame, y = container("pandas"), labels()
    model = quick(estimator, n_estimators=4, ccp_alpha=0.004).fit(frame, y)
    assert (model.forest_.category_set >= 0).any()
    *_, last = model._staged_scores(frame)
    assert np.array_equal(last, model._scores(frame))
    moves = sum(
        tree.predict(frame) * size
        for tree, size in zip(model.estimators_.ravel(), model.step_sizes_.ravel(), strict=True)
    )
    assert last[:, 0] == pytest.approx(model.forest_.base_score[0] + moves)


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if takes_members(e)])
@pytest.mark.parametrize("kind", ["pandas", "polars", "objects"])
def test_base_estimators_get_the_table_unchanged(estimator, kind: str) -> None:
    X, y = container(kind), labels()
    model = quick(estimator).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert (model.predict(X) > 0.5).astype(int).tolist() != [0] * len(y)


@pytest.mark.parametrize("estimator", [weald.BoostedTreesClassifier, weald.DecisionTreeRegressor])
def test_categories_counted_jointly(estimator) -> None:
    """Large tables use joint histograms of columns with few values; half as many rows do not."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, (9000, 7)).astype(float)
    many = rng.integers(0, 300, (9000, 1)).astype(float)
    X = np.hstack([few[:, :4], many, few[:, 4:], rng.random((9000, 1))])
    y = ((X[:, 1] == 1) ^ (X[:, 4] % 7 == 0) ^ (X[:, 9 - 1] > 0.7)).astype(int)
    parameters = {"categorical_features": [0, 1, 4, 6], "max_leaf_nodes": 20, "n_estimators": 3}
    weighted = quick(estimator, **parameters).fit(X, y, np.full(9000, 2.0))
    plain = quick(estimator, **parameters, n_jobs=2).fit(X[::-1], y[::-1])
    assert np.array_equal(weighted.forest_.threshold, plain.forest_.threshold)
    assert np.array_equal(weighted.forest_.value, plain.forest_.value)
    assert (weighted.forest_.category_set >= 0).any()
    assert {1, 4} <= set(weighted.forest_.feature.tolist())
