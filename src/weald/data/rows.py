"""The rows a fit sees: numbers, targets, and how much each row counts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data.containers import read_array
from weald.data.sources import AnyTable, numbers_only

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# Whole-number weights are repetitions as long as their sum leaves the sums of a tree 26 bits.
MOST_COPIES = 2**36

# Binary exponents up to this size are moderate: sums, squares and products stay far from the end.
_MODERATE = 200


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with a target; every row counts, `copies` times and with `weight`.

    Whole-number weights are repetitions: they are kept as `copies` and `weight` is None. Other
    weights are kept as `weight` and every row is one copy. Neither: every row counts once.

    Weights and targets of extreme size are kept divided by a power of two, 2**weight_exponent and
    2**target_exponent, so that no product of sums leaves the range of floats.

    The target, `y`, has the shape (rows,) or, of several outputs, (rows, outputs). Where there are
    many rows, class numbers may lie in bytes: whoever cannot read these asks for `target`.
    """

    table: AnyTable
    y: Floats | Bytes
    copies: NDArray[np.int64] | None = None
    weight: Floats | None = None
    weight_exponent: int = 0
    target_exponent: int = 0

    @property
    def n(self) -> int:
        return int(self.table.shape[0])

    @property
    def target(self) -> Floats:
        """The target in floats; of bytes a copy, made whenever it is asked for."""
        return self.y.astype(np.float64, copy=False)

    @property
    def n_outputs(self) -> int:
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    def take(self, index: NDArray[np.intp]) -> "Rows":
        """Those rows, in that order."""
        return replace(
            self,
            table=self.table[index],
            y=self.y[index],
            copies=None if self.copies is None else self.copies[index],
            weight=None if self.weight is None else self.weight[index],
        )

    def weighted(self, sample_weight: object) -> "Rows":
        """Give the rows their weights; those of weight zero are dropped.

        Raises
        ------
        ValueError
            If a weight is negative or not finite, if there is not one per row, or if all are zero.
        """
        if sample_weight is None:
            return self
        weight = checked_weights(sample_weight, self.n)
        kept = weight > 0
        if not kept.all():
            rows = self.take(np.flatnonzero(kept))
            return rows.weighted(weight[kept])
        if not are_copies(weight):
            exponent = extreme_exponent(weight)
            return replace(self, weight=np.ldexp(weight, -exponent), weight_exponent=exponent)
        if (weight == 1.0).all():
            return self
        return replace(self, copies=weight.astype(np.int64))

    def of_numbers(self, who: str) -> "Rows":
        """The same rows with one array as their table, for `who` knows no categories."""
        return replace(self, table=numbers_only(self.table, who))

    def hashes(self, n_threads: int) -> NDArray[np.uint64]:
        """What each row holds, as two words: equal for equal rows, whatever they lie in."""
        if self.n_outputs > 1:
            first, others = np.split(self.target, [1], axis=1)
            hashes = replace(self, y=np.ascontiguousarray(first[:, 0])).hashes(n_threads)
            _native.hash_more(np.ascontiguousarray(others), hashes, n_threads)
            return hashes
        if isinstance(self.table, np.ndarray):
            return _native.hash_rows(self.table, self.target, n_threads)
        nothing = np.empty((self.n, 0))
        hashes = _native.hash_rows(nothing, self.target, n_threads)
        for _, columns in self.table.batches():
            _native.hash_more(columns, hashes, n_threads)
        return hashes

    def with_moderate_target(self) -> "Rows":
        """The same rows with a target of extreme size divided by a power of two."""
        exponent = extreme_exponent(self.target)
        if exponent == 0:
            return self
        target = np.ldexp(self.target, -exponent)
        return replace(self, y=target, target_exponent=exponent)


def rows_of_weight(y: object, sample_weight: object) -> NDArray[np.bool_]:
    """Which of the rows passed to a fit have a weight; `y` has been checked.

    >>> rows_of_weight([1, 2, 3], [0.5, 0.0, 2.0]).tolist()
    [True, False, True]
    """
    n = len(y) if hasattr(y, "__len__") else len(np.asarray(y))
    kept = np.ones(n, dtype=bool)
    if sample_weight is not None:
        kept &= np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), kept.shape) > 0
    return kept


def are_copies(weight: Floats) -> bool:
    """Tell whether weights are whole numbers that can count as repetitions."""
    if weight.max() > MOST_COPIES or not (weight == np.floor(weight)).all():
        return False
    return bool(weight.sum() <= MOST_COPIES)


def counted_copies(sample_weight: object, n: int) -> NDArray[np.int64]:
    """How often each row counts: its weight if all are whole numbers, else once or not at all."""
    if sample_weight is None:
        return np.ones(n, dtype=np.int64)
    weight = checked_weights(sample_weight, n)
    return (weight if are_copies(weight) else weight > 0).astype(np.int64)


def extreme_exponent(values: Floats) -> int:
    """The binary exponent of the largest value, if squares of it might leave the range of floats.

    >>> extreme_exponent(np.array([3.0])), extreme_exponent(np.array([2.0**900]))
    (0, 901)
    """
    largest = float(np.abs(values).max())
    exponent = int(np.frexp(largest)[1])
    return exponent if largest > 0 and abs(exponent) > _MODERATE else 0


def weights_as_numbers(sample_weight: Any) -> Floats:
    """Weights as an array of floats, of any shape; an error says what is none."""
    if np.ma.isMaskedArray(sample_weight):
        raise TypeError(
            "sample_weight is a masked array, which is not supported: the mask would be ignored. "
            "Pass sample_weight.filled(0), so that masked rows count nothing."
        )
    if not isinstance(sample_weight, np.ndarray):
        sample_weight = read_array(sample_weight, "sample_weight")
    array = np.asarray(sample_weight)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported in sample_weight: weights are real numbers.")
    if array.dtype.kind in "mM":
        raise TypeError(
            f"sample_weight holds dates or durations ({array.dtype}); weights are numbers."
        )
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"sample_weight must hold a number for each row: {error}.") from error


def checked_weights(sample_weight: object, n: int) -> Floats:
    """One finite, non-negative number per row, not all zero."""
    weight = weights_as_numbers(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n},): one weight per row of X."
        )
    bad = np.flatnonzero(~np.isfinite(weight))
    if bad.size:
        raise ValueError(
            f"Input sample_weight contains NaN or infinity: row {bad[0]} has {weight[bad[0]]}. "
            "Weights must be finite; remove the row or give it weight 0."
        )
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: row {row} has {weight[row]}."
        )
    if not (weight > 0).any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all weights are zero, "
            "so there is no row to learn from."
        )
    return weight
