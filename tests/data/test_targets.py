"""Targets as numbers: labels to class numbers, values as they are."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from weald.data import class_rows, number_rows, numbered_classes, targets

X = np.arange(4.0)[:, np.newaxis]


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "c"],
        [10, -5, 10, 20],
        [1.0, 0.0, 1.0, 3.0],
        np.array(["b", "a", "b", "c"], dtype=object),
    ],
)
def test_labels_become_numbers_in_their_order(labels) -> None:
    rows, classes = class_rows(BaseEstimator(), X, labels, None)
    assert rows.target.tolist() == [1.0, 0.0, 1.0, 2.0]
    assert classes[rows.target.astype(int)].tolist() == list(labels)
    assert sorted(classes.tolist()) == classes.tolist()


def test_classes_come_from_rows_without_weight_too() -> None:
    rows, classes = class_rows(BaseEstimator(), X, ["a", "b", "c", "a"], [1, 0, 1, 1])
    assert classes.tolist() == ["a", "b", "c"]
    assert rows.target.tolist() == [0.0, 2.0, 0.0]


def test_numbers_stay_as_they_are() -> None:
    y = np.array([0.5, -1e300, 5e-324, 3.0])
    rows = number_rows(BaseEstimator(), X, y, [1, 2, 1, 1])
    assert np.array_equal(rows.target, y)
    assert rows.weight.tolist() == [1, 2, 1, 1]
    for kind in (np.int32, np.float32, ">f8"):
        rows = number_rows(BaseEstimator(), X, np.array([1, 2, 3, 4], dtype=kind), None)
        assert rows.target.dtype == np.float64 and rows.target.flags.c_contiguous
        assert rows.target.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_numbers_must_be_finite(bad) -> None:
    for y in ([1.0, 2.0, bad, 3.0], np.array([1.0, 2.0, bad, 3.0], dtype=object)):
        with pytest.raises((ValueError, TypeError)):
            number_rows(BaseEstimator(), X, y, None)


def test_missing_values_of_pandas_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.Series([1.0, None, 2.0, 3.0], dtype="Float64")
    with pytest.raises((ValueError, TypeError)):
        number_rows(BaseEstimator(), X, y, None)
    labels = pandas.Series(["a", None, "b", "a"])
    with pytest.raises((ValueError, TypeError)):
        class_rows(BaseEstimator(), X, labels, None)


def test_continuous_targets_are_no_labels() -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        class_rows(BaseEstimator(), X, [0.1, 0.2, 0.3, 0.4], None)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.int16])
def test_classes_are_numbered_as_by_sorting(kind: type) -> None:
    info = np.iinfo(kind)
    for labels in (
        np.array([info.max, info.min, info.max], dtype=kind),
        np.array([info.max, info.max - 2, info.max], dtype=kind),
        np.array([info.min, info.min + 3, info.min + 3], dtype=kind),
        np.array([1], dtype=kind),
    ):
        classes, numbers = numbered_classes(labels)
        expected, places = np.unique(labels, return_inverse=True)
        assert classes.dtype == labels.dtype
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_array_equal(numbers, places)


@pytest.mark.parametrize("labels", [["b", "a", "b"], [7, 5, 7], [True, False, True], [7, 7, 7]])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_numbers_of_any_kind(labels, n_blocks: int, monkeypatch) -> None:
    monkeypatch.setattr(targets, "_BLOCK", 3 - n_blocks // 2)  # whole blocks, or a short one
    labels = np.array(labels * n_blocks)
    expected, places = np.unique(labels, return_inverse=True)
    for kind, of_two in ((np.float64, np.uint8), (np.float64, None), (np.intp, None)):
        classes, numbers = numbered_classes(labels, kind, of_two=of_two)
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_array_equal(numbers, places)
        assert classes.dtype == labels.dtype and numbers.dtype == (of_two or kind)


def test_byte_targets_are_used_for_two_classes_and_many_rows(monkeypatch) -> None:
    def kind_of(labels, **more) -> np.dtype:
        rows, _ = class_rows(BaseEstimator(), X, labels, None, **more)
        assert rows.target.dtype == np.float64
        assert rows.target.tolist() == rows.y.tolist()
        return rows.y.dtype

    assert kind_of([3, 5, 5, 3], takes_bytes=True) == np.float64
    monkeypatch.setattr(targets, "_MANY_ROWS", 3)
    assert kind_of([3, 5, 5, 3], takes_bytes=True) == np.uint8
    assert kind_of(["a", "b", "b", "a"], takes_bytes=True) == np.uint8
    assert kind_of([3, 5, 5, 3]) == np.float64
    assert kind_of([3, 5, 4, 3], takes_bytes=True) == np.float64


def test_whole_numbers_are_classes_and_too_many_are_warned_of() -> None:
    table = np.arange(60.0)[:, np.newaxis]
    for labels in (np.arange(60) % 30, np.arange(60) % 2 == 0):
        rows, classes = class_rows(BaseEstimator(), table, labels, None)
        assert np.array_equal(classes[rows.target.astype(int)], labels)
    asked: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "check_classification_targets", lambda y: asked.append(len(y)))
        class_rows(BaseEstimator(), table, np.arange(60) % 30, None)
        assert asked == []
        class_rows(BaseEstimator(), table, np.arange(60) % 31, None)
        class_rows(BaseEstimator(), table, table[:, 0] % 2, None)
        assert asked == [60, 60]
