"""What a fitted forest says of its trees, and warm starts that add none."""

import pickle
from typing import Any

import numpy as np
import pytest

from weald import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
Y = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=150)
LABELS = np.digitize(Y, [0.3, 1.0])
KINDS = [
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
]
every_kind = pytest.mark.parametrize("kind", KINDS)


def target(kind: Any, n_outputs: int = 1) -> np.ndarray:
    y = LABELS if "Classifier" in kind.__name__ else Y
    return y if n_outputs == 1 else np.column_stack([y, y[::-1]])


def out_of_bag(model: Any) -> np.ndarray:
    name = "oob_decision_function_" if hasattr(model, "classes_") else "oob_prediction_"
    return getattr(model, name)


@every_kind
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_warm_start_without_new_trees_estimates_what_was_asked_for(kind, n_outputs) -> None:
    y = target(kind, n_outputs)
    whole = kind(30, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    model = kind(30, bootstrap=True, warm_start=True, random_state=0).fit(X, y)
    assert not hasattr(model, "oob_score_")
    before = model.fingerprint()
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        model.set_params(oob_score=True).fit(X, y)
    assert model.fingerprint() == before
    assert model.oob_score_ == whole.oob_score_
    assert np.array_equal(out_of_bag(model), out_of_bag(whole))
    if n_outputs == 1:
        assert model.oob_.error() == whole.oob_.error()
    # The trees go on as if nothing had happened.
    longer = kind(40, bootstrap=True, random_state=0).fit(X, y).fingerprint()
    assert model.set_params(n_estimators=40).fit(X, y).fingerprint() == longer
    assert len(model.estimators_samples_) == 40


def test_a_warm_start_without_new_trees_wants_the_same_rows() -> None:
    model = RandomForestRegressor(30, warm_start=True, random_state=0).fit(X, Y)
    before = model.predict(X)
    model.set_params(oob_score=True)
    with (
        pytest.warns(UserWarning, match="Warm-start"),
        pytest.raises(ValueError, match="requires the rows of the previous fit"),
    ):
        model.fit(X[:100], Y[:100])
    assert not hasattr(model, "oob_score_") and np.array_equal(model.predict(X), before)


@every_kind
def test_trees_have_the_settings_that_were_chosen(kind) -> None:
    model = kind(3, bootstrap=True, random_state=0).fit(X, target(kind))
    chosen = [getattr(model, "min_samples_leaf_", 1), getattr(model, "max_features_", None)]
    for tree in (*model, model.estimator_):
        assert tree.min_samples_leaf == chosen[0]
        assert tree.max_features == (chosen[1] or model.max_features)
        assert tree.splitter == ("random" if "Extra" in kind.__name__ else "best")
        assert tree.random_state is None
        assert tree.criterion == model.criterion


def test_columns_drawn_once_are_no_parameter_of_a_tree() -> None:
    forest = RandomForestClassifier(2, max_features=2, feature_sampling="tree").fit(X, LABELS)
    assert forest[0].max_features is None


@every_kind
def test_trees_of_a_pickled_forest(kind) -> None:
    model = kind(3, max_depth=2, bootstrap=True, random_state=0).fit(X, target(kind))
    again = pickle.loads(pickle.dumps(model))
    assert len(again) == 3 and again[1].max_depth == 2
    assert np.array_equal(again[1].predict(X), model[1].predict(X))
