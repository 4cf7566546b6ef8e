"""Random thresholds do not depend on missing values of rows that no tree has drawn."""

from typing import Any

import numpy as np
import pytest

from native.test_labels import params
from weald import _native

N = 400
RNG = np.random.default_rng(5)
TABLE = np.column_stack([RNG.normal(size=(N, 3)), RNG.integers(0, 3, (N, 2))])
TARGET = TABLE[:, 0] + RNG.normal(size=N)


def grow(table: np.ndarray, target: dict[str, Any], copies: np.ndarray, **changed: Any) -> Any:
    return _native.grow_forest(
        table=_native.RankedTable(table, np.arange(len(table)), None, 1, keeps_values=True),
        params=params(max_features=2, random_cuts=True, **changed),
        bootstrap=None,
        weight=None,
        copies=copies,
        first=0,
        n_trees=3,
        oob_sums=None,
        oob_counts=None,
        **{"values": None, "classes": None, "n_classes": 0, **target},
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("criterion", "n_classes"),
    [("squared_error", 0), ("absolute_error", 0), ("gini", 2), ("gini", 4), ("entropy", 2)],
)
def test_missing_values_of_unsampled_rows_change_nothing(
    criterion: str, n_classes: int, dtype: type
) -> None:
    """The range of a column is then found by other code, which must give the same trees."""

    def target(values: np.ndarray) -> dict[str, Any]:
        if n_classes == 0:
            return {"values": values}
        classes = np.floor(values).astype(np.int32) % n_classes
        return {"classes": classes, "n_classes": n_classes}

    copies = RNG.integers(1, 3, N)
    table = TABLE.astype(dtype)
    short = grow(table, target(TARGET), copies, criterion=criterion)
    unseen = np.full((1, table.shape[1]), np.nan, dtype=dtype)
    long = grow(
        np.concatenate([table, unseen]),
        target(np.append(TARGET, 0.0)),
        np.append(copies, 0),
        criterion=criterion,
    )
    assert len(short["feature"]) > 3 * N / 2
    for name, array in short.items():
        assert np.array_equal(array, long[name]), name
