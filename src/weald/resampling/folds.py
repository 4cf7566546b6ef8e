"""Folds drawn by what the rows hold."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.errors import wrong_parameter
from weald.resampling.content import Hashes, seed_of
from weald.resampling.draws import Purpose, hold_out
from weald.resampling.tables import hash_any_rows

Indices = NDArray[np.intp]


class ContentKFold:
    """K folds for cross-validation that do not depend on the order of the rows.

    Rows are dealt out in the order of a hash of their content, keyed by the seed; equal rows fall
    into the same fold, so that a repetition is never its own test. It can be given as `cv` wherever
    scikit-learn takes a splitter.

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

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Give the rows to train on and to test on, fold after fold.

        Parameters
        ----------
        X : table
            Numbers, a frame, or a list of anything.
        y : array, shape (rows,), or None
            The target: part of the content, and what `stratify` goes by.
        groups : array, shape (rows,), or None
            Rows of one group stay together; then only groups are drawn.
        """
        if not isinstance(self.n_splits, (int, np.integer)) or self.n_splits < 2:
            raise ValueError(
                wrong_parameter(self, "n_splits", "an int in the range [2, inf)", self.n_splits)
            )
        hashes, place = _distinct(_hashes(X, y, groups))
        strata = np.zeros(len(hashes), dtype=np.int64)
        if self.stratify and groups is None and y is not None:
            # Equal rows have equal targets: the last of each set speaks for all.
            strata[place] = np.unique(np.asarray(y), return_inverse=True)[1]
        fold = _dealt(hashes, strata, int(self.n_splits), seed_of(self.random_state))[place]
        for number in range(int(self.n_splits)):
            test = np.flatnonzero(fold == number)
            yield np.flatnonzero(fold != number), test


def hold_out_rows(
    X: Any, y: Any, groups: Any, strata: NDArray[np.int64] | None, fraction: float, *, seed: int
) -> NDArray[np.bool_]:
    """Mark about `fraction` of the rows of any table as held out, as `hold_out` does.

    Of a stratum of two different rows or more at least one is held out. With groups whole groups
    are held out, and `strata` are not looked at.
    """
    hashes, place = _distinct(_hashes(X, y, groups))
    chosen = None
    if groups is None and strata is not None:
        chosen = np.zeros(len(hashes), dtype=np.int64)
        chosen[place] = strata
    return hold_out(hashes, chosen, fraction, seed=seed, at_least=1)[place]


def _hashes(X: Any, y: Any, groups: Any) -> Hashes:
    if groups is not None:
        labels = np.asarray(groups)
        return hash_any_rows(labels.tolist(), np.zeros(len(labels)), n_threads=1)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = np.zeros(n_rows) if y is None else np.asarray(y)
    if labels.dtype.kind not in "biuf":
        labels = np.unique(labels, return_inverse=True)[1]
    return hash_any_rows(X, labels.astype(np.float64), n_threads=1)


def _distinct(hashes: Hashes) -> tuple[Hashes, Indices]:
    """The different hashes, sorted, and which of them each row has."""
    different, place = np.unique(hashes, axis=0, return_inverse=True)
    return different, place.ravel()


def _dealt(hashes: Hashes, strata: NDArray[np.int64], n_folds: int, seed: int) -> Indices:
    """The fold of each hash: dealt out in turn, stratum after stratum, in the order of draws."""
    if len(hashes) < n_folds:
        raise ValueError(
            f"n_splits={n_folds} folds need as many different rows (or groups); of those "
            f"there are only n_samples = {len(hashes)}."
        )
    words = _native.draw(hashes, seed, 0, Purpose.FOLD)
    order = np.lexsort((words, strata))
    fold = np.empty(len(hashes), dtype=np.intp)
    fold[order] = np.arange(len(hashes)) % n_folds
    return fold
