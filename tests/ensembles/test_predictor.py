"""`predictor()` predicts bit-identically to the model, or raises an error that explains why not."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

N_COLUMNS = 7


def hard_table(n: int, seed: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """Numbers with ties, missing values, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((n, N_COLUMNS)).round(1)
    for value in (np.nan, np.inf, -np.inf, -0.0):
        table[rng.random(table.shape) < 0.04] = value
    return table.astype(dtype)


def fitted() -> dict[str, Any]:
    table = hard_table(400)
    score = np.where(np.isfinite(table), table, 0).sum(axis=1)
    two, many = score > 0, np.digitize(score, [-3, -1, 0, 1, 3])
    labels = np.array(["a", "b", "c", "d", "e", "f"])
    boosted = {"n_estimators": 9, "min_samples_leaf": 3}
    return {
        "numbers": BoostedTreesRegressor(quality="fast", **boosted).fit(table, score),
        "huge numbers": BoostedTreesRegressor(quality="fast", **boosted).fit(
            table, score * 2.0**900
        ),
        "two classes": BoostedTreesClassifier(quality="fast", **boosted).fit(table, two),
        "many classes": BoostedTreesClassifier(quality="fast", **boosted).fit(table, labels[many]),
        "one class": BoostedTreesClassifier(quality="fast", **boosted).fit(
            table, np.full(400, "only")
        ),
        "more leaves than a mask has": BoostedTreesClassifier(
            quality="fast", n_estimators=3, max_leaf_nodes=200, min_samples_leaf=1
        ).fit(table, two),
        "a tree of classes": DecisionTreeClassifier().fit(table, many),
        "a tree of one class": DecisionTreeClassifier().fit(table, np.zeros(400)),
        "a tree of numbers": DecisionTreeRegressor(max_depth=5).fit(table, score),
    }


MODELS = fitted()
METHODS = ("predict", "predict_proba", "decision_function")


def methods_of(model: Any) -> list[str]:
    return [name for name in METHODS if hasattr(model, name)]


