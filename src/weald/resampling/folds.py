"""Folds drawn by what the rows hold."""

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
    """K folds for cross-validation that do not depend on the order of the rows.

    Rows are dealt out in the order of a hash of their content, keyed by the seed. Rows that are
    equal in all columns and the target are numbered and dealt out like any others, as every
    splitter does; if they are repeated measurements of one thing, pass `groups`, which keeps the
    rows of a group in one fold. It can be given as `cv` wherever scikit-learn takes a splitter.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    stratify : bool, default=False
        Deal out every class of y by itself, so that folds hold about equal shares of it.
    random_state : int, default=0
        Keys the draw.

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
        """Give the rows to train on and to test on, fold after fold.

        Parameters
        ----------
        X : table
            Numbers, a frame, or a list of anything.
        y : array, shape (rows,), or None
            The target: part of the content, and what `stratify` goes by.
        groups : array, shape (rows,), or None
            Rows of one group stay together; then only groups are drawn.
        sample_weight : array, shape (rows,), or None
            Tells copies of a row apart, so that their order does not matter.
        """
        if not isinstance(self.n_splits, (int, np.integer)) or self.n_splits < 2:
            raise ValueError(
                wrong_parameter(self, "n_splits", "an int in the range [2, inf)", self.n_splits)
            )
        n_folds, seed = int(self.n_splits), seed_of(self.random_state)
        if groups is not None:
            read = groups_of_rows(groups, _n_rows(X))
            strata = np.zeros(read.n, dtype=np.int64)
            _require_rows(read.n, n_folds, "groups")
            fold = deal_folds(read.keys, strata, n_folds, seed=seed)[read.of_row]
        else:
            order, keys = _numbered(X, y, sample_weight)
            strata = np.zeros(len(keys), dtype=np.int64)
            if self.stratify and y is not None:
                strata = np.unique(np.asarray(y), return_inverse=True)[1].ravel()[order]
            fold = np.empty(len(keys), dtype=np.intp)
            _require_rows(len(keys), n_folds, "rows")
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

    Of a stratum of two rows or more at least one is held out. With groups whole groups are held
    out, and `strata` are not looked at. `weight` tells copies of a row apart.
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
    """The rows in the order of their content, and the key of each."""
    labels = np.zeros(_n_rows(X)) if y is None else np.asarray(y)
    if labels.dtype.kind not in "biuf":
        labels = np.unique(labels, return_inverse=True)[1].ravel()
    hashes = hash_any_rows(X, labels.astype(np.float64), n_threads=1)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    order, keys = _native.numbered_rows(hashes, weight)
    return order, keys


def _require_rows(n: int, n_folds: int, what: str) -> None:
    if n < n_folds:
        raise ValueError(
            f"n_splits={n_folds} folds need as many {what}; got n_samples = {n} of them."
        )


def deal_folds(
    keys: Hashes, strata: NDArray[np.int64] | None, n_folds: int, *, seed: int, number: int = 0
) -> Indices:
    """The fold of each key: dealt out in turn, stratum after stratum, in the order of draws.

    Another `number` deals otherwise.

    >>> keys = np.arange(12, dtype=np.uint64).reshape(6, 2)
    >>> np.bincount(deal_folds(keys, None, 3, seed=0)).tolist()
    [2, 2, 2]
    """
    words = _native.draw(keys, seed, number, Purpose.FOLD)
    order = np.argsort(words, kind="stable") if strata is None else np.lexsort((words, strata))
    fold = np.empty(len(keys), dtype=np.intp)
    fold[order] = np.arange(len(keys)) % n_folds
    return fold
