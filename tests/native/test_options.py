"""The border of option trees: damaged arrays and wrong sizes are refused."""

from typing import Any

import numpy as np
import pytest

from weald import OptionTreeClassifier, _native
from weald.data import Rows, bin_rows


def table(n: int = 400, n_columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (n, n_columns)).astype(float)
    return X, ((X[:, 0] + X[:, 1] + rng.integers(0, 5, n)) // 7).astype(np.int32)


def settings(n: int = 400, n_threads: int = 1) -> dict[str, Any]:
    X, y = table(n)
    binned = bin_rows(Rows(X, y.astype(float)), max_bins=255, n_threads=1)
    return {
        "codes": binned.codes,
        "n_rows": n,
        "n_bins": binned.n_bins,
        "is_category": None,
        "wide_columns": [],
        "wide_codes": [],
        "criterion": "gini",
        "max_leaf_nodes": 0,
        "max_depth": 0,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "n_threads": n_threads,
        "weight": None,
        "sums": None,
        "classes": y,
        "n_classes": int(y.max()) + 1,
    }


@pytest.mark.parametrize(
    ("wrong", "fragment"),
    [
        ({"criterion": "beauty"}, "not supported by option trees"),
        ({"criterion": "newton"}, "not supported by option trees"),
        ({"n_rows": 399}, "codes must have"),
        ({"n_rows": 0}, "rows"),
        ({"max_depth": -1}, "negative"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_bins": np.array([1, 1, 1], dtype=np.int32)}, "codes must not exceed the bins"),
        ({"classes": None}, "either sums or classes"),
        ({"sums": np.zeros((1, 400))}, "either sums or classes"),
        ({"n_classes": 1}, r"classes must be in \[0, n_classes\)"),
        ({"classes": np.zeros(3, dtype=np.int32)}, "classes must have one entry per row"),
        ({"weight": np.ones(3)}, "weight must have one entry per row"),
        (
            {"classes": None, "sums": np.zeros((1, 3)), "criterion": "squared_error"},
            "sums must have the shape",
        ),
        ({"classes": None, "sums": np.zeros((1, 400)), "criterion": "entropy"}, "requires classes"),
        ({"wide_columns": [0]}, "must have the same length"),
    ],
)
def test_growers_that_cannot_be(wrong: dict[str, Any], fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        _native.OptionGrower(**{**settings(), **wrong})


def test_questions_that_cannot_be() -> None:
    grower = _native.OptionGrower(**settings())
    all_rows, sides = np.ones(400, dtype=np.int64), np.arange(400, dtype=np.uint8) % 2
    for copies, fragment in [
        (all_rows[:-1], "one entry per row"),
        (all_rows - 2, "copies out of range"),
        (all_rows * 2**37, "copies out of range"),
        (all_rows * 2**30, "sum of copies is too large"),
        (all_rows * 0, "at least one row"),
    ]:
        for ask in (
            grower.grow,
            lambda rows: grower.stumps(rows, 2, 0.5),
            lambda rows: grower.part(rows, sides),
        ):
            with pytest.raises(ValueError, match=fragment):
                ask(copies)
    for most, ratio in ((0, 0.5), (2, -1.0), (2, np.nan)):
        with pytest.raises(ValueError, match="most must be positive"):
            grower.stumps(all_rows, most, ratio)
    with pytest.raises(ValueError, match="both sides"):
        grower.part(all_rows, sides * 0)
    with pytest.raises(ValueError, match="goes_left must have"):
        grower.part(all_rows, sides[1:])


def test_a_given_test_weighs_and_gains_what_it_should() -> None:
    X, y = table()
    grower = _native.OptionGrower(**settings())
    left = X[:, 1] <= 4
    arrays, side = grower.part(np.ones(400, dtype=np.int64), left.astype(np.uint8))
    assert (side == np.where(left, 0, 1)).all()
    assert arrays["weight"].tolist() == [400, left.sum(), (~left).sum()]

    def score(rows: np.ndarray) -> float:
        return float((np.bincount(rows).astype(float) ** 2).sum() / len(rows))

    assert arrays["gain"][0] == pytest.approx(score(y[left]) + score(y[~left]) - score(y))


def test_threads_change_nothing() -> None:
    X, y = table(60_000)
    one, four = (OptionTreeClassifier(n_jobs=n, max_leaf_nodes=60).fit(X, y) for n in (1, 4))
    assert one.fingerprint() == four.fingerprint()
    for table_ in (X, X.astype(np.float32), np.asfortranarray(X), X[::-2]):
        assert (one.predict_proba(table_) == four.predict_proba(table_)).all()
        assert (one.apply(table_) == four.apply(table_)).all()


def predictor(**changed: Any) -> Any:
    X, y = table()
    forest = OptionTreeClassifier(max_depth=2, option_ratio=0.1).fit(X, y).forest_
    names = ("feature", "threshold", "right", "missing_left", "next_option", "value")
    sets = ("category_set", "first_word", "words")
    arrays = {name: np.array(getattr(forest, name)) for name in (*names, *sets)}
    for name, change in changed.items():
        arrays[name] = change(arrays[name])
    return _native.OptionPredictor(**arrays, n_columns=3)


def at(place: int, value: Any) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    "changed",
    [
        {"next_option": at(0, 10**6)},
        {"next_option": at(0, -1)},
        {"next_option": at(0, 1)},
        {"next_option": at(1, 1)},
        {"next_option": at(-1, 1)},
        {"right": at(0, 0)},
        {"right": at(0, 10**6)},
        {"feature": at(0, 3)},
        {"feature": at(0, -2)},
        {"feature": at(0, -1)},
        {"threshold": at(0, np.nan)},
        {"category_set": at(0, 0)},
        {"first_word": lambda words: np.array([0, 1])},
        {"value": lambda value: value[:-1].copy()},
        {"value": lambda value: value[:, :0].copy()},
        {"next_option": lambda array: array[:-1].copy()},
        {"feature": lambda array: array[:0].copy()},
    ],
)
def test_damaged_trees_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"damaged|same length|at least one output"):
        predictor(**changed)


def test_tables_of_other_columns_are_refused() -> None:
    sound = predictor()
    for ask in (sound.predict, sound.predict_spread, sound.apply):
        with pytest.raises(ValueError, match="as many columns as the model"):
            ask(np.zeros((3, 2)), 1)
    assert sound.leaf_shares().min() > 0
