"""k nearest neighbours by brute force, as arrays only."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

Floats = NDArray[np.float64]

_BLOCK_VALUES = 2**22


class _Neighbours(BaseEstimator):
    """Mean target of the nearest training rows, weighted by the inverse of their distance.

    scikit-learn's classes are not used because a model file may hold only what NumPy predicts.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours.
    """

    def __init__(self, n_neighbors: int = 15) -> None:
        self.n_neighbors = n_neighbors

    def _keep(self, X: Floats, targets: Floats, sample_weight: Any) -> None:
        self._X = np.ascontiguousarray(X, dtype=np.float64)
        self._squares = (self._X**2).sum(axis=1)
        self._targets = targets
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        self._weight = weight.astype(np.float64)
        self.n_features_in_ = int(X.shape[1])

    def _means(self, X: Floats) -> Floats:
        step = max(1, _BLOCK_VALUES // len(self._X))
        blocks = [self._of_block(X[at : at + step]) for at in range(0, len(X), step)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self._targets.shape[1]))

    def _of_block(self, X: Floats) -> Floats:
        n = min(self.n_neighbors, len(self._X))
        squares = self._squares - 2.0 * (X @ self._X.T) + (X**2).sum(axis=1)[:, np.newaxis]
        nearest = np.argpartition(squares, n - 1, axis=1)[:, :n]
        distance = np.sqrt(np.maximum(np.take_along_axis(squares, nearest, axis=1), 0.0))
        # A small offset bounds the weight of a row that is (almost) equal to a training row.
        offset = 0.1 * distance.mean(axis=1, keepdims=True) + 1e-12
        share = self._weight[nearest] / (distance + offset)
        share /= share.sum(axis=1, keepdims=True)
        means: Floats = np.einsum("rk,rko->ro", share, self._targets[nearest])
        return means


class NeighboursClassifier(ClassifierMixin, _Neighbours):
    """Class probabilities as shares of the nearest training rows.

    Examples
    --------
    >>> model = NeighboursClassifier(1).fit(np.array([[0.0], [1.0]]), np.array([0, 1]))
    >>> model.predict(np.array([[0.2], [0.9]])).tolist()
    [0, 1]
    """

    def fit(self, X: Floats, y: Any, sample_weight: Any = None) -> Self:
        """Keep the training rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._keep(X, np.eye(len(self.classes_))[codes.ravel()], sample_weight)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        return self._means(X)

    def predict(self, X: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self._means(X).argmax(axis=1)])


class NeighboursRegressor(RegressorMixin, _Neighbours):
    """Mean target of the nearest training rows.

    Examples
    --------
    >>> model = NeighboursRegressor(2).fit(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]))
    >>> model.predict(np.array([[0.5]])).tolist()
    [2.0]
    """

    def fit(self, X: Floats, y: Any, sample_weight: Any = None) -> Self:
        """Keep the training rows."""
        self._keep(X, np.asarray(y, dtype=np.float64)[:, np.newaxis], sample_weight)
        return self

    def predict(self, X: Floats) -> Floats:
        return self._means(X)[:, 0]
