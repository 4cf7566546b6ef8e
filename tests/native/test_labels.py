"""Several outputs at the border of the core: what it refuses, and doubles in place of integers."""

from typing import Any

import numpy as np
import pytest

from weald import _native

N = 50
RNG = np.random.default_rng(2)
TABLE = RNG.integers(0, 20, (N, 3)).astype(float)
LABELS = np.column_stack([RNG.integers(0, 3, N), 3 + RNG.integers(0, 2, N)]).astype(np.int32)


def params(**changed: Any) -> "_native.ForestParams":
    settings: dict[str, Any] = {
        "criterion": "gini",
        "seed": 0,
        "max_features": 3,
        "columns_of_tree": False,
        "random_cuts": False,
        "min_decrease": 0.0,
        "min_weight_share": 0.0,
        "max_leaf_nodes": 0,
        "max_depth": 0,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "balances_bags": False,
        "hard_votes": False,
        "n_threads": 1,
    }
    return _native.ForestParams(**{**settings, **changed})


def grow(
    values: Any = None, labels: Any = None, first: Any = (), weight: Any = None, **changed: Any
) -> dict[str, np.ndarray]:
    several = _native.SeveralOutputs(values=values, labels=labels, first_class=list(first))
    return _native.grow_forest(
        table=_native.RankedTable(TABLE, np.arange(N), None, 1),
        params=params(**changed),
        bootstrap=None,
        weight=weight,
        values=None,
        classes=None,
        n_classes=0,
        copies=None,
        first=0,
        n_trees=1,
        oob_sums=None,
        oob_counts=None,
        several=several,
    )


@pytest.mark.parametrize("min_samples_leaf", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_numbers_of_zero_and_one(weighted: bool, min_samples_leaf: int) -> None:
    """Gini of classes is the squared error of their indicators: two scans, one tree."""
    weight = 0.25 * (1 + np.arange(N) % 5) if weighted else None
    indicator = np.ascontiguousarray((LABELS[:, :, np.newaxis] == np.arange(5)).any(axis=1).T)
    limits = {"min_samples_leaf": min_samples_leaf, "weight": weight}
    counted = grow(labels=LABELS, first=(0, 3, 5), **limits)
    summed = grow(values=indicator.astype(float), criterion="squared_error", **limits)
    assert len(counted["feature"]) > 9
    for name in ("feature", "threshold", "right"):
        assert np.array_equal(counted[name], summed[name]), name
    summed["gain"][summed["feature"] < 0] = (
        0.0  # for classes, the shares give the remaining impurity
    )
    for name in ("value", "gain", "weight"):
        assert counted[name] == pytest.approx(summed[name], abs=1e-12), name


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ((0, 3, 4), "labels must be in"),
        ((0, 4, 5), "labels must be in"),
        ((0, 5), "first_class"),
        ((1, 3, 5), "first_class"),
        ((), "first_class"),
    ],
)
def test_labels_out_of_range_are_refused(first: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grow(labels=LABELS, first=first)


def test_targets_of_other_shapes_are_refused() -> None:
    values, of_numbers = np.zeros((2, N)), {"criterion": "squared_error"}
    for wrong, message in (
        ({}, "either values or labels"),
        ({"values": values, "labels": LABELS, "first": (0, 3, 5)}, "either values or labels"),
        ({"values": values[:, 1:].copy(), **of_numbers}, "shape"),
        ({"labels": LABELS[1:].copy(), "first": (0, 3, 5)}, "shape"),
        ({"values": values, "criterion": "entropy"}, "the entropy criterion requires classes"),
        ({"values": values, "hard_votes": True, **of_numbers}, "require labels"),
        ({"values": np.full((2, N), np.nan), **of_numbers}, "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            grow(**wrong)
