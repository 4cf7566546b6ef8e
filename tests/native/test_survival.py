"""The border of the survival trees: arrays that do not fit together are refused."""

from typing import Any

import numpy as np
import pytest

from weald import _native


def arguments(**other: Any) -> dict[str, Any]:
    """Four rows of a numeric column of three bins and a category of two levels."""
    return {
        "codes": np.array([[1, 2, 3, 0], [1, 2, 1, 2]], dtype=np.uint16),
        "n_codes": np.array([4, 3], dtype=np.int32),
        "is_category": np.array([0, 1], dtype=np.uint8),
        "cuts": np.array([0.5, 1.5]),
        "first_cut": np.array([0, 2, 2], dtype=np.int64),
        "time": np.array([0, 1, 2, 2], dtype=np.int32),
        "is_event": np.array([1, 0, 1, 1], dtype=np.uint8),
        "weight": None,
        "n_draws": 0,
        "n_trees": 2,
        "max_features": 2,
        "max_depth": 0,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "seed": 0,
        "n_threads": 1,
        **other,
    }


def test_arrays_that_fit() -> None:
    grown = _native.grow_survival_forest(**arguments())
    assert len(grown["first_node"]) == 3
    assert grown["first_step"][-1] == len(grown["step_time"])
    assert grown["step_time"].max() == 1  # two distinct times of events


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"codes": np.full((2, 4), 3, dtype=np.uint16)}, "codes must be less than n_codes"),
        ({"n_codes": np.array([4], dtype=np.int32)}, "one entry per column"),
        ({"n_codes": np.array([5, 3], dtype=np.int32)}, "a cut between its bins"),
        ({"cuts": np.array([1.5, 0.5])}, "strictly increasing"),
        ({"time": np.array([0, 1, 2, 4], dtype=np.int32)}, "places of times"),
        ({"time": np.array([0, 1, -1, 2], dtype=np.int32)}, "places of times"),
        ({"is_event": np.ones(3, dtype=np.uint8)}, "one entry per row"),
        ({"weight": np.array([1.0, np.nan, 1.0, 1.0])}, "weights must be finite"),
        ({"max_features": 3}, "max_features"),
        ({"max_features": 0}, "max_features"),
        ({"n_trees": 0}, "n_trees"),
        ({"min_samples_split": 1}, "limits"),
        ({"n_draws": -1}, "n_draws"),
    ],
)
def test_refuses_what_does_not_fit(other: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.grow_survival_forest(**arguments(**other))


STEPS = {
    "first_step": np.array([0, 2, 3], dtype=np.int64),
    "step_time": np.array([0, 2, 1], dtype=np.int32),
    "step_value": np.array([0.8, 0.5, 0.6]),
    "start": 1.0,
    "leaves": np.array([[0, 1], [1, 1]], dtype=np.int64),
    "n_times": 3,
    "n_threads": 1,
}


def test_mean_curves() -> None:
    curves = _native.mean_curves(**STEPS)
    assert curves == pytest.approx(np.array([[0.9, 0.7, 0.55], [1.0, 0.6, 0.6]]))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"leaves": np.array([[2]], dtype=np.int64)}, "out of range"),
        ({"leaves": np.array([[-1]], dtype=np.int64)}, "out of range"),
        ({"n_times": 2}, "step_time"),
        ({"first_step": np.array([0, 3, 2], dtype=np.int64)}, "first_step"),
        ({"first_step": np.zeros(0, dtype=np.int64)}, "first_step"),
        ({"step_value": np.zeros(2)}, "first_step"),
    ],
)
def test_refuses_steps(other: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.mean_curves(**{**STEPS, **other})


def test_refuses_ranks() -> None:
    ranks, flags, ones = np.zeros(2, dtype=np.int32), np.ones(2, dtype=np.uint8), np.ones(2)
    for bad in (np.array([0, 2], dtype=np.int32), np.array([0, -1], dtype=np.int32)):
        with pytest.raises(ValueError, match="ranks"):
            _native.concordance(ranks, flags, bad, ones, ones)
    with pytest.raises(ValueError, match="one entry per row"):
        _native.concordance(ranks, flags, ranks, ones, np.ones(3))
