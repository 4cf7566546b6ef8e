"""A regressor fitted on a target of mean 0 and standard deviation 1."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from weald.ensembles.members.routing import weight_keyword


class ScaledTarget(RegressorMixin, BaseEstimator):
    """Standardises the target, which networks need.

    Parameters
    ----------
    estimator : estimator
        The regressor.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.arange(4.0)[:, np.newaxis], np.arange(4.0) * 1e6
    >>> ScaledTarget(LinearRegression()).fit(X, y).predict(X[:2]).round().tolist()
    [0.0, 1000000.0]
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator on the scaled target."""
        exponent = int(np.frexp(np.abs(y).max())[1])  # extreme squares would overflow
        moderate = np.ldexp(y, -exponent)
        self.centre_ = float(np.ldexp(moderate.mean(), exponent))
        scale = float(moderate.std())
        self.scale_ = float(np.ldexp(scale, exponent)) if scale > 0 else 1.0
        params = {}
        if sample_weight is not None:
            params = {weight_keyword(self.estimator, "the estimator"): sample_weight}
        scaled = (y - self.centre_) / self.scale_
        self.estimator_ = clone(self.estimator).fit(X, scaled, **params)
        return self

    def predict(self, X: Any) -> Any:
        return self.estimator_.predict(X) * self.scale_ + self.centre_
