"""Pickles and copies of boosted trees: the trees of the model and of the state are stored once."""

import copy
import json
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.errors import ModelFormatError
from weald.persist.archive import archive_bytes, parse_archive
from weald.persist.codec import Encoder
from weald.persist.model_file import model_bytes, model_of_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=300) / 3
THREE = np.digitize(Y, [-0.5, 0.5])
WEIGHT = RNG.uniform(0.1, 3.0, size=300)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    e=pd.Categorical(RNG.choice(["x", "y", "z", "u", "v"], size=300))
)

Fit = tuple[Any, Any, Any, Any]
FITS: dict[str, Fit] = {
    "default": (BoostedTreesRegressor(n_iter_no_change=5), X, Y, None),
    "several classes": (BoostedTreesClassifier(n_iter_no_change=5), X, THREE, None),
    "tree per class": (
        BoostedTreesClassifier(n_iter_no_change=5, multi_class="tree_per_class"),
        X,
        THREE,
        None,
    ),
    "weights": (BoostedTreesRegressor(n_iter_no_change=5), X, Y, 1e-20 * WEIGHT),
    "huge target": (BoostedTreesRegressor(n_iter_no_change=5), X, 1e200 * Y, None),
    "log link": (
        BoostedTreesRegressor(n_iter_no_change=5, loss="gamma"),
        X,
        1e-150 * np.exp(Y),
        WEIGHT,
    ),
    "categories": (BoostedTreesRegressor(n_iter_no_change=5), FRAME, Y, None),
    "one booster, rows held out": (
        BoostedTreesRegressor(n_estimators=60, early_stopping=True),
        X,
        Y,
        None,
    ),
    "nothing refitted": (BoostedTreesRegressor(quality="fast"), X, Y, None),
    "no round": (BoostedTreesRegressor(n_iter_no_change=5), X, RNG.normal(size=300), None),
    "one class": (BoostedTreesClassifier(), X, np.zeros(300), None),
}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        equal = one.dtype == other.dtype and one.shape == other.shape
        return equal and one.tobytes() == other.tobytes() and not other.flags.writeable
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
@pytest.mark.parametrize("name", FITS)
def test_a_copy_is_equal_bit_for_bit(name: str, again: Any) -> None:
    model, table, y, weight = FITS[name]
    model = copy.deepcopy(model).fit(table, y, weight)
    other = again(model)
    for field in fields(model.forest_):
        assert same(getattr(model.forest_, field.name), getattr(other.forest_, field.name))
    for field in fields(model._state.forest):
        one, own = (
            getattr(model._state.forest, field.name),
            getattr(other._state.forest, field.name),
        )
        assert same(one, own)
    assert other.fingerprint() == model.fingerprint()
    assert np.array_equal(other.predict(table), model.predict(table))
    if hasattr(model, "oob_"):
        assert other.oob_.error() == model.oob_.error()
    more = {"n_iter_no_change": 60} if model.early_stopping_ else {"n_estimators": 110}
    for one in (model, other):
        one.set_params(warm_start=True, **more).fit(table, y, weight)
    assert other.fingerprint() == model.fingerprint()


def test_trees_are_stored_once() -> None:
    model = BoostedTreesRegressor().fit(X, Y)
    state, forest = len(pickle.dumps(model._state)), len(pickle.dumps(model.forest_))
    rest = len(pickle.dumps({**vars(model), "_state": None, "forest_": None}))
    # The refit changes leaf values and node weights only.
    assert len(pickle.dumps(model)) < rest + state + 0.6 * forest
    for one in (model, pickle.loads(pickle.dumps(model))):
        for name in ("feature", "threshold", "right", "missing_left", "gain"):
            whole, part = getattr(one._state.forest, name), getattr(one.forest_, name)
            assert np.shares_memory(whole, part), name


def test_model_files_store_trees_once() -> None:
    model = BoostedTreesRegressor().fit(X, Y)
    loaded = model_of_bytes(model_bytes(model, oob=True))
    assert np.shares_memory(loaded.forest_.threshold, loaded._state.forest.threshold)
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.oob_.error() == model.oob_.error()


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": np.zeros((3, 1))},
        {"weight": 5},
        {"right": np.zeros(0, dtype=np.int32)},
        {"no_such_array": np.zeros(3)},
        {"n_columns": "four"},
        None,
    ],
    ids=str,
)
def test_a_corrupt_model_file(wrong: Any) -> None:
    model = BoostedTreesRegressor(quality="fast").fit(X, Y)
    header, arrays = parse_archive(model_bytes(model))
    encoder = Encoder(row_records=False)
    text = json.dumps(encoder.encode(wrong, "")).replace('"name": "', '"name": "wrong ')
    header["model"]["state"]["forest_"] = json.loads(text)
    arrays |= {f"wrong {name}": array for name, array in encoder.arrays.items()}
    with pytest.raises(ModelFormatError, match="not a sound model|trees split four columns"):
        model_of_bytes(archive_bytes(header, arrays))


def test_an_unfitted_model() -> None:
    model = pickle.loads(pickle.dumps(BoostedTreesRegressor(learning_rate=0.3)))
    assert model.learning_rate == 0.3
    assert not hasattr(model, "forest_")
