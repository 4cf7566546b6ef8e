"""Cross-validation folds and hold-out sets drawn by row content."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.errors import wrong_parameter
from weald.groups import groups_of_rows
from weald.resampling.content import Hashes, seed_of
from weald.resampling.draws import Purpose, hold_out, hold_out_groups
from weald.resampling.tables import hash_any_rows

Indices = NDArray[np.intp]


class ContentKFold:
    """K-fold splitter whose folds do not depend on the row order.

    Rows are assigned to folds by a seeded hash of their content. Rows that are equal in all columns
    and the target are numbered and may be in different folds, as with any splitter; for repeated
    measurements, pass `groups`, which keeps a group in one fold. Can be passed as `cv` to
    scikit-learn.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    stratify : bool, default=False
        Whether to preserve the class frequencies of y in every fold.
    random_state : int, default=0
        Seed of the assignment.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.resampling import ContentKFold
    >>> X = np.arange(6.0)[:, np.newaxis]
    >>> order = [5, 0, 3, 1, 4, 2]
    >>> tests = [set(X[test, 0]) for _, test in ContentKFold(3).split(X)]
    >>> tests == [set(X[order][test, 0]) for _, test in ContentKFold(3).split(X[order])]
    True
    """

    def __init__(self, n_splits: int = 5, *, stratify: bool = False, random_state: int = 0) -> None:
        self.n_splits = n_splits
        self.stratify = stratify
        self.random_state = random_state

    def __repr__(self) -> str:
        return (
            f"ContentKFold(n_splits={self.n_splits}, stratify={self.stratify}, "
            f"random_state={self.random_state})"
        )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, sample_weight: Any = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield training and test row indices of each fold.

        Parameters
        ----------
        X : table
            Array, data frame, or list of any objects.
        y : array, shape (rows,), or None
            Target: part of the row content, and the classes for `stratify`.
        groups : array, shape (rows,), or None
            Group labels; whole groups are assigned to folds.
        sample_weight : array, shape (rows,), or None
            Distinguishes equal rows, so that their order does not matter.
        """
        if not isinstance(self.n_splits, (int, np.integer)) or self.n_splits < 2:
            raise ValueError(
                wrong_parameter(self, "n_splits", "an int in the range [2, inf)", self.n_splits)
            )
        n_folds, seed = int(self.n_splits), seed_of(self.random_state)
        if groups is not None:
            read = groups_of_rows(groups, _n_rows(X))
            strata = np.zeros(read.n, dtype=np.int64)
            fold = deal_folds(read.keys, strata, n_folds, seed=seed, what="groups")[read.of_row]
        else:
            order, keys = _numbered(X, y, sample_weight)
            strata = np.zeros(len(keys), dtype=np.int64)
            if self.stratify and y is not None:
                strata = np.unique(np.asarray(y), return_inverse=True)[1].ravel()[order]
            fold = np.empty(len(keys), dtype=np.intp)
            fold[order] = deal_folds(keys, strata, n_folds, seed=seed)
        for number in range(int(self.n_splits)):
            test = np.flatnonzero(fold == number)
            yield np.flatnonzero(fold != number), test


def hold_out_rows(
    X: Any,
    y: Any,
    groups: Any,
    strata: NDArray[np.int64] | None,
    fraction: float,
    *,
    weight: NDArray[np.float64] | None,
    seed: int,
) -> NDArray[np.bool_]:
    """Mark about `fraction` of the rows of any table as held out, as `hold_out` does.

    At least one row of each stratum with two or more rows is held out. With groups, whole groups
    are held out and `strata` is ignored. `weight` distinguishes equal rows.
    """
    if groups is not None:
        return hold_out_groups(groups_of_rows(groups, _n_rows(X)), fraction, seed=seed)
    order, keys = _numbered(X, y, weight)
    held = np.empty(len(keys), dtype=bool)
    chosen = None if strata is None else strata[order]
    held[order] = hold_out(keys, chosen, fraction, seed=seed, at_least=1)
    return held


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _numbered(X: Any, y: Any, weight: Any) -> tuple[Indices, Hashes]:
    """Return the row order by content, and the key of each row."""
    labels = np.zeros(_n_rows(X)) if y is None else np.asarray(y)
    if labels.dtype.kind not in "biuf":
        labels = np.unique(labels, return_inverse=True)[1].ravel()
    hashes = hash_any_rows(X, labels.astype(np.float64), n_threads=1)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    order, keys = _native.numbered_rows(hashes, weight)
    return order, keys


def deal_folds(
    keys: Hashes,
    strata: NDArray[np.int64] | None,
    n_folds: int,
    *,
    seed: int,
    number: int = 0,
    what: str = "rows",
) -> Indices:
    """Assign keys to folds in turn, stratum by stratum, in random order.

    Parameters
    ----------
    keys : uint64 [keys, 2]
        Keys of rows or groups.
    strata : int64 [keys] or None
        Classes to be spread evenly over the folds.
    number : int
        Another number gives another assignment.
    what : str
        What the keys stand for, for an error.

    Examples
    --------
    >>> keys = np.arange(12, dtype=np.uint64).reshape(6, 2)
    >>> np.bincount(deal_folds(keys, None, 3, seed=0)).tolist()
    [2, 2, 2]
    """
    if len(keys) < n_folds:
        raise ValueError(
            f"n_splits={n_folds} requires at least as many {what}; got n_samples = {len(keys)}."
        )
    words = _native.draw(keys, seed, number, Purpose.FOLD)
    order = np.argsort(words, kind="stable") if strata is None else np.lexsort((words, strata))
    fold = np.empty(len(keys), dtype=np.intp)
    fold[order] = np.arange(len(keys)) % n_folds
    return fold
