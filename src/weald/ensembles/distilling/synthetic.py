"""Synthetic rows by a smoothed bootstrap that keeps types and dependence of columns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import Kind, Values, read_columns
from weald.ensembles.members.members import n_rows_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Maximum number of rows to search for neighbours, and number of nearest ones to draw from.
_MAX_REFERENCE, _N_NEIGHBOURS = 2000, 3

# Coordinates of the neighbour search: numbers by their rank, in _N_RANKS steps; categories one-hot
# times _CATEGORY_CODE, so that two categories differ like numbers about 7 ranks apart. Sums of
# squares of these integers are below 2**24 and thus exact in float32.
_N_RANKS, _CATEGORY_CODE = 16, 5
_MAX_CATEGORIES = 64  # further ones share coordinates

# A number is an atom, such as 0 in a column of amounts, above this fraction and number of rows.
_ATOM_FRACTION, _ATOM_ROWS = 0.02, 3


def smoothed_bootstrap(
    X: Any, n: int, smoothing: float, seed: int, is_category: NDArray[np.bool_] | None = None
) -> Any:
    """Draw `n` rows from the distribution of X, in the same container.

    For each row drawn from X, one of its nearest neighbours is drawn. Each cell moves with
    probability `smoothing`: continuous numbers to a random point between the two values, all others
    (categories, dates, flags, frequent values and missing values) to the neighbour's value. So each
    cell holds a valid value of its column, and dependent columns stay dependent. `is_category`
    marks columns of numbers that are categories.
    """
    read = read_columns(X)
    if is_category is None:
        is_category = np.zeros(len(read), dtype=bool)
    columns = [_Column.of(values, is_cat) for values, is_cat in zip(read, is_category, strict=True)]
    rng = np.random.default_rng(seed)
    n_rows = n_rows_of(X)
    # Each row is drawn n // n_rows times, and a random part of them once more.
    equal = np.tile(np.arange(n_rows), n // n_rows)
    base = np.concatenate([equal, rng.permutation(n_rows)[: n - len(equal)]])
    other = _neighbours(columns, base, n_rows, rng) if smoothing > 0 else base

    def drawn(j: int) -> tuple[Indices, Floats | None]:
        moves = rng.random(n) < smoothing
        between = rng.random(n)
        return columns[j].drawn(base, other, moves, between)

    return _assembled(X, base, drawn, len(columns))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column prepared for drawing.

    `position` is the order of the values or the code of the categories (NaN: missing). `numbers`
    are the values of a numeric column, `is_mixable` those that may be interpolated.
    """

    position: Floats
    is_ordered: bool
    numbers: Floats | None = None
    is_mixable: NDArray[np.bool_] | None = None
    is_integer: bool = False

    @classmethod
    def of(cls, values: Values, is_category: bool) -> "_Column":
        kind = values.kind
        if kind is Kind.MOMENT:
            moments = values.moments(values.zone)[0]
            position = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(float))
            return cls(position, is_ordered=True)
        if kind is Kind.SPAN:
            return cls(np.asarray(values.seconds(), dtype=np.float64), is_ordered=True)
        if kind is not Kind.NUMBER or is_category:
            codes = np.asarray(values.coded()[0]).astype(np.float64)
            return cls(np.where(codes < 0, np.nan, codes), is_ordered=kind is Kind.ORDERED)
        numbers = np.asarray(values.numbers(), dtype=np.float64)
        distinct, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        most = max(_ATOM_ROWS, _ATOM_FRACTION * len(numbers))
        is_mixable = np.isfinite(numbers) & (counts[inverse.reshape(-1)] <= most)
        finite = distinct[np.isfinite(distinct)]
        is_integer = bool((finite == np.floor(finite)).all())
        return cls(numbers, True, numbers, is_mixable, is_integer)

    def drawn(
        self, base: Indices, other: Indices, moves: NDArray[np.bool_], between: Floats
    ) -> tuple[Indices, Floats | None]:
        """Source row of each cell, and the numbers if some are interpolated."""
        source = np.where(moves, other, base)
        if self.numbers is None or self.is_mixable is None:
            return source, None
        numbers = self.numbers[source]
        mixed = moves & self.is_mixable[base] & self.is_mixable[other]
        if not mixed.any():
            return source, None
        a, b = self.numbers[base[mixed]], self.numbers[other[mixed]]
        # Convex combination, which cannot overflow.
        new = a * (1.0 - between[mixed]) + b * between[mixed]
        numbers[mixed] = np.round(new) if self.is_integer else new
        return source, numbers

    def codes(self) -> NDArray[np.float32]:
        """Coordinates of the rows for the neighbour search."""
        missing = np.isnan(self.position)
        if self.is_ordered:
            ranks = np.zeros(len(missing))
            distinct, inverse = np.unique(self.position[~missing], return_inverse=True)
            counts = np.bincount(inverse.reshape(-1), minlength=len(distinct))
            middle = (np.cumsum(counts) - counts / 2) / max(1, (~missing).sum())
            ranks[~missing] = np.floor(_N_RANKS * middle)[inverse.reshape(-1)]
            ranks[missing] = _N_RANKS // 2
            return np.column_stack([ranks, _CATEGORY_CODE * missing]).astype(np.float32)
        levels = np.where(missing, -1, self.position).astype(np.int64)
        n_levels = min(_MAX_CATEGORIES, int(levels.max(initial=0)) + 1)
        hot = np.zeros((len(levels), n_levels + 1), dtype=np.float32)
        hot[np.arange(len(levels)), np.where(missing, n_levels, levels % n_levels)] = _CATEGORY_CODE
        return hot


