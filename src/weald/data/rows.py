"""Training rows: table, target and weights."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data.containers import read_array
from weald.data.sources import AnyTable, SparseTable, numbers_only
from weald.groups import Groups, groups_of_rows

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# Maximum sum of integer weights: leaves 26 bits for the integers they multiply in sums.
MOST_COPIES = 2**36

# Up to this binary exponent, sums, squares and products cannot overflow.
_MODERATE = 200


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with a target and weights.

    Every row counts once for `min_samples_leaf`, row fractions and sampling. In sums, a row has the
    weight `copies * weight * weight_unit`, where omitted factors are 1.

    `weight_unit` is a common factor of all weights, which makes fits invariant to their scale:
    equal weights are omitted, and sums of extreme weights do not overflow. Extreme targets are
    divided by 2**target_exponent for the same reason.

    `offset` are raw scores of shape (rows, scores), in the user's units, to which a model adds its
    own. They are part of the content of a row.

    `copies` are integer weights, which multiply the integers of exact sums, as if the row were
    repeated. The core then also counts the row that often, so that this form
    (`with_whole_weights`) is only for fits that do not count rows.

    The target `y` has the shape (rows,) or, for several outputs, (rows, outputs). For many rows,
    class codes may be stored as bytes; `target` is always float64.
    """

    table: AnyTable
    y: Floats | Bytes
    copies: NDArray[np.int64] | None = None
    weight: Floats | None = None
    weight_unit: float = 1.0
    target_exponent: int = 0
    groups: Groups | None = None  # rows that are sampled together; None: rows are independent
    offset: Floats | None = None

    @property
    def n(self) -> int:
        return int(self.table.shape[0])

    @property
    def target(self) -> Floats:
        """Target as float64; a new copy on each access if stored as bytes."""
        return self.y.astype(np.float64, copy=False)

    @property
    def n_outputs(self) -> int:
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def total_weight(self) -> Floats | None:
        """Weight of each row without `weight_unit`; None if all are equal."""
        if self.copies is None:
            return self.weight
        copies = self.copies.astype(np.float64)
        return copies if self.weight is None else copies * self.weight

    def take(self, index: NDArray[np.intp]) -> "Rows":
        """Select rows by index."""
        return replace(
            self,
            table=self.table[index],
            y=self.y[index],
            copies=None if self.copies is None else self.copies[index],
            weight=None if self.weight is None else self.weight[index],
            groups=None if self.groups is None else self.groups.take(index),
            offset=None if self.offset is None else self.offset[index],
        )

    def weighted(self, sample_weight: object) -> "Rows":
        """Set the weights; rows of weight zero are dropped.

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
        if (weight == weight[0]).all():
            return replace(self, weight_unit=float(weight[0]))
        weight, unit = moderate_weights(weight)
        return replace(self, weight=weight, weight_unit=unit)

    def in_groups(self, groups: Any, kept: NDArray[np.bool_]) -> "Rows":
        """Set the groups, given for all rows of the fit; `kept` masks the rows in this object."""
        if groups is None:
            return self
        read = groups_of_rows(groups, len(kept))
        return replace(self, groups=read.take(np.flatnonzero(kept)))

    def with_whole_weights(self) -> "Rows":
        """Convert weights to integers if they are multiples of a common power of two.

        For fits that do not count rows: a row of weight 3 is then exactly equivalent to three
        copies of the row.
        """
        if self.weight is None or self.copies is not None:
            return self
        found = whole_multiples(self.weight)
        if found is None:
            return self
        copies, unit = found
        return replace(self, copies=copies, weight=None, weight_unit=self.weight_unit * unit)

    def of_numbers(self, who: str) -> "Rows":
        """Convert the table to one float array; raise TypeError if it has categories."""
        return replace(self, table=numbers_only(self.table, who))

    def hashes(self, n_threads: int) -> NDArray[np.uint64]:
        """Return a 128-bit hash of each row's content, independent of the container."""
        if self.offset is not None:
            hashes = replace(self, offset=None).hashes(n_threads)
            _native.hash_more(np.ascontiguousarray(self.offset), hashes, n_threads)
            return hashes
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

    def words(self, n_threads: int) -> NDArray[np.uint64]:
        """Return a word of each row's values, independent of the container.

        Weaker than the hashes, but of a sparse table in time proportional to what it stores.
        """
        words = np.zeros(self.n, dtype=np.uint64)
        if isinstance(self.table, SparseTable):
            _native.add_sparse_words(*self.table.entries(), words)
        elif isinstance(self.table, np.ndarray):
            _native.add_words(self.table, 0, words, n_threads)
        else:
            for first, columns in self.table.batches():
                _native.add_words(columns, first, words, n_threads)
        return words

    def without_target(self) -> "Rows":
        """Set the target to zero, so that hashes depend on the columns only."""
        return replace(self, y=np.zeros(self.n))

    def with_moderate_target(self, beside: Floats | None = None) -> "Rows":
        """Divide an extreme target by a power of two, also if numbers `beside` it are extreme."""
        values = self.target if beside is None else np.append(self.target, beside)
        exponent = extreme_exponent(values)
        if exponent == 0:
            return self
        target = np.ldexp(self.target, -exponent)
        return replace(self, y=target, target_exponent=exponent)


