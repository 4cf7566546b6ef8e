"""New rows like those of a table: a smoothed bootstrap that respects types and dependence."""

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

# Neighbours are looked for among at most so many rows; one of so many is drawn.
_REFERENCE, _NEAREST = 2000, 3

# A number is coded by its rank among so many steps. Two levels that differ are as far apart as two
# numbers a third of all ranks apart. Sums of squares of codes are whole numbers below 2**24: exact.
_STEPS, _LEVEL = 16, 5
_MOST_LEVELS = 64  # more of them share codes

# A value is an atom, such as the zero of an amount nobody paid, if it has this share of the rows.
_ATOM_SHARE, _ATOM_ROWS = 0.02, 3


def smoothed_bootstrap(
    X: Any, n: int, smoothing: float, seed: int, is_level: NDArray[np.bool_] | None = None
) -> Any:
    """Draw `n` rows like those of X, in the same container.

    A row is drawn and one of its nearest neighbours. Every cell moves towards the neighbour's with
    the probability `smoothing`: a measured number to somewhere between the two, everything else
    (categories, dates, flags, whole numbers of few values, values that occur often, and what is
    missing) becomes the neighbour's. So a cell never holds what its column could not, and
    columns that depend on each other still do. `is_level` marks columns of numbers that are
    names of categories.
    """
    read = read_columns(X)
    if is_level is None:
        is_level = np.zeros(len(read), dtype=bool)
    columns = [_Column.of(values, names) for values, names in zip(read, is_level, strict=True)]
    rng = np.random.default_rng(seed)
    n_rows = n_rows_of(X)
    # Every row as often as any other, and some once more.
    whole = np.tile(np.arange(n_rows), n // n_rows)
    base = np.concatenate([whole, rng.permutation(n_rows)[: n - len(whole)]])
    other = _neighbours(columns, base, n_rows, rng) if smoothing > 0 else base

    def drawn(j: int) -> tuple[Indices, Floats | None]:
        moves = rng.random(n) < smoothing
        between = rng.random(n)
        return columns[j].drawn(base, other, moves, between)

    return _assembled(X, base, drawn, len(columns))


@dataclass(frozen=True, eq=False)
class _Column:
    """What drawing needs to know of a column.

    `place` orders or names the values (NaN: missing); `numbers` are those that may be mixed.
    """

    place: Floats
    has_order: bool
    numbers: Floats | None = None
    mixes: NDArray[np.bool_] | None = None
    is_whole: bool = False

    @classmethod
    def of(cls, values: Values, is_level: bool) -> "_Column":
        kind = values.kind
        if kind is Kind.MOMENT:
            moments = values.moments(values.zone)[0]
            place = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(float))
            return cls(place, has_order=True)
        if kind is Kind.SPAN:
            return cls(np.asarray(values.seconds(), dtype=np.float64), has_order=True)
        if kind is not Kind.NUMBER or is_level:
            codes = np.asarray(values.coded()[0]).astype(np.float64)
            return cls(np.where(codes < 0, np.nan, codes), has_order=kind is Kind.ORDERED)
        numbers = np.asarray(values.numbers(), dtype=np.float64)
        found, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        most = max(_ATOM_ROWS, _ATOM_SHARE * len(numbers))
        mixes = np.isfinite(numbers) & (counts[inverse.reshape(-1)] <= most)
        finite = found[np.isfinite(found)]
        is_whole = bool((finite == np.floor(finite)).all())
        return cls(numbers, True, numbers, mixes, is_whole)

    def drawn(
        self, base: Indices, other: Indices, moves: NDArray[np.bool_], between: Floats
    ) -> tuple[Indices, Floats | None]:
        """Whose cell each new row has, and the numbers in it if some are mixed."""
        source = np.where(moves, other, base)
        if self.numbers is None or self.mixes is None:
            return source, None
        numbers = self.numbers[source]
        mixed = moves & self.mixes[base] & self.mixes[other]
        if not mixed.any():
            return source, None
        a, b = self.numbers[base[mixed]], self.numbers[other[mixed]]
        # Neither difference nor product may overflow.
        new = a * (1.0 - between[mixed]) + b * between[mixed]
        numbers[mixed] = np.round(new) if self.is_whole else new
        return source, numbers

    def codes(self) -> NDArray[np.float32]:
        """Coordinates in which near rows are near."""
        missing = np.isnan(self.place)
        if self.has_order:
            ranks = np.zeros(len(missing))
            found, inverse = np.unique(self.place[~missing], return_inverse=True)
            counts = np.bincount(inverse.reshape(-1), minlength=len(found))
            middle = (np.cumsum(counts) - counts / 2) / max(1, (~missing).sum())
            ranks[~missing] = np.floor(_STEPS * middle)[inverse.reshape(-1)]
            ranks[missing] = _STEPS // 2
            return np.column_stack([ranks, _LEVEL * missing]).astype(np.float32)
        levels = np.where(missing, -1, self.place).astype(np.int64)
        n_levels = min(_MOST_LEVELS, int(levels.max(initial=0)) + 1)
        hot = np.zeros((len(levels), n_levels + 1), dtype=np.float32)
        hot[np.arange(len(levels)), np.where(missing, n_levels, levels % n_levels)] = _LEVEL
        return hot


def _neighbours(
    columns: list[_Column], base: Indices, n_rows: int, rng: np.random.Generator
) -> Indices:
    """A near row for each of some rows, drawn among the nearest of a sample."""
    if n_rows == 1:
        return base
    codes = np.hstack([column.codes() for column in columns])
    reference = np.sort(rng.permutation(n_rows)[:_REFERENCE])
    n_near = min(_NEAREST, len(reference) - 1)
    wanted, place = np.unique(base, return_inverse=True)
    near = np.empty((len(wanted), n_near), dtype=np.intp)
    squares = (codes[reference].astype(np.float64) ** 2).sum(axis=1)
    step = max(1, 4_000_000 // len(reference))
    for begin in range(0, len(wanted), step):
        rows = wanted[begin : begin + step]
        # Whole numbers, so that no order of additions can change them.
        products = (codes[rows] @ codes[reference].T).astype(np.float64)
        far = (squares - 2.0 * products).astype(np.int64)
        far[rows[:, np.newaxis] == reference] = np.iinfo(np.int32).max
        # Ties go to the row that comes first.
        keys = far * len(reference) + np.arange(len(reference))
        nearest = np.argpartition(keys, n_near - 1, axis=1)[:, :n_near]
        nearest = np.take_along_axis(
            nearest, np.argsort(np.take_along_axis(keys, nearest, axis=1), axis=1), axis=1
        )
        near[begin : begin + step] = reference[nearest]
    return near[place.reshape(-1), rng.integers(0, n_near, len(base))]


# ---- the same container ----

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
    """Numbers in the type of a pandas column; only cells that are there are changed."""
    there = ~np.isnan(numbers)
    new = column.copy()
    new[there] = numbers[there].astype(_numpy_type(column.dtype))
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
    """The rows of two tables of the same kind and columns, one after the other."""
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
