"""Correlation of the errors of base estimators, and the gain of averaging that follows from it."""

import math
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from weald.theory.arguments import Floats, counts, finite_target, numbers, plain, target_of
from weald.theory.results import Report, lines, read_only
from weald.theory.scoring import aligned

# Relative tolerance: rounding may put c slightly above v.
_SLACK = 1e-9


def correlated_error(v: Any, c: Any, K: Any) -> Any:
    """Expected squared error of the mean of K estimators: v/K + (K - 1)c/K.

    Assumes that the errors ε of all estimators have the same mean square v = E[ε_k²] and mean
    product c = E[ε_k ε_l]. With c = v (identical errors) averaging gains nothing, with c = 0 it
    divides the error by K; in general the error decreases towards c. v and c are uncentred: both
    include the shared bias and the noise of y.

    Parameters
    ----------
    v : float or array
        Mean squared error of one estimator; at least 0.
    c : float or array
        Mean product of the errors of two estimators, between -v/(K - 1) and v.
    K : int or array of int
        Number of estimators.

    Returns
    -------
    float or array
        Expected squared error; an array if any argument is one.

    See Also
    --------
    error_correlation : v and c of a fitted ensemble.

    Examples
    --------
    >>> from weald.theory import correlated_error
    >>> correlated_error(1.0, 0.2, 10)
    0.28
    >>> correlated_error(1.0, 0.0, [1, 2, 4])
    array([1.  , 0.5 , 0.25])
    """
    function = "correlated_error"
    square = numbers(function, "v", v, least=0.0, most=math.inf)
    product = numbers(function, "c", c, least=-math.inf, most=math.inf)
    n_estimators = counts(function, "K", K)
    slack = _SLACK * square
    if (product > square + slack).any():
        raise ValueError(
            f"The 'c' parameter of {function} must be at most v (Cauchy-Schwarz). "
            f"Got v={v!r} and c={c!r}."
        )
    if (square + (n_estimators - 1) * product < -slack * n_estimators).any():
        raise ValueError(
            f"The 'c' parameter of {function} must be at least -v/(K - 1), the lowest possible "
            f"value for K estimators. Got v={v!r}, c={c!r} and K={K!r}."
        )
    return plain(square / n_estimators + (n_estimators - 1) / n_estimators * product)


@dataclass(frozen=True, eq=False)
class ErrorCorrelation(Report):
    """Result of `error_correlation`.

    Attributes
    ----------
    v, c : float
        Mean squared error of one base estimator, and mean product of the errors of two.
    rho : float
        c / v (NaN if v is 0): the share of the error that averaging cannot remove.
    v_error, c_error : float
        Standard errors over the rows, conditional on the ensemble.
    n_members, n_rows : int
        Number of base estimators, and of rows that are out of bag for at least two of them.
    n_unscored : int
        Number of the other rows, which are not used.
    row_v, row_c : array of shape (rows,)
        v and c of each row; NaN for rows that are not used.
    """

    v: float
    c: float
    rho: float
    v_error: float
    c_error: float
    n_members: int
    n_rows: int
    n_unscored: int
    row_v: Floats = field(repr=False)
    row_c: Floats = field(repr=False)

    def error(self, K: Any) -> Any:
        """Expected squared error of the mean of K estimators: `correlated_error(v, c, K)`."""
        return correlated_error(self.v, self.c, K)

    def __str__(self) -> str:
        title = f"out-of-bag errors of {self.n_members} base estimators on {self.n_rows} rows" + (
            f" ({self.n_unscored} rows not used)" if self.n_unscored else ""
        )
        entries = [
            ("", "v, one estimator", self.v, self.v_error),
            ("", "c, two estimators", self.c, self.c_error),
            ("", "rho = c / v", self.rho, None),
            ("", f"mean of {self.n_members}", self.error(self.n_members), None),
        ]
        return lines(title, entries, "c includes the noise of y, which all estimators share.")