def rows_of_weight(y: object, sample_weight: object) -> NDArray[np.bool_]:
    """Return the mask of rows with positive weight; `y` must have been checked.

    >>> rows_of_weight([1, 2, 3], [0.5, 0.0, 2.0]).tolist()
    [True, False, True]
    """
    n = len(y) if hasattr(y, "__len__") else len(np.asarray(y))
    kept = np.ones(n, dtype=bool)
    if sample_weight is not None:
        kept &= np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), kept.shape) > 0
    return kept


def whole_multiples(weight: Floats) -> tuple[NDArray[np.int64], float] | None:
    """Express weights as integer multiples of the largest power of two that divides them all.

    None if the sum of the integers would be too large for exact sums. Weights of 0 stay 0.

    >>> copies, unit = whole_multiples(np.array([0.5, 1.5]))
    >>> copies.tolist(), unit
    ([1, 3], 0.5)
    """
    unit = unit_exponent(weight[weight > 0])
    with np.errstate(over="ignore"):
        whole = np.ldexp(weight, -unit)
    if not whole.sum() <= MOST_COPIES:
        return None
    return whole.astype(np.int64), 2.0**unit


def unit_exponent(weight: Floats) -> int:
    """The exponent of the largest power of two that divides all weights, which are positive.

    >>> unit_exponent(np.array([0.5, 1.5])), unit_exponent(np.array([12.0]))
    (-1, 2)
    """
    mantissa, exponent = np.frexp(weight)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    trailing = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return int((exponent - 53 + trailing).min())


def effective_rows(weight: Floats | None, n_rows: int) -> float:
    """Effective sample size: (Σw)² / Σw².

    >>> effective_rows(np.array([2.0, 2.0]), 2), effective_rows(np.array([1.0, 0.0]), 2)
    (2.0, 1.0)
    """
    if weight is None:
        return float(n_rows)
    scaled = weight / weight.max()
    return math.fsum(scaled) ** 2 / math.fsum(scaled * scaled)


def extreme_exponent(values: Floats) -> int:
    """Return the binary exponent of the largest value if its square could overflow, else 0.

    >>> extreme_exponent(np.array([3.0])), extreme_exponent(np.array([2.0**900]))
    (0, 901)
    """
    largest = float(np.abs(values).max())
    exponent = int(np.frexp(largest)[1])
    return exponent if largest > 0 and abs(exponent) > _MODERATE else 0


def moderate_weights(weight: Floats) -> tuple[Floats, float]:
    """Divide extreme weights by a power of two, and return them with that power."""
    exponent = extreme_exponent(weight)
    if exponent == 0:
        return weight, 1.0
    return np.ldexp(weight, 1 - exponent), 2.0 ** (exponent - 1)


def weights_as_numbers(sample_weight: Any) -> Floats:
    """Convert weights to a float array of any shape, or raise TypeError or ValueError."""
    return as_numbers(sample_weight, "sample_weight", "weight")


def as_numbers(values: Any, name: str, what: str) -> Floats:
    """Convert an argument of `fit` that holds numbers to a float array of any shape.

    Parameters
    ----------
    name, what
        Name of the argument, and what one of its numbers is called.

    Examples
    --------
    >>> as_numbers(["a"], "offset", "offset")
    Traceback (most recent call last):
    ValueError: offset must hold a number for each row: could not convert string to float: ...
    """
    if np.ma.isMaskedArray(values):
        raise TypeError(
            f"{name} is a masked array, which is not supported: the mask would be ignored. "
            f"Pass {name}.filled(0), so that masked rows have no {what}."
        )
    if not isinstance(values, np.ndarray):
        values = read_array(values, name)
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported in {name}: {what}s must be real numbers.")
    if array.dtype.kind in "mM":
        raise TypeError(
            f"{name} holds dates or durations ({array.dtype}); {what}s must be numbers."
        )
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must hold a number for each row: {error}.") from error


def checked_weights(sample_weight: object, n: int, *, table: str = "X") -> Floats:
    """Return one finite, non-negative weight per row, not all zero, or raise ValueError."""
    weight = weights_of_some(sample_weight, n, table=table)
    refuse_no_weight(weight.max(initial=0.0), table=table)
    return weight


def refuse_no_weight(largest: float, *, table: str = "X") -> None:
    """Raise if all weights are zero."""
    if largest == 0.0:
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all weights are zero"
            f"{', so there is no row to train on' if table == 'X' else ''}."
        )


def weights_of_some(sample_weight: object, n: int, *, table: str = "X") -> Floats:
    """Return one finite, non-negative weight for each of some rows, or raise ValueError."""
    weight = weights_as_numbers(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n},): one weight per row of "
            f"{table}."
        )
    bad = np.flatnonzero(~np.isfinite(weight))
    if bad.size:
        raise ValueError(
            f"Input sample_weight contains NaN or infinity: row {bad[0]} has {weight[bad[0]]}. "
            "Weights must be finite; remove the row or set its weight to 0."
        )
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: row {row} has {weight[row]}."
        )
    return weight
