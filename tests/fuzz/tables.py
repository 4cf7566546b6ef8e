"""Random tables: numbers of many or few values, text, missing values, repeated rows, weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

Generator = np.random.Generator


@dataclass(frozen=True)
class Table:
    """Rows to fit on, new rows to predict, and what may be given with them."""

    X: Any
    y: np.ndarray
    new: Any
    weight: np.ndarray | None
    groups: np.ndarray | None

    @property
    def has_text(self) -> bool:
        return isinstance(self.X, pd.DataFrame)

    def take(self, rows: np.ndarray) -> "Table":
        """Those rows, in that order."""
        return replace(
            self,
            X=self.X.iloc[rows] if self.has_text else self.X[rows],
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            groups=None if self.groups is None else self.groups[rows],
        )


def random_table(rng: Generator, *, n_classes: int) -> Table:
    """A table of 280 to 600 rows; `n_classes` is 0 for a regression.

    The first column always has a value of its own for most rows, more than 255 in all.
    """
    n, n_new = int(rng.integers(280, 600)), 40
    n_more = int(rng.integers(1, 4))
    kinds = rng.choice(["many", "few", "missing", "text"], size=n_more, p=[0.35, 0.35, 0.2, 0.1])
    columns = [_column(rng, kind, n + n_new) for kind in ("many", *kinds)]
    signal = sum(_as_numbers(column) for column in columns[:2])
    y = _target(rng, signal[:n], n_classes)
    names = [f"column {i}" for i in range(len(columns))]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    table: Any = frame if "text" in kinds else frame.to_numpy(dtype=np.float64)
    X, new = table[:n], table[n:]
    if rng.random() < 0.4:  # some rows are there several times
        rows = np.sort(np.concatenate([np.arange(n), rng.integers(0, n, size=n // 3)]))
        X, y = X.iloc[rows] if "text" in kinds else X[rows], y[rows]
    return Table(X, y, new, _weight(rng, len(y)), _groups(rng, len(y)))


def _column(rng: Generator, kind: str, n: int) -> Any:
    if kind == "few":
        return rng.integers(0, 6, size=n).astype(np.float64)
    if kind == "text":
        return np.array(["red", "green", "blue", "grey", "pink"], dtype=object)[
            rng.integers(0, 5, size=n)
        ]
    values = np.round(rng.normal(size=n), 4)
    if kind == "missing":
        values[rng.random(n) < 0.15] = np.nan
    return values


def _as_numbers(column: np.ndarray) -> np.ndarray:
    if column.dtype == object:
        return np.array([len(word) for word in column], dtype=np.float64)
    return np.nan_to_num(column)


def _target(rng: Generator, signal: np.ndarray, n_classes: int) -> np.ndarray:
    number = signal + rng.normal(size=len(signal))
    if n_classes:
        return np.argsort(np.argsort(number)) * n_classes // len(number)
    positive = np.exp(0.3 * number)  # every loss takes it
    return np.ceil(positive * 4) / 4 if rng.random() < 0.5 else positive


def _weight(rng: Generator, n: int) -> np.ndarray | None:
    kind = rng.integers(4)
    if kind == 0:
        return None
    if kind == 1:
        return rng.integers(0, 4, size=n).astype(np.float64)
    if kind == 2:
        return rng.uniform(0.1, 3.0, size=n)
    return np.full(n, rng.choice([0.3, 2.0, 7.0]))


def _groups(rng: Generator, n: int) -> np.ndarray | None:
    return rng.integers(0, n // 4, size=n) if rng.random() < 0.2 else None
