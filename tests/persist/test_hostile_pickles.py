"""Unpickling and copying check the same state as model files: what is damaged is refused.

A pickle can run code, whatever we do; but its state is not trusted by the core, and damage is an
error at once and not a wrong prediction later.
"""

import copy
import copyreg
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weald
from weald.data import Rows
from weald.data.binning import bin_rows
from weald.ensembles.adaboost.stumps import FoundStump, StumpSearch
from weald.trees import Forest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
NUMBERS = X[:, 0] + RNG.normal(size=80)
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])
FRAME = pd.DataFrame({"city": RNG.choice(["Bonn", "Ulm"], 80), "km": X[:, 0]})


class Pickled:
    """Pickles as an object of another class with a given state."""

    def __init__(self, cls: type, state: dict[str, Any]) -> None:
        self.cls, self.state = cls, state

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg._reconstructor, (self.cls, object, None), self.state


def state_of(made: Any) -> dict[str, Any]:
    return dict(made.__reduce_ex__(4)[2])


def unpickled(cls: type, state: dict[str, Any]) -> Any:
    return pickle.loads(pickle.dumps(Pickled(cls, state)))


def is_refused(cls: type, state: dict[str, Any]) -> bool:
    try:
        unpickled(cls, state)
    except weald.ModelFormatError:
        return True
    return False


def forest() -> Forest:
    return weald.RandomForestClassifier(3, random_state=0).fit(X, CLASSES).forest_


def forest_of_categories() -> Forest:
    return weald.DecisionTreeRegressor(max_depth=3).fit(FRAME, NUMBERS).forest_


def option_forest() -> Forest:
    return weald.OptionTreeRegressor(max_depth=3).fit(X, NUMBERS).forest_


def rotated() -> Any:
    return weald.RotationForestRegressor(2, random_state=0).fit(X, NUMBERS)._input_forest


def rotations() -> Any:
    return rotated().rotations


def found_stump() -> FoundStump:
    mass = np.ones(80)
    return StumpSearch(Rows(X, CLASSES), 3, "gini", n_threads=1).find(mass)[0]


def stump() -> Any:
    return weald.AdaBoostClassifier(n_estimators=2).fit(X, CLASSES).estimators_[0]


def samples() -> Any:
    model = weald.RandomForestRegressor(2, bootstrap=True, random_state=0).fit(X, NUMBERS)
    return model._ledger[0][1]


def binned() -> Any:
    return bin_rows(Rows(X, NUMBERS), max_bins=255, n_threads=1)


def sorted_table() -> Any:
    return bin_rows(Rows(X, NUMBERS), max_bins=1000, n_threads=1)


FREE = ("feature_names_in_", "classes_")  # of any type

MAKERS: list[Callable[[], Any]] = [
    forest,
    forest_of_categories,
    option_forest,
    rotated,
    rotations,
    found_stump,
    stump,
    samples,
    binned,
    sorted_table,
]


def damaged(array: np.ndarray) -> list[np.ndarray]:
    """Arrays that no field of a model can have in the place of this one."""
    return [array[:-1], np.zeros((2, 2, 2, 2)), array.astype(str), np.array([None])]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_state_that_is_whole_is_taken(maker) -> None:
    made = maker()
    for one in (unpickled(type(made), state_of(made)), copy.deepcopy(made), copy.copy(made)):
        assert type(one) is type(made)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_field_that_is_damaged_is_refused(maker) -> None:
    made = maker()
    state = state_of(made)
    n_tried = 0
    for name, value in state.items():
        if not isinstance(value, np.ndarray) or not value.size or name in FREE:
            continue
        for other in damaged(value):
            if name == "place" and other.shape == (len(value) - 1,):
                continue  # rows of weight zero at the end
            assert is_refused(type(made), {**state, name: other}), (name, other.dtype, other.shape)
            n_tried += 1
        with pytest.raises(weald.ModelFormatError):
            unpickled(type(made), {**state, name: "text"})
    assert n_tried > 0 or maker in (rotated, stump)


