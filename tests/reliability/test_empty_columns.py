"""Columns without any value in the rows of a fit, or in those to predict."""

import datetime
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score

import weald
from contract.old_checks import ARE_OLD
from contract.subjects import EVERY_CLASSIFIER, quick
from reliability.families import FAMILIES, every_family

N = 60
WORDS: list[Any] = [None] * (N // 2) + ["a", "b", "c"] * (N // 6)  # none in the first half
SIZES = np.random.default_rng(0).normal(size=N)


def in_pandas(words: list[Any]) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"size": sizes(words), "word": pandas.Series(words, dtype=object)})


def in_polars(words: list[Any]) -> Any:
    polars = pytest.importorskip("polars")
    # Of nothing but None, the type is Null.
    return polars.DataFrame({"size": sizes(words), "word": polars.Series(words)})


def in_arrow(words: list[Any]) -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.table({"size": sizes(words), "word": arrow.array(words)})


def in_objects(words: list[Any]) -> Any:
    table = np.empty((len(words), 2), dtype=object)
    table[:, 0], table[:, 1] = sizes(words), words
    return table


def sizes(words: list[Any]) -> Any:
    return SIZES[: len(words)]


CONTAINERS = {
    "pandas": in_pandas,
    "polars": in_polars,
    "arrow": in_arrow,
    "objects": in_objects,
}
every_container = pytest.mark.parametrize("container", CONTAINERS)


def target(estimator: type, n: int) -> Any:
    return (SIZES[:n] > 0).astype(int) if estimator in EVERY_CLASSIFIER else 2.0 * SIZES[:n]


@every_family
@every_container
def test_a_column_that_was_empty_takes_text(estimator, container: str) -> None:
    make = CONTAINERS[container]
    empty, text = make(WORDS[: N // 2]), make(WORDS[N // 2 :])
    model = quick(estimator).fit(empty, target(estimator, N // 2))
    assert np.array_equal(model.predict(text), model.predict(empty))


@pytest.mark.parametrize(
    "estimator", [one for one in FAMILIES if one is not weald.RotationForestClassifier]
)
@every_container
def test_a_column_of_text_that_is_empty_is_missing(estimator, container: str) -> None:
    make = CONTAINERS[container]
    text = make(WORDS[N // 2 :])
    model = quick(estimator).fit(text, target(estimator, N // 2))
    unseen = model.predict(make(["x"] * (N // 2)))
    assert np.array_equal(model.predict(make([None] * (N // 2))), unseen)


@pytest.mark.parametrize(
    "later",
    [
        ["a", "b"],
        [1.5, 2.5],
        [True, False],
        [datetime.datetime(2024, 1, 1), None],
        [datetime.timedelta(1), None],
        [None, None],
    ],
    ids=["text", "numbers", "truth values", "dates", "durations", "nothing"],
)
@every_container
def test_a_column_that_was_empty_takes_any_kind(container: str, later: list[Any]) -> None:
    make = CONTAINERS[container]
    model = weald.DecisionTreeRegressor().fit(make([None] * N), SIZES)
    assert model.predict(make(later)).tolist() == SIZES[:2].tolist()


def test_types_without_values_take_any_kind() -> None:
    pandas = pytest.importorskip("pandas")
    later = in_pandas([*"abc"])
    for dtype in ("float64", "string", "category", "datetime64[ns]", "timedelta64[ns]", "Int64"):
        empty = in_pandas([None] * N).assign(word=pandas.Series([None] * N, dtype=dtype))
        model = weald.DecisionTreeRegressor().fit(empty, SIZES)
        assert model.predict(later).tolist() == SIZES[:3].tolist(), dtype


def test_levels_of_few_rows_are_values() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"name {i}" for i in range(300)]  # too rare, each of them, to be a level
    frame = pandas.DataFrame({"name": names, "size": np.arange(300.0)})
    model = weald.DecisionTreeRegressor().fit(frame, np.arange(300.0))
    with pytest.raises(TypeError, match="Column 'name' holds dates or times"):
        model.predict(frame.assign(name=pandas.Timestamp("2024-01-01")))


def test_an_array_with_a_column_of_nan_takes_text() -> None:
    table = np.column_stack([SIZES, np.full(N, np.nan)])
    model = weald.DecisionTreeRegressor().fit(table, SIZES)
    assert model.predict(in_objects([*"ab"])).tolist() == SIZES[:2].tolist()
    seen = weald.DecisionTreeRegressor().fit(np.column_stack([SIZES, SIZES]), SIZES)
    with pytest.raises(ValueError, match="Column 1 holds text"):
        seen.predict(in_objects([*"ab"]))


@every_container
def test_parts_of_a_table_may_lack_a_column(container: str) -> None:
    """The first of two folds, and some bags, see no word at all."""
    X, y = CONTAINERS[container](WORDS), target(weald.DecisionTreeClassifier, N)
    tree = weald.DecisionTreeClassifier()
    pairs = [
        ("tree", tree),
        ("boosted", weald.BoostedTreesClassifier(quality="fast", n_estimators=3)),
    ]
    for model in (
        weald.StackingClassifier(pairs, cv=KFold(2)),
        weald.BaggingClassifier(tree, n_estimators=10, max_samples=3, random_state=0),
        weald.BlendingClassifier(pairs, random_state=0),
    ):
        assert model.fit(X, y).predict(X).shape == (N,)
    if container == "arrow" and ARE_OLD:
        return  # scikit-learn 1.6 cannot take rows of an arrow table
    scores = cross_val_score(tree, X, y, cv=KFold(2), error_score="raise")
    assert scores.min() > 0.8
