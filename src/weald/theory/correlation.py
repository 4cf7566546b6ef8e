"""How far the errors of members go together, and what averaging them can therefore win."""

import math
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from weald.theory.arguments import Floats, counts, finite_target, numbers, plain, target_of
from weald.theory.judging import aligned
from weald.theory.results import Report, lines, read_only

# A covariance equal to the variance may come out larger by rounding.
_SLACK = 1e-9


def correlated_error(v: Any, c: Any, K: Any) -> Any:
    """Expected squared error of the mean of K members: v/K + (K - 1)c/K.

    Holds for members whose errors ε all have the same mean square v = E[ε_k²] and the same mean
    product c = E[ε_k ε_l]. With c = v (all err alike) averaging wins nothing, with c = 0 it divides
    the error by K; in between the error falls towards c and never below. v and c are taken about
    zero, not about a mean: the bias that members share and the noise of y sit in both.

    Parameters
    ----------
    v : float or array
        Mean squared error of one member; at least 0.
    c : float or array
        Mean product of the errors of two members; at most v, and at least -v/(K - 1).
    K : int or array of int
        Number of members.

    Returns
    -------
    float or array
        The expected squared error; an array if one was given.

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
    me = "correlated_error"
    square = numbers(me, "v", v, least=0.0, most=math.inf)
    product = numbers(me, "c", c, least=-math.inf, most=math.inf)
    members = counts(me, "K", K)
    slack = _SLACK * square
    if (product > square + slack).any():
        raise ValueError(
            f"The 'c' parameter of {me} must be at most v: no two errors go together more than "
            f"each with itself. Got v={v!r} and c={c!r}."
        )
    if (square + (members - 1) * product < -slack * members).any():
        raise ValueError(
            f"The 'c' parameter of {me} must be at least -v/(K - 1): so many errors cannot all go "
            f"against each other so much. Got v={v!r}, c={c!r} and K={K!r}."
        )
    return plain(square / members + (members - 1) / members * product)


@dataclass(frozen=True, eq=False)
class ErrorCorrelation(Report):
    """What `error_correlation` found.

    Attributes
    ----------
    v, c : float
        Mean squared error of one member, and mean product of the errors of two.
    rho : float
        c / v (NaN if v is 0): the share of a member's error that averaging cannot remove.
    v_error, c_error : float
        Standard errors over the rows, the ensemble being given.
    n_members, n_rows : int
        Members, and rows with at least two members that did not see them.
    n_unscored : int
        Rows with fewer, which are left out.
    row_v, row_c : array, one entry a row
        v and c of each row; NaN where it is left out.
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
        """Squared error to expect of the mean of K such members: `correlated_error(v, c, K)`."""
        return correlated_error(self.v, self.c, K)

    def __str__(self) -> str:
        title = (
            f"errors of {self.n_members} members on {self.n_rows} rows that they did not see"
            + (f" ({self.n_unscored} rows left out)" if self.n_unscored else "")
        )
        entries = [
            ("", "v, one member", self.v, self.v_error),
            ("", "c, two members", self.c, self.c_error),
            ("", "rho = c / v", self.rho, None),
            ("", f"mean of {self.n_members}", self.error(self.n_members), None),
        ]
        return lines(title, entries, "c holds the noise of y, which all members share.")


