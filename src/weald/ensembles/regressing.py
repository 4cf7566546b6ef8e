"""Base class of regressors: R² that does not depend on the scale of the target."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from weald.data import extreme_exponent


class Regressor(RegressorMixin):
    """scikit-learn's mixin, with an R² that does not overflow for extreme targets."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared: the share of the variance of y that the predictions explain.

        Parameters
        ----------
        X : table
            As for `predict`.
        y : array, shape (rows,) or (rows, outputs)
            True target values.
        sample_weight : array, shape (rows,), or None
            Sample weights.
        """
        return r_squared(y, self.predict(X), sample_weight)


def r_squared(y: Any, predictions: Any, sample_weight: Any = None) -> float:
    """R squared as in scikit-learn, also where squared errors would overflow or underflow.

    >>> y = np.array([1.0, 2.0, 4.0])
    >>> r_squared(y, y + 0.5) == r_squared(y * 2.0**-800, (y + 0.5) * 2.0**-800)
    True
    """
    from sklearn.metrics import r2_score

    try:
        target = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        target = np.zeros(0)  # r2_score raises the error
    exponent = extreme_exponent(target) if target.size and np.isfinite(target).all() else 0
    if exponent:
        y, predictions = np.ldexp(target, -exponent), np.ldexp(predictions, -exponent)
    return float(r2_score(y, predictions, sample_weight=sample_weight))
