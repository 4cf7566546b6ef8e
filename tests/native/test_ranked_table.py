"""Pickled tables of ranks grow the same trees."""

import pickle
from typing import Any

import numpy as np
import pytest

from weald import _native
from weald.resampling import RowSamples
from weald.trees import ForestGrower, ForestLimits, ForestRows


def grown(ranks: Any, y: Any, *, random_cuts: bool) -> Any:
    n = len(y)
    samples = RowSamples(seed=0, n_draws=n, place=np.arange(n), n=n)
    rows = ForestRows(ranks, y, None, 0, None, None, samples, 4)
    limits = ForestLimits("squared_error", max_features=2, random_cuts=random_cuts)
    return ForestGrower(rows, limits, seed=0, n_threads=1).grow(range(2)).fingerprint_arrays()


@pytest.mark.parametrize("n_rows", [400, 70_000])  # columns with a bin, or a rank, for many values
@pytest.mark.parametrize("kept", [None, np.float32, np.float64])
def test_round_trip(n_rows: int, kept: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.integers(0, 9, n_rows),
            2 * rng.integers(0, 40, n_rows),  # of 90 levels, those in between have no rows
            3 * rng.integers(0, 200, n_rows),
        ]
    ).astype(kept or np.float64)
    X[rng.random(n_rows) < 0.1, 0] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    y = X[:, 1] + X[:, 3] % 2 + rng.normal(size=n_rows)
    y = np.nan_to_num(y).astype(np.float64)
    table = _native.RankedTable(
        X, np.arange(n_rows), None, 1, keeps_values=kept is not None, n_levels=[0, 0, 90, 700]
    )
    again = pickle.loads(pickle.dumps(table, protocol=5))
    assert again.n_ranks() == table.n_ranks()
    random_cuts = kept is not None
    one = grown(table, y, random_cuts=random_cuts)
    other = grown(again, y, random_cuts=random_cuts)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])
    for part, copy in zip(table.__getstate__(), again.__getstate__(), strict=True):
        np.testing.assert_array_equal(part, copy)