def error_correlation_from_members(predictions: Any, in_bag: Any, y: Any) -> ErrorCorrelation:
    """v, c and ρ from the answers of members and a record of what each has seen.

    See `error_correlation`, which asks a fitted ensemble for these arrays.

    Parameters
    ----------
    predictions : array, shape (members, rows) or (members, rows, outputs)
        Answer of every member for every row; only those for rows it did not see are read. With
        several outputs (class probabilities) the squares and products are summed over them.
    in_bag : array, shape (members, rows)
        How often each member saw each row; 0 means that it did not.
    y : array, shape (rows,) or (rows, outputs)
        The target, as numbers.

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
    answers = np.asarray(predictions, dtype=np.float64)
    if seen.ndim != 2 or answers.shape[:2] != seen.shape or answers.ndim not in (2, 3):
        raise ValueError(
            "predictions must have the shape (members, rows) or (members, rows, outputs) and "
            f"in_bag (members, rows); got {answers.shape} and {seen.shape}."
        )
    target = np.asarray(y, dtype=np.float64)
    if target.shape != answers.shape[1:]:
        raise ValueError(
            f"y must have the shape {answers.shape[1:]} of one member's answers; got "
            f"{target.shape}."
        )
    is_out = seen == 0
    n_rows = seen.shape[1]
    errors = np.where(is_out.reshape(*seen.shape, *[1] * (answers.ndim - 2)), answers - target, 0.0)
    if not np.isfinite(errors).all():
        member, row = np.argwhere(~np.isfinite(errors))[0][:2]
        raise ValueError(f"member {member} or y has no finite value for row {row}.")
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
    """Σε² and (Σε)² over the members outside each row: their difference is Σ ε_k ε_l, k ≠ l."""
    is_scored = n_out >= 2
    if not is_scored.any():
        raise ValueError(
            "No row was left out by two members, so that none can be judged by a pair that did not "
            "see it. The ensemble must draw its rows (bootstrap=True or max_samples < 1), with "
            "enough members."
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
    """Estimate v, c and ρ of `correlated_error` from what members say about rows they did not see.

    For every row the members that were not trained on it are taken: the mean of their squared
    errors estimates v, the mean product over all pairs of them c; both are then averaged over the
    rows. A pair thus counts only on rows outside both. `v/K + (K - 1)c/K` is then the squared error
    to expect of K such members on new rows, and tells what more members would win.

    The noise of y is the same for all members and sits in c, as does the bias that they share: ρ
    near 1 may mean that members are alike, or that y is mostly noise. A classifier is judged by the
    squared error of its probabilities (the Brier score, summed over classes); without
    `predict_proba` by that of its votes.

    Parameters
    ----------
    ensemble : fitted ensemble
        Anything with `estimators_` and `estimators_samples_`: scikit-learn's `Bagging*`,
        `RandomForest*` and `ExtraTrees*` that draw their rows.
    X : table, shape (rows, columns)
        The very rows of the fit, in the same order.
    y : array, shape (rows,)
        Their target.

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
                f"{type(ensemble).__name__} has no '{attribute}': members whose training rows are "
                "known are needed. From arrays: weald.theory.error_correlation_from_members."
            )
    target = target_of(X, y)
    samples = list(ensemble.estimators_samples_)
    in_bag = np.array([_counted(drawn, len(target)) for drawn in samples])
    if is_classifier(ensemble):
        classes = np.asarray(ensemble.classes_)
        answers = _probabilities(ensemble, X, classes)
        goal = np.asarray(target[:, np.newaxis] == classes, dtype=np.float64)
        return error_correlation_from_members(answers, in_bag, goal)
    answers = np.array([member.predict(part) for member, part in _members(ensemble, X)])
    return error_correlation_from_members(answers, in_bag, finite_target(target))


def _counted(drawn: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    counted = np.bincount(drawn, minlength=n_rows)
    if len(counted) > n_rows:
        raise ValueError(
            f"X must be the very rows of the fit: it has {n_rows} rows, and a member was trained "
            f"on row {len(counted) - 1}."
        )
    return counted


def _members(ensemble: Any, X: Any) -> list[tuple[Any, Any]]:
    """Every member and the columns it knows, in the form that it was trained on."""
    members = list(ensemble.estimators_)
    columns = getattr(ensemble, "estimators_features_", None)
    # The members of scikit-learn's ensembles were trained on arrays, without names of columns.
    matrix = X if hasattr(X, "tocsr") else np.asarray(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    found = []
    for i, member in enumerate(members):
        own = None if columns is None else columns[i]
        names = getattr(member, "feature_names_in_", None)
        if names is None or not isinstance(frame, nw.DataFrame):
            found.append((member, matrix if own is None else matrix[:, own]))
        else:
            found.append((member, X if own is None else _named(frame, own, names)))
    return found


def _named(frame: "nw.DataFrame[Any]", columns: NDArray[Any], names: NDArray[Any]) -> Any:
    """Columns under the names that a member knows them by; one may be there twice."""
    own = [frame[:, int(i)].alias(str(name)) for i, name in zip(columns, names, strict=True)]
    return frame.select(*own).to_native()


def _probabilities(ensemble: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """What each member says about each class; votes where it gives no probabilities."""
    known = {label for member in ensemble.estimators_ for label in np.asarray(member.classes_)}
    # scikit-learn trains members on class numbers, others may do so on the labels themselves.
    names = classes if known <= set(classes) else np.arange(len(classes))
    answers = []
    for member, part in _members(ensemble, X):
        if hasattr(member, "predict_proba"):
            answers.append(aligned(member.predict_proba(part), member.classes_, names))
        else:
            answers.append(np.asarray(member.predict(part)[:, np.newaxis] == names, dtype=float))
    return np.array(answers)