@pytest.mark.parametrize("maker", MAKERS)
def test_another_state_is_refused(maker) -> None:
    cls = type(maker())
    for state in ({}, {"unknown": 1}, [1], "text", {1: 2}):
        if maker is stump and isinstance(state, dict) and 1 not in state:
            continue  # an estimator that is not fitted
        with pytest.raises(weald.ModelFormatError):
            unpickled(cls, state)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("feature", lambda a: np.where(a >= 0, 100, a).astype(a.dtype)),  # no such column
        ("feature", lambda a: np.full_like(a, -1)),  # a leaf after a leaf
        ("feature", lambda a: np.zeros_like(a)),  # trees without leaves
        ("feature", lambda a: np.where(a < 0, -5, a).astype(a.dtype)),
        ("first_node", lambda a: a * 2**40),
        ("first_node", lambda a: a[::-1].copy()),
        ("first_node", lambda a: a - 1),
        ("first_leaf", lambda a: a + 1),
        ("output", lambda a: a + 7),
        ("value", lambda a: (a[0] if isinstance(a, tuple) else a)[:1]),
        ("threshold", lambda a: (np.full_like(a[0], np.nan, dtype=float),)),
        ("n_columns", lambda _: -1),
        ("n_columns", lambda _: 1),
        ("n_columns", lambda _: 3.0),
        ("base_score", lambda _: np.zeros(7)),
        ("saw_missing", lambda _: np.zeros(99, dtype=np.uint8)),
        ("right", lambda _: np.zeros(3, dtype=np.int32)),
    ],
)
@pytest.mark.parametrize("maker", [forest, option_forest])
def test_trees_that_do_not_end_are_refused(maker, field, change) -> None:
    made = maker()
    state = state_of(made)
    state[field] = change(state.get(field))
    with pytest.raises(weald.ModelFormatError):
        unpickled(type(made), state)


@pytest.mark.parametrize(
    "right",
    [
        lambda right, inner: np.where(inner, 0, right),  # a cycle
        lambda right, inner: np.where(inner, right + 1, right),
        lambda right, inner: np.where(inner, right, right + 1),  # other leaves
        lambda right, inner: np.where(inner, 2**30, right),
    ],
)
def test_links_out_of_order_are_refused(right) -> None:
    made = forest()
    changed = right(made.right, made.feature >= 0).astype(np.int32)
    with pytest.raises(weald.ModelFormatError, match="damaged"):
        unpickled(Forest, {**state_of(made), "right": changed})


def test_category_sets_out_of_range_are_refused() -> None:
    made = forest_of_categories()
    state = state_of(made)
    assert "category_set" in state
    for name, value in (
        ("category_set", state["category_set"] + 5),
        ("first_word", state["first_word"] * 2),
        ("words", state["words"][:0]),
    ):
        with pytest.raises(weald.ModelFormatError):
            unpickled(Forest, {**state, name: value})


