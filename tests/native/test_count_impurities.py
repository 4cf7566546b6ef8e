"""Entropy of counted classes, from listed terms, beside that of weights, from logarithms."""

from typing import Any

import numpy as np
import pytest

from native.test_labels import params
from weald import _native

N = 3000  # more than a node whose rows are sorted
RNG = np.random.default_rng(8)
TABLE = np.column_stack([RNG.integers(0, 12, N), RNG.normal(size=(N, 3)).round(2)]).astype(float)
TABLE[RNG.random(TABLE.shape) < 0.05] = np.nan
COPIES = RNG.integers(1, 4, N)


def grow(labels: np.ndarray, first: list[int], weight: Any, **changed: Any) -> dict[str, Any]:
    random_cuts = changed.get("random_cuts", False)
    several = len(first) > 2
    return _native.grow_forest(
        table=_native.RankedTable(TABLE, np.arange(N), None, 1, keeps_values=random_cuts),
        params=params(criterion="entropy", max_features=2, **changed),
        bootstrap=None,
        weight=weight,
        values=None,
        classes=None if several else labels[:, 0].copy(),
        n_classes=0 if several else first[-1],
        copies=COPIES,
        first=0,
        n_trees=3,
        oob_sums=None,
        oob_counts=None,
        several=_native.SeveralOutputs(values=None, labels=labels, first_class=first)
        if several
        else None,
    )


@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5}, {"max_leaf_nodes": 40}])
@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("n_classes", [[2], [5], [3, 2]])
def test_listed_terms_choose_what_logarithms_do(
    n_classes: list[int], random_cuts: bool, limits: dict[str, int]
) -> None:
    """Weights of 1 are summed as weights, no weights are counted: the same trees."""
    first = [0, *np.cumsum(n_classes).tolist()]
    signal = np.nan_to_num(TABLE[:, 0]) + 3 * np.nan_to_num(TABLE[:, 1]) + RNG.normal(size=N)
    labels = np.column_stack(
        [
            begin + (signal * (1 + place)).astype(int) % n
            for place, (begin, n) in enumerate(zip(first, n_classes, strict=False))
        ]
    ).astype(np.int32)
    counted = grow(labels, first, None, random_cuts=random_cuts, **limits)
    weighed = grow(labels, first, np.ones(N), random_cuts=random_cuts, **limits)
    assert len(counted["feature"]) > 100
    for name, array in counted.items():
        assert np.array_equal(array, weighed[name]), name


def test_large_counts_are_computed() -> None:
    """Beyond the list a term is computed: copies that no list holds part the same rows."""
    table = np.arange(6.0).reshape(-1, 1)
    classes = np.array([0, 0, 1, 1, 1, 2], dtype=np.int32)

    def thresholds(factor: int) -> np.ndarray:
        grown = _native.grow_forest(
            table=_native.RankedTable(table, np.arange(6), None, 1),
            params=params(criterion="entropy", max_features=1),
            bootstrap=None,
            weight=None,
            values=None,
            classes=classes,
            n_classes=3,
            copies=np.array([3, 1, 1, 4, 1, 5]) * factor,
            first=0,
            n_trees=1,
            oob_sums=None,
            oob_counts=None,
        )
        return np.asarray(grown["threshold"])

    assert len(thresholds(1)) == 5
    for factor in (2**10, 2**20, 3**13):
        assert np.array_equal(thresholds(factor), thresholds(1))