def error_correlation_from_members(predictions: Any, in_bag: Any, y: Any) -> ErrorCorrelation:
    """Compute v, c and ρ from predictions and in-bag counts of base estimators.

    `error_correlation` takes both from a fitted ensemble.

    Parameters
    ----------
    predictions : array, shape (estimators, rows) or (estimators, rows, outputs)
        Predictions of every base estimator for every row; only out-of-bag entries are read. With
        several outputs (class probabilities), squares and products are summed over them.
    in_bag : array, shape (estimators, rows)
        How often each row is in each estimator's training sample.
    y : array, shape (rows,) or (rows, outputs)
        Numeric target.

    Returns
    -------
    ErrorCorrelation

    Examples
    --------
    >>> import numpy as np
    >>> from weald.theory import error_correlation_from_members
    >>> predictions = np.array([[1.0, 3.0], [3.0, 1.0]])
    >>> found = error_correlation_from_members(predictions, np.zeros((2, 2)), [0.0, 0.0])
    >>> found.v, found.c, found.rho
    (5.0, 3.0, 0.6)
    """
    seen = np.asarray(in_bag)
    predictions = np.asarray(predictions, dtype=np.float64)
    if seen.ndim != 2 or predictions.shape[:2] != seen.shape or predictions.ndim not in (2, 3):
        raise ValueError(
            "predictions must have the shape (estimators, rows) or (estimators, rows, outputs) "
            f"and in_bag (estimators, rows); got {predictions.shape} and {seen.shape}."
        )
    target = np.asarray(y, dtype=np.float64)
    if target.shape != predictions.shape[1:]:
        raise ValueError(
            f"y must have the shape {predictions.shape[1:]}, as the predictions of one "
            f"estimator; got {target.shape}."
        )
    is_out = seen == 0
    n_rows = seen.shape[1]
    errors = np.where(
        is_out.reshape(*seen.shape, *[1] * (predictions.ndim - 2)), predictions - target, 0.0
    )
    if not np.isfinite(errors).all():
        estimator, row = np.argwhere(~np.isfinite(errors))[0][:2]
        raise ValueError(
            f"predictions and y must be finite: row {row} is not, in y or for estimator "
            f"{estimator}."
        )
    errors = errors.reshape(len(seen), n_rows, -1)
    return _from_row_sums(
        squares=(errors**2).sum(axis=(0, 2)),
        sums=(errors.sum(axis=0) ** 2).sum(axis=1),
        n_out=is_out.sum(axis=0),
        n_members=len(seen),
    )


def _from_row_sums(
    squares: Floats, sums: Floats, n_out: NDArray[Any], n_members: int
) -> ErrorCorrelation:
    """Compute v and c from Σε² and (Σε)² of each row: (Σε)² - Σε² = Σ ε_k ε_l over k ≠ l."""
    is_scored = n_out >= 2
    if not is_scored.any():
        raise ValueError(
            "No row is out of bag for two base estimators. The ensemble must subsample rows "
            "(bootstrap=True or max_samples < 1), and have enough base estimators."
        )
    m = np.where(is_scored, n_out, np.nan)
    row_v, row_c = squares / m, (sums - squares) / (m * (m - 1))
    n_rows = int(is_scored.sum())
    v, c = float(np.nanmean(row_v)), float(np.nanmean(row_c))
    spread = [float(np.nanstd(row, ddof=1)) if n_rows > 1 else math.nan for row in (row_v, row_c)]
    return ErrorCorrelation(
        v=v,
        c=c,
        rho=c / v if v > 0 else math.nan,
        v_error=spread[0] / math.sqrt(n_rows),
        c_error=spread[1] / math.sqrt(n_rows),
        n_members=n_members,
        n_rows=n_rows,
        n_unscored=len(n_out) - n_rows,
        row_v=read_only(row_v),
        row_c=read_only(row_c),
    )