MODELS = [
    weald.DecisionTreeClassifier(),
    weald.RandomForestClassifier(3, random_state=0),
    weald.BoostedTreesClassifier(quality="fast", n_estimators=3),
    weald.RotationForestClassifier(3, random_state=0),
    weald.OptionTreeClassifier(max_depth=2),
    weald.AdaBoostClassifier(n_estimators=3),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_a_model_of_other_columns_is_refused(model) -> None:
    model.fit(X, CLASSES)
    state = state_of(model)
    assert unpickled(type(model), state).fingerprint() == model.fingerprint()
    for change in ({"n_features_in_": 2}, {"forest_": None}, {"n_features_in_": 2**60}):
        with pytest.raises(weald.ModelFormatError):
            unpickled(type(model), {**state, **change})


def test_a_state_of_very_many_columns_needs_no_memory_for_them() -> None:
    """The core refuses it at the first prediction, and a model of it at once."""
    made = forest()
    wide = {**state_of(made), "n_columns": 2**60, "saw_missing": None}
    loaded = unpickled(Forest, wide)
    with pytest.raises((ValueError, MemoryError, TypeError)):
        loaded.predict(X, n_threads=1)


def fields_of(predictor: Any) -> list[Any]:
    return list(predictor.__reduce__()[1])


class Restoring:
    """Pickles as a predictor with given fields."""

    def __init__(self, restore: Any, fields: list[Any]) -> None:
        self.restore, self.fields = restore, fields

    def __reduce__(self) -> tuple[Any, ...]:
        return self.restore, tuple(self.fields)


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_predictors_of_damaged_fields_are_refused(model) -> None:
    if not hasattr(model, "predictor"):
        pytest.skip("has no predictor")
    predictor = model.fit(X, CLASSES).predictor()
    restore, fields = predictor.__reduce__()[:2]
    same = pickle.loads(pickle.dumps(Restoring(restore, list(fields))))
    assert np.array_equal(same.predict_proba(X), predictor.predict_proba(X))
    kind, trees, loss, classes, n_jobs = fields
    for other in (
        [kind, None, loss, classes, n_jobs],
        [kind, trees, 3, classes, n_jobs],
        [kind, trees, "no such loss", classes, n_jobs],
        [kind, trees, loss, classes[:-1], n_jobs],
        [kind, trees, loss, "text", n_jobs],
        [kind, trees, loss, classes, "text"],
        [dict, trees, loss, classes, n_jobs],
        [kind],
    ):
        if other[1:3] == [trees, "no such loss"] and loss == "":
            continue  # a mean has no link
        with pytest.raises(weald.ModelFormatError):
            pickle.loads(pickle.dumps(Restoring(restore, other)))


def test_predictors_of_tables_check_their_columns() -> None:
    predictor = weald.BoostedTreesRegressor(quality="fast").fit(FRAME, NUMBERS).predictor()
    restore, (kind, alone, reader) = predictor.__reduce__()[:2]
    other = weald.DecisionTreeRegressor().fit(X, NUMBERS).predictor()
    for fields in ([kind, other, reader], [kind, alone, None], [kind, reader, alone]):
        with pytest.raises(weald.ModelFormatError):
            pickle.loads(pickle.dumps(Restoring(restore, fields)))


COMBINED = [
    weald.VotingRegressor([("tree", weald.DecisionTreeRegressor(max_depth=2)), ("line", Ridge())]),
    weald.VotingRegressor([("tree", weald.DecisionTreeRegressor(max_depth=2))], weights=[1.0]),
    weald.StackingRegressor([("tree", weald.DecisionTreeRegressor(max_depth=2))], cv=2),
    weald.BlendingRegressor([("line", make_pipeline(StandardScaler(), Ridge()))]),
    weald.BaggingRegressor(Ridge(), 2, random_state=0),
    weald.GradientBoostingRegressor(n_estimators=2, init=Ridge()),
    weald.AdaBoostRegressor(Ridge(), n_estimators=2, random_state=0),
    weald.AutoEnsembleRegressor(time_limit=None, max_models=2, random_state=0),
]
PARTS = ("estimators_", "_estimators", "_members", "_layers", "_start", "final_estimator_")


@pytest.mark.parametrize("model", COMBINED, ids=lambda one: type(one).__name__)
def test_parts_that_do_not_predict_are_refused(model) -> None:
    state = state_of(clone(model).fit(X, NUMBERS))
    assert unpickled(type(model), state).predict(X).shape == (80,)
    known = [name for name in PARTS if state.get(name) is not None]
    if "_layers" in known:
        known.remove("estimators_")  # not used for predictions
    assert known
    changes: list[dict[str, Any]] = [{name: "text"} for name in known]
    changes += [{name: state[name][:-1]} for name in known if isinstance(state[name], list)]
    for change in [*changes, {"n_features_in_": 2}, {"n_jobs": "text"}]:
        assert is_refused(type(model), {**state, **change}), change


def test_a_part_that_takes_no_numbers_is_not_asked() -> None:
    """A table of one column of text, as documents, has no row that can be made up."""
    texts = ["red wine", "white wine", "red brick", "white chalk"] * 5
    words = make_pipeline(CountVectorizer(), LogisticRegression())
    model = weald.VotingClassifier([("words", words)]).fit(texts, [0, 0, 1, 1] * 5)
    same = pickle.loads(pickle.dumps(model))
    assert same.predict(["red wine", "white chalk"]).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["value", "base_score", "tree_weight"])
@pytest.mark.parametrize("maker", [forest, option_forest])
def test_predictions_that_are_no_numbers_are_refused(maker, name) -> None:
    made = maker()
    array = np.array(getattr(made, name), dtype=np.float64)
    array.ravel()[-1] = np.nan
    assert is_refused(type(made), {**state_of(made), name: array})