every_model = pytest.mark.parametrize("name", MODELS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@every_model
def test_it_has_the_methods_of_the_model(name: str) -> None:
    model = MODELS[name]
    assert methods_of(model.predictor()) == methods_of(model)


@every_model
@every_dtype
def test_a_batch_is_predicted_as_by_the_model(name: str, dtype: type) -> None:
    model, table = MODELS[name], hard_table(300, seed=1, dtype=dtype)
    predictor = model.predictor()
    readonly = table.copy()
    readonly.setflags(write=False)
    layouts = {
        "C order": table,
        "Fortran order": np.asfortranarray(table),
        "every other row": np.repeat(table, 2, axis=0)[::2],
        "columns of a wider table": np.hstack([table, table])[:, :N_COLUMNS],
        "backwards": np.ascontiguousarray(table[::-1, ::-1])[::-1, ::-1],
        "read only": readonly,
        "not aligned": np.frombuffer(b"?" + table.tobytes(), np.uint8)[1:]
        .view(dtype)
        .reshape(table.shape),
    }
    for method in methods_of(model):
        expected = getattr(model, method)(table)
        for layout, given in layouts.items():
            assert np.array_equal(given, table, equal_nan=True)
            assert same(getattr(predictor, method)(given), expected), (method, layout)


@every_model
@every_dtype
def test_a_row_is_predicted_as_in_the_batch(name: str, dtype: type) -> None:
    model, table = MODELS[name], hard_table(60, seed=2, dtype=dtype)
    predictor, backwards = model.predictor(), np.ascontiguousarray(table[:, ::-1])
    for method in methods_of(model):
        predict, expected = getattr(predictor, method), getattr(model, method)(table)
        for i in range(len(table)):
            assert same(predict(table[i]), expected[i])
            assert same(predict(backwards[i][::-1]), expected[i])
            assert same(predict(table[i : i + 1]), expected[i : i + 1])
            assert same(getattr(model, method)(table[i : i + 1]), expected[i : i + 1])


@every_model
@pytest.mark.parametrize("n", [0, 2, 7, 8, 9, 15, 63, 64, 65])
def test_a_batch_of_any_size(name: str, n: int) -> None:
    model, table = MODELS[name], hard_table(65, seed=3)
    for method in methods_of(model):
        expected = getattr(model, method)(table)[:n]
        assert same(getattr(model.predictor(), method)(table[:n]), expected)


def test_a_model_fitted_with_column_names_predicts_without() -> None:
    table = hard_table(200)
    frame = pd.DataFrame(table, columns=list("abcdefg"))
    model = BoostedTreesClassifier(quality="fast", n_estimators=5).fit(
        frame, np.nan_to_num(table[:, 0]) > 0
    )
    assert same(model.predictor().predict_proba(table), model.predict_proba(frame))


WRONG = {
    "a list": ([0.0] * N_COLUMNS, TypeError, "got list"),
    "nothing": (None, TypeError, "got NoneType"),
    "a frame": (pd.DataFrame(hard_table(2)), TypeError, "got DataFrame"),
    "a masked array": (np.ma.masked_invalid(hard_table(2)), TypeError, "filled"),
    "whole numbers": (np.zeros((2, N_COLUMNS), dtype=int), TypeError, "int64"),
    "half floats": (np.zeros((2, N_COLUMNS), dtype=np.float16), TypeError, "float16"),
    "other bytes": (np.zeros((2, N_COLUMNS), dtype=np.float64).astype(">f8"), TypeError, ">f8"),
    "text": (np.array([["x"] * N_COLUMNS]), TypeError, "<U1"),
    "objects": (np.zeros((2, N_COLUMNS), dtype=object), TypeError, "'O'"),
    "a number": (np.array(1.0), ValueError, r"shape \(\)"),
    "three axes": (np.zeros((1, 2, N_COLUMNS)), ValueError, r"\(1, 2, 7\)"),
    "a column too few": (np.zeros((3, 6)), ValueError, "X has 6 features, but .* expecting 7"),
    "a column too many": (np.zeros((3, 8)), ValueError, "X has 8 features, but .* expecting 7"),
    "a short row": (np.zeros(6), ValueError, "X has 6 features, but .* expecting 7"),
    "an empty row": (np.zeros(0), ValueError, "X has 0 features, but .* expecting 7"),
    "strides between numbers": (
        np.zeros(2, dtype=[("byte", "u1"), ("row", "f8", (N_COLUMNS,))])["row"],
        ValueError,
        "ascontiguousarray",
    ),
}


@pytest.mark.parametrize("what", WRONG)
@every_model
def test_what_is_no_row_and_no_batch_is_refused(name: str, what: str) -> None:
    given, error, words = WRONG[what]
    model = MODELS[name]
    for method in methods_of(model):
        with pytest.raises(error, match=words):
            getattr(model.predictor(), method)(given)


def test_a_model_without_a_fit_has_no_predictor() -> None:
    with pytest.raises(NotFittedError):
        BoostedTreesClassifier(quality="fast").predictor()


def test_a_wrong_number_of_jobs_is_refused() -> None:
    model = copy.deepcopy(MODELS["numbers"]).set_params(n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs"):
        model.predictor()


def test_the_core_refuses_a_loss_that_does_not_fit() -> None:
    forest, row = MODELS["many classes"].forest_, np.zeros(N_COLUMNS)
    with pytest.raises(ValueError, match="several scores"):
        forest.answer(row, loss="squared_error", n_threads=1)
    with pytest.raises(ValueError, match="unknown loss|several scores"):
        forest.answer(row, loss="no loss", n_threads=1)
    with pytest.raises(ValueError, match="n_threads"):
        forest.answer(row, loss="", n_threads=0)


@every_model
def test_it_is_pickled_and_copied(name: str) -> None:
    model, table = MODELS[name], hard_table(50, seed=4)
    predictor = model.predictor()
    for twin in (pickle.loads(pickle.dumps(predictor)), copy.copy(predictor)):
        assert type(twin) is type(predictor)
        for method in methods_of(model):
            assert same(getattr(twin, method)(table), getattr(model, method)(table))


def test_it_never_changes() -> None:
    table = hard_table(400)
    model = BoostedTreesClassifier(quality="fast", n_estimators=3).fit(table, table[:, 0] > 0)
    predictor = model.predictor()
    before = predictor.predict_proba(table)
    for name in ("forest", "loss", "classes", "n_jobs", "something"):
        with pytest.raises(FrozenInstanceError):
            setattr(predictor, name, None)
    with pytest.raises(ValueError, match="read-only"):
        predictor.classes[0] = True
    model.classes_[:] = model.classes_[::-1].copy()
    model.fit(table, table[:, 1] > 1)
    assert same(predictor.predict_proba(table), before)
    assert predictor.classes.tolist() == [False, True]


@every_model
def test_many_threads_predict_at_once(name: str) -> None:
    model, table = MODELS[name], hard_table(500, seed=5)
    predictor = model.predictor()
    methods = methods_of(model)
    expected = {method: getattr(model, method)(table) for method in methods}

    def agrees(turn: int) -> bool:
        method, row = methods[turn % len(methods)], turn % len(table)
        predict = getattr(predictor, method)
        if turn % 3 == 0:
            return same(predict(table), expected[method])
        return same(predict(table[row]), expected[method][row])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(agrees, range(300)))
    finally:
        sys.setswitchinterval(interval)
