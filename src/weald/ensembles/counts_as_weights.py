"""Detect tables of distinct rows weighted by counts, for which held-out estimates are biased."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from weald.advice import advise
from weald.groups import Groups

# A table counts as compressed if at least this many equal rows are expected and none is found.
_MISSING = 10

# Below this share of rows with the same columns as another row, estimates are hardly affected.
_WORTH_A_WARNING = 0.05

_MESSAGE = (
    "The table looks like distinct rows with their counts as sample_weight: many rows share their "
    "columns with another row, and no two rows are equal. A row that is left out or held out then "
    "leaves with all its copies, so that out-of-bag and validation estimates are far too bad. If "
    "the weights are counts, repeat the rows: X = np.repeat(X, counts, axis=0), y = np.repeat(y, "
    "counts). If they are not, ignore this warning."
)


class Weighted(Protocol):
    """Weighted rows, such as `weald.data.Rows`."""

    def hashes(self, n_threads: int) -> NDArray[np.uint64]: ...
    def without_target(self) -> "Weighted": ...
    @property
    def target(self) -> NDArray[np.float64]: ...
    @property
    def total_weight(self) -> NDArray[np.float64] | None: ...
    @property
    def groups(self) -> Groups | None: ...


def warn_of_counts(rows: Weighted, n_threads: int) -> None:
    """Warn if the rows look like distinct rows whose weights are their counts.

    For fits with out-of-bag estimates or early stopping. If a table is compressed to its distinct
    rows, a held-out row is held out with all its copies, and the remaining rows with the same
    columns have another target: the estimate is far too pessimistic.
    """
    weight = rows.total_weight
    if weight is None or (weight == weight[0]).all():
        return
    if rows.groups is not None or rows.target.ndim > 1:
        return
    inputs = rows.without_target().hashes(n_threads)
    if is_compressed(rows.hashes(n_threads), inputs, rows.target):
        advise(_MESSAGE)


def is_compressed(
    rows: NDArray[np.uint64], inputs: NDArray[np.uint64], target: NDArray[np.float64]
) -> bool:
    """Whether no two rows are equal although some duplicates are expected by chance.

    If the target does not depend on the columns, two rows with the same columns have the same
    target with probability Σp² (p: the frequency of each target value); otherwise with a higher
    one. If ten or more such pairs are expected and there is none, equal rows have been merged.

    Parameters
    ----------
    rows, inputs : uint64 [rows, 2]
        Hashes of each row, with and without its target.
    target : float64 [rows]
        Class indices or regression targets.

    Examples
    --------
    >>> x = np.repeat(np.arange(30), 2)  # every x twice, once with each class
    >>> y = np.tile([0.0, 1.0], 30)
    >>> is_compressed(np.stack([x, y], 1).astype(np.uint64), np.stack([x, x], 1), y)
    True
    """
    n = len(target)
    n_sharing = n - _n_distinct(inputs)
    if n_sharing < _WORTH_A_WARNING * n or _n_distinct(rows) < n:
        return False
    ordered = np.sort(target)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    share = np.diff(np.append(first, n)) / n
    return bool(n_sharing * (share @ share) >= _MISSING)


def _n_distinct(hashes: NDArray[np.uint64]) -> int:
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    return 1 + int((ordered[1:] != ordered[:-1]).any(axis=1).sum())
