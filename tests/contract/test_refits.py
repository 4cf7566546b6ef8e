"""Fitted models: the state after a failed fit or a refit, and read-only arrays."""

import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import weald
from contract.subjects import (
    EVERY_CLASSIFIER,
    EVERY_ESTIMATOR,
    EVERY_TREE_MODEL,
    answers,
    has,
    quick,
    settings,
    table,
    takes_several_targets,
    task,
)

every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
every_tree_model = pytest.mark.parametrize("estimator", EVERY_TREE_MODEL)

X, OTHER = table(), table(n_columns=6, seed=1)

# Arguments of a failing fit, and parameters set before it; most of them fail late.
FAILING: dict[str, tuple[Any, dict[str, Any]]] = {
    "negative weights": (lambda y: (OTHER, y, np.full(len(y), -1.0)), {}),
    "no weights": (lambda y: (OTHER, y, np.zeros(len(y))), {}),
    "target of NaN": (lambda y: (OTHER, np.full(len(y), np.nan)), {}),
    "two targets": (lambda y: (OTHER, np.stack([y, y], axis=1)), {}),
    "a cube of targets": (lambda y: (OTHER, np.stack([[y, y], [y, y]]).T), {}),
    "other lengths": (lambda y: (OTHER, y[:-1]), {}),
    "masked": (lambda y: (np.ma.masked_array(OTHER), y), {}),
    "wrong parameter": (lambda y: (OTHER, y), {"max_bins": 1}),
    "runaway scores": (lambda y: (OTHER, y), {"learning_rate": 1e300}),
}
CASES = [
    pytest.param(
        estimator, case, early, id=f"{estimator.__name__}-{case.replace(' ', '_')}-{early}"
    )
    for estimator in EVERY_ESTIMATOR
    for early in ([False, True] if has(estimator, "early_stopping") else [False])
    for case, (_, wanted) in FAILING.items()
    if len(settings(estimator, **wanted)) == len(wanted)
    if case != "two targets" or not takes_several_targets(estimator)
    # The scores of log loss do not diverge.
    if case != "runaway scores"
    or estimator
    not in (
        weald.BoostedTreesClassifier,
        weald.GradientBoostingClassifier,
    )
]


@pytest.mark.parametrize(("estimator", "case", "early"), CASES)
def test_a_failed_refit_leaves_the_old_model(estimator, case: str, early: bool) -> None:
    arguments_of, parameters = FAILING[case]
    _, y = task(estimator)
    model = quick(estimator, early_stopping=early).fit(X, y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    expected, fingerprint = answers(model, X), model.fingerprint()
    model.set_params(**parameters)
    with pytest.raises((ValueError, TypeError)):
        model.fit(*arguments_of(y))
    assert model.get_params().items() >= parameters.items()
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert model.n_features_in_ == 4
    assert np.array_equal(answers(model, X), expected)
    assert model.fingerprint() == fingerprint


@every_estimator
def test_a_failed_refit_leaves_the_names_of_columns(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    _, y = task(estimator)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    named, nameless = quick(estimator).fit(frame, y), quick(estimator).fit(X, y)
    for model, other in ((named, OTHER), (nameless, frame)):
        with pytest.raises(ValueError, match="Negative values"):
            model.fit(other, y, np.full(len(y), -1.0))
    assert named.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert not hasattr(nameless, "feature_names_in_")
    assert np.array_equal(answers(named, frame), answers(nameless, X))


@every_estimator
def test_a_failed_first_fit_leaves_nothing(estimator) -> None:
    _, y = task(estimator)
    model = quick(estimator)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(X, y, np.full(len(y), -1.0))
    assert not [name for name in vars(model) if name.endswith("_")]


@every_estimator
def test_a_refit_on_other_columns(estimator) -> None:
    _, y = task(estimator)
    model = quick(estimator).fit(X, y).fit(OTHER, y)
    assert model.n_features_in_ == 6
    assert model.fingerprint() == quick(estimator).fit(OTHER, y).fingerprint()


@pytest.mark.parametrize("estimator", [e for e in EVERY_CLASSIFIER if has(e, "early_stopping")])
def test_a_refit_on_one_class_removes_the_validation_loss(estimator) -> None:
    _, y = task(estimator)
    model = quick(estimator, early_stopping=True).fit(X, y)
    assert len(model.validation_loss_) > 1
    model.fit(X, np.zeros(len(X)))
    assert not hasattr(model, "validation_loss_")
    assert model.n_estimators_ == 0 and model.forest_.n_trees == 0


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if has(e, "early_stopping")])
def test_a_refit_without_early_stopping_removes_the_validation_loss(estimator) -> None:
    _, y = task(estimator)
    model = quick(estimator, early_stopping=True).fit(X, y)
    model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(model, "validation_loss_")


@every_tree_model
@pytest.mark.parametrize("is_pickled", [False, True])
def test_the_arrays_of_a_forest_are_read_only(estimator, is_pickled: bool) -> None:
    _, y = task(estimator)
    model = quick(estimator).fit(X, y)
    forest = (pickle.loads(pickle.dumps(model)) if is_pickled else model).forest_
    arrays = {f.name: getattr(forest, f.name) for f in fields(forest)}
    arrays = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    assert {"feature", "threshold", "value", "base_score"} <= arrays.keys()
    for array in arrays.values():
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@every_tree_model
@pytest.mark.parametrize("wrong", [0, 1.0, "2", True, np.True_])
def test_wrong_n_jobs_after_the_fit(estimator, wrong: Any) -> None:
    _, y = task(estimator)
    model = quick(estimator).fit(X, y)
    expected = answers(model, X)
    model.n_jobs = wrong
    for method in (model.predict, model.apply, lambda X: answers(model, X)):
        # Float arrays take a shorter code path.
        for rows in (X, X.tolist()):
            with pytest.raises(ValueError, match=rf"'n_jobs' parameter of {estimator.__name__}"):
                method(rows)
    for right in (None, -1, 3, 10**12):
        model.n_jobs = right
        assert np.array_equal(answers(model, X), expected)
