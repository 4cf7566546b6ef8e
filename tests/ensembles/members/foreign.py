"""Base estimators for the tests of ensembles, some of them faulty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


def rows_of(X: Any) -> list[bytes]:
    return [np.asarray(row, dtype=np.float64).tobytes() for row in np.asarray(X)]


class Memory(ClassifierMixin, BaseEstimator):
    """Memorises its training rows and does not generalise."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        self.known_ = dict(zip(rows_of(X), y, strict=True))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        even = np.full(len(self.classes_), 1 / len(self.classes_))
        sure = dict(zip(self.classes_.tolist(), np.eye(len(self.classes_)), strict=True))
        return np.array([sure[self.known_[r]] if r in self.known_ else even for r in rows_of(X)])

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class MemoryRegressor(RegressorMixin, BaseEstimator):
    """The same for regression."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.known_ = dict(zip(rows_of(X), y, strict=True))
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.array([self.known_.get(row, self.mean_) for row in rows_of(X)])


class Counting(ClassifierMixin, BaseEstimator):
    """Predicts class frequencies; counts the fits of all its clones."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        Counting.fits += 1
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.shares_, (len(X), 1))

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class Awkward(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


class Failing(Counting):
    """Raises the given error, in every fit or only with fewer rows than `needs`."""

    def __init__(self, error: Any = ValueError, needs: int = 0) -> None:
        self.error = error
        self.needs = needs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if len(y) < self.needs or self.needs == 0:
            raise self.error("out ", "of luck") if self.error is Awkward else self.error("no luck")
        return super().fit(X, y)


class Odd(Counting):
    """Returns invalid predictions."""

    def __init__(self, way: str = "nan") -> None:
        self.way = way

    def predict_proba(self, X: Any) -> Any:
        honest = super().predict_proba(X)
        return {
            "nan": np.where(np.arange(len(honest))[:, np.newaxis] == 1, np.nan, honest),
            "infinite": honest * np.inf,
            "rows": honest[:-1],
            "columns": np.hstack([honest, honest]),
            "scalar": 0.5,
            "text": np.full(honest.shape, "yes"),
        }[self.way]
