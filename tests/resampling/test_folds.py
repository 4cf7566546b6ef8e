"""Folds and hold-outs by content: of any table, in any order, with repetitions."""

import numpy as np
import pytest

from weald.resampling import ContentKFold, hold_out_rows


def content_of_folds(folds: ContentKFold, X, y=None, groups=None) -> list[tuple]:
    rows = [tuple(row) for row in np.asarray(X).tolist()]
    return [tuple(sorted(rows[i] for i in test)) for _, test in folds.split(X, y, groups)]


def test_every_row_is_tested_once_and_never_trained_on_then() -> None:
    X = np.random.default_rng(0).normal(size=(101, 3))
    tested = []
    for train, test in ContentKFold(5).split(X):
        assert not set(train) & set(test) and len(train) + len(test) == 101
        assert 20 <= len(test) <= 21
        tested += test.tolist()
    assert sorted(tested) == list(range(101))


@pytest.mark.parametrize("stratify", [False, True])
def test_the_order_of_rows_does_not_matter(stratify: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 40, (120, 2)), rng.integers(0, 3, 120)
    folds, order = ContentKFold(4, stratify=stratify), rng.permutation(120)
    assert content_of_folds(folds, X, y) == content_of_folds(folds, X[order], y[order])


def test_copies_of_a_row_are_dealt_out_like_any_rows() -> None:
    X = np.zeros((100, 1))
    assert [len(test) for _, test in ContentKFold(5).split(X)] == [20] * 5
    X = np.repeat(np.arange(25.0), 4)[:, np.newaxis]
    together = [len(np.unique(X[test])) for _, test in ContentKFold(5).split(X)]
    assert min(together) > 5


def test_strata_are_dealt_out_evenly() -> None:
    y = np.repeat(["a", "b"], [90, 10])
    X = np.arange(100.0)[:, np.newaxis]
    counts = [np.sum(y[test] == "b") for _, test in ContentKFold(5, stratify=True).split(X, y)]
    assert counts == [2] * 5


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 2)), np.array(list("abcdefghij"))[rng.integers(0, 10, 60)]
    for train, test in ContentKFold(3).split(X, None, groups):
        assert not set(groups[train]) & set(groups[test]) and len(test)


def test_another_seed_is_another_draw() -> None:
    X = np.arange(60.0)[:, np.newaxis]
    found = {tuple(content_of_folds(ContentKFold(3, random_state=seed), X)) for seed in range(4)}
    assert len(found) == 4


def test_tables_of_text_and_documents() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    names = [f"word {i}" for i in range(30)]
    columns = {"text": names, "number": np.arange(30.0)}
    tests = [
        [sorted(test) for _, test in ContentKFold(3).split(X)]
        for X in (pandas.DataFrame(columns), polars.DataFrame(columns))
    ]
    assert tests[0] == tests[1]
    found = [
        [{documents[i] for i in test} for _, test in ContentKFold(3).split(documents)]
        for documents in (names, names[::-1])
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.0, "3", None])
def test_wrong_numbers_of_folds(wrong) -> None:
    with pytest.raises(ValueError, match="'n_splits' parameter of ContentKFold"):
        list(ContentKFold(wrong).split(np.zeros((4, 1))))


def test_too_few_rows_or_groups() -> None:
    with pytest.raises(
        ValueError, match="n_splits=3 requires at least as many rows; got n_samples = 2"
    ):
        list(ContentKFold(3).split(np.zeros((2, 1))))
    with pytest.raises(ValueError, match="n_splits=3 requires at least as many groups"):
        list(ContentKFold(3).split(np.zeros((9, 1)), None, np.arange(9) % 2))


def test_held_out_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.repeat([0, 1], [180, 20])
    held = hold_out_rows(X, y, None, y, 0.25, weight=None, seed=0)
    assert held[y == 0].sum() == 45 and held[y == 1].sum() == 5
    order = rng.permutation(200)
    assert np.array_equal(
        hold_out_rows(X[order], y[order], None, y[order], 0.25, weight=None, seed=0), held[order]
    )
    # Every class with two different rows is on both sides.
    few = hold_out_rows(
        X[:4], [0, 0, 1, 1], None, np.array([0, 0, 1, 1]), 0.01, weight=None, seed=0
    )
    assert few[:2].sum() == few[2:].sum() == 1
    groups = np.arange(200) % 10
    held = hold_out_rows(X, y, groups, y, 0.3, weight=None, seed=0)
    assert {frozenset(held[groups == g]) for g in range(10)} == {
        frozenset([True]),
        frozenset([False]),
    }
    assert held.sum() == 60