def _neighbours(
    columns: list[_Column], base: Indices, n_rows: int, rng: np.random.Generator
) -> Indices:
    """A random one of the nearest neighbours of each row of `base`, from a sample of the rows."""
    if n_rows == 1:
        return base
    codes = np.hstack([column.codes() for column in columns])
    reference = np.sort(rng.permutation(n_rows)[:_MAX_REFERENCE])
    n_near = min(_N_NEIGHBOURS, len(reference) - 1)
    wanted, position = np.unique(base, return_inverse=True)
    neighbours = np.empty((len(wanted), n_near), dtype=np.intp)
    squares = (codes[reference].astype(np.float64) ** 2).sum(axis=1)
    step = max(1, 4_000_000 // len(reference))
    for begin in range(0, len(wanted), step):
        rows = wanted[begin : begin + step]
        # Products of integers, exact in any order of summation.
        products = (codes[rows] @ codes[reference].T).astype(np.float64)
        distance = (squares - 2.0 * products).astype(np.int64)
        distance[rows[:, np.newaxis] == reference] = np.iinfo(np.int32).max
        # Ties go to the first row.
        keys = distance * len(reference) + np.arange(len(reference))
        nearest = np.argpartition(keys, n_near - 1, axis=1)[:, :n_near]
        nearest = np.take_along_axis(
            nearest, np.argsort(np.take_along_axis(keys, nearest, axis=1), axis=1), axis=1
        )
        neighbours[begin : begin + step] = reference[nearest]
    return neighbours[position.reshape(-1), rng.integers(0, n_near, len(base))]


# ---- containers ----

Draw = Callable[[int], tuple[Indices, Floats | None]]


def _assembled(X: Any, base: Indices, drawn: Draw, n_columns: int) -> Any:
    if hasattr(X, "toarray"):
        return type(X)(_array_of(X.toarray(), len(base), drawn))
    if isinstance(X, np.ndarray):
        return _array_of(X, len(base), drawn)
    if hasattr(X, "iloc"):
        return _pandas_of(X, base, drawn)
    parts = [drawn(j) for j in range(n_columns)]
    if hasattr(X, "column_names"):
        return _arrow_of(X, parts)
    return _polars_of(X, parts)


def _array_of(X: NDArray[Any], n: int, drawn: Draw) -> NDArray[Any]:
    out = np.empty((n, X.shape[1]), dtype=X.dtype)
    for j in range(X.shape[1]):
        source, numbers = drawn(j)
        out[:, j] = X[source, j] if numbers is None else numbers
    return out


def _pandas_of(X: Any, base: Indices, drawn: Draw) -> Any:
    out = X.iloc[base].reset_index(drop=True)
    for j in range(X.shape[1]):
        source, numbers = drawn(j)
        column = X.iloc[source, j].reset_index(drop=True)
        if numbers is not None:
            column = _as_type_of(column, numbers)
        out.isetitem(j, column)
    return out


def _as_type_of(column: Any, numbers: Floats) -> Any:
    """Numbers in the dtype of a pandas column; missing values are unchanged."""
    present = ~np.isnan(numbers)
    new = column.copy()
    new[present] = numbers[present].astype(_numpy_type(column.dtype))
    return new


def _numpy_type(dtype: Any) -> Any:
    return dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", np.float64)


def _polars_of(X: Any, parts: list[tuple[Indices, Floats | None]]) -> Any:
    polars = importlib.import_module("polars")
    frame = X.collect() if hasattr(X, "collect") else X
    columns = []
    for series, (source, numbers) in zip(frame.get_columns(), parts, strict=True):
        if numbers is None:
            columns.append(series.gather(source))
        else:
            new = polars.Series(series.name, numbers).fill_nan(None)
            columns.append(new.cast(series.dtype))
    return polars.DataFrame(columns)


def _arrow_of(X: Any, parts: list[tuple[Indices, Floats | None]]) -> Any:
    arrow = importlib.import_module("pyarrow")
    columns = []
    for column, (source, numbers) in zip(X.columns, parts, strict=True):
        if numbers is None:
            columns.append(column.take(arrow.array(source)))
        else:
            new = arrow.array(numbers, mask=np.isnan(numbers))
            columns.append(new.cast(column.type, safe=False))
    return arrow.table(columns, names=X.column_names)


def joined_rows(first: Any, second: Any) -> Any:
    """Concatenate the rows of two tables of the same type and columns."""
    if hasattr(first, "toarray"):
        return importlib.import_module("scipy.sparse").vstack([first, second]).asformat("csr")
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    if hasattr(first, "iloc"):
        pandas = importlib.import_module("pandas")
        return pandas.concat([first, second], ignore_index=True)
    if hasattr(first, "column_names"):
        return importlib.import_module("pyarrow").concat_tables([first, second])
    return importlib.import_module("polars").concat([first, second])