def error_correlation(ensemble: Any, X: Any, y: Any) -> ErrorCorrelation:
    """Estimate v, c and ρ of `correlated_error` from out-of-bag predictions of base estimators.

    For every row, the mean squared error of the base estimators that were not trained on it
    estimates v, and the mean product of errors over all pairs of them estimates c; both are
    averaged over the rows. `v/K + (K - 1)c/K` then predicts the squared error on new rows of an
    ensemble of K such estimators.

    c includes the noise of y and the bias common to all estimators: ρ near 1 means that estimators
    are similar, or that y is mostly noise. Classifiers are evaluated by the squared error of their
    probabilities (Brier score, summed over classes), or of their votes if they have no
    `predict_proba`.

    Parameters
    ----------
    ensemble : fitted ensemble
        Object with `estimators_` and `estimators_samples_`: scikit-learn's `Bagging*`,
        `RandomForest*` and `ExtraTrees*` with row subsampling.
    X : table, shape (rows, columns)
        The training rows, in the same order.
    y : array, shape (rows,)
        The training target.

    Returns
    -------
    ErrorCorrelation
        `v`, `c`, `rho`, their standard errors, and `error(K)`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import BaggingRegressor
    >>> from weald import DecisionTreeRegressor
    >>> from weald.theory import error_correlation
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bag = BaggingRegressor(DecisionTreeRegressor(), n_estimators=50, random_state=0).fit(X, y)
    >>> found = error_correlation(bag, X, y)
    >>> 0.4 < found.rho < 0.7
    True
    >>> found.error(1) > found.error(50) > found.error(1000) > found.c
    True
    """
    for attribute in ("estimators_", "estimators_samples_"):
        if not hasattr(ensemble, attribute):
            check_is_fitted(ensemble)
            raise TypeError(
                f"{type(ensemble).__name__} has no '{attribute}', which this function needs. Use "
                "weald.theory.error_correlation_from_members for arrays of predictions."
            )
    target = target_of(X, y)
    samples = list(ensemble.estimators_samples_)
    in_bag = np.array([in_bag_counts(drawn, len(target)) for drawn in samples])
    if is_classifier(ensemble):
        classes = np.asarray(ensemble.classes_)
        predictions = base_probabilities(ensemble, X, classes)
        goal = np.asarray(target[:, np.newaxis] == classes, dtype=np.float64)
        return error_correlation_from_members(predictions, in_bag, goal)
    predictions = np.array([model.predict(part) for model, part in base_tables(ensemble, X)])
    return error_correlation_from_members(predictions, in_bag, finite_target(target))


def in_bag_counts(drawn: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    """How often each row was drawn, given the indices of the rows drawn."""
    counted = np.bincount(drawn, minlength=n_rows)
    if len(counted) > n_rows:
        raise ValueError(
            f"X must hold the training rows of the ensemble: it has {n_rows} rows, but a base "
            f"estimator was trained on row {len(counted) - 1}."
        )
    return counted


def base_tables(ensemble: Any, X: Any) -> list[tuple[Any, Any]]:
    """Return each base estimator with its columns of X, in the form it was trained on."""
    columns = getattr(ensemble, "estimators_features_", None)
    # scikit-learn's ensembles fit their base estimators on arrays, without column names.
    matrix = X if hasattr(X, "tocsr") else np.asarray(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    found = []
    for i, estimator in enumerate(ensemble.estimators_):
        own = None if columns is None else columns[i]
        names = getattr(estimator, "feature_names_in_", None)
        if names is None or not isinstance(frame, nw.DataFrame):
            found.append((estimator, matrix if own is None else matrix[:, own]))
        else:
            found.append((estimator, X if own is None else _named(frame, own, names)))
    return found


def _named(frame: "nw.DataFrame[Any]", columns: NDArray[Any], names: NDArray[Any]) -> Any:
    """Select columns, possibly repeated, and rename them to the estimator's feature names."""
    own = [frame[:, int(i)].alias(str(name)) for i, name in zip(columns, names, strict=True)]
    return frame.select(*own).to_native()


def base_probabilities(ensemble: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Return class probabilities of each base estimator; votes if it has no `predict_proba`."""
    known = {label for model in ensemble.estimators_ for label in np.asarray(model.classes_)}
    # scikit-learn fits base estimators on encoded classes; others may use the labels themselves.
    names = classes if known <= set(classes) else np.arange(len(classes))
    predictions = []
    for model, part in base_tables(ensemble, X):
        if hasattr(model, "predict_proba"):
            predictions.append(aligned(model.predict_proba(part), model.classes_, names))
        else:
            predictions.append(np.asarray(model.predict(part)[:, np.newaxis] == names, dtype=float))
    return np.array(predictions)
