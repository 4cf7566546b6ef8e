"""Small random tables with everything that makes trees stumble."""

import numpy as np

KINDS = (
    "distinct",
    "few",
    "binary",
    "constant",
    "duplicate",
    "missing",
    "all_missing",
    "infinite",
    "zeros",
    "nearly_constant",
)


def random_column(rng, kind: str, n: int) -> np.ndarray:
    if kind == "distinct":
        return rng.permutation(n) - n / 2 + 0.25
    if kind == "few":
        return rng.integers(0, 6, n).astype(np.float64)
    if kind == "binary":
        return rng.integers(0, 2, n).astype(np.float64)
    if kind == "constant":
        return np.full(n, 3.5)
    if kind == "missing":
        return np.where(rng.random(n) < 0.4, np.nan, rng.integers(0, 5, n))
    if kind == "all_missing":
        return np.full(n, np.nan)
    if kind == "infinite":
        return rng.choice([-np.inf, -1.7e308, -1.0, 0.0, 1.0, 1.7e308, np.inf, np.nan], n)
    if kind == "zeros":
        return rng.choice([-0.0, 0.0, 5e-324, -5e-324, 1.0], n)
    return np.where(rng.random(n) < 0.05, 1.0, 0.0)


def random_table(rng, n: int, n_columns: int) -> np.ndarray:
    columns: list[np.ndarray] = []
    for _ in range(n_columns):
        kind = str(rng.choice(KINDS))
        if kind == "duplicate":
            kind = "few" if not columns else kind
        column = columns[rng.integers(len(columns))] if kind == "duplicate" else None
        columns.append(random_column(rng, kind, n) if column is None else column)
    return np.column_stack(columns)


def random_target(rng, n: int) -> np.ndarray:
    """Whole numbers with ties, plain numbers, or numbers with a very heavy tail."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(-4, 5, n).astype(np.float64)
    if kind == 1:
        return rng.normal(size=n)
    return rng.standard_cauchy(n) ** 3


def random_weights(rng, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Weights and copies, as `weald.data.Rows` keeps them."""
    kind = rng.integers(4)
    if kind == 0:
        return None, None
    if kind == 1:
        return None, np.maximum(rng.integers(0, 4, n), np.arange(n) == 0).astype(np.int64)
    if kind == 2:
        return rng.integers(1, 9, n) / 8, None
    return rng.exponential(size=n) + 0.01, rng.integers(1, 3, n)
