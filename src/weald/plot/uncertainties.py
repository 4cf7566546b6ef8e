"""Predictions with their uncertainty."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.base_estimators import base_estimators_of
from weald.diagnostics.subject import Subject
from weald.diagnostics.tables import names_of_columns
from weald.parameters import OneOf, Real, Whole
from weald.plot.columns import as_numbers, column_number, column_of
from weald.plot.style import BLUE, GREY, ORANGE, SKY, drawing, label, legend_above, light_grid
from weald.theory.arguments import check, table_of, take

Floats = NDArray[np.float64]
_FUNCTION = "weald.plot.uncertainty"


class _Band(NamedTuple):
    centre: Floats
    lower: Floats
    upper: Floats
    name: str


def uncertainty(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    feature: Any = None,
    kind: str = "auto",
    coverage: float = 0.9,
    max_rows: int = 300,
    ax: Any = None,
) -> Any:
    """Draw predictions with prediction intervals, or with the spread of the base estimators.

    Rows are ordered by their prediction, or along a column. Classifiers are drawn by the
    probability of the predicted class, with the standard error of this mean of the base estimators:
    how far it would move if others were drawn. (Their standard deviation covers everything from 0
    to 1 where single trees are sure of a class and disagree.)

    Parameters
    ----------
    model : fitted ensemble
        A model with `predict_interval`, or whose `predict` or `predict_proba` takes `return_std`.
    X : table
        Rows to predict.
    y : array or None, default=None
        Their targets: points outside the interval are marked; labels that were not predicted.
    feature : str, int or None, default=None
        Column of the horizontal axis; None orders rows by their prediction.
    kind : {"auto", "interval", "std", "error"}, default="auto"
        Prediction intervals ("interval"), or the prediction plus and minus two standard deviations
        of the base estimators ("std") or two standard errors of their mean ("error"). "auto" draws
        intervals if the model has them; of other regressors "std", of classifiers "error".
    coverage : float, default=0.9
        Share of targets that the intervals should contain.
    max_rows : int, default=300
        Number of rows drawn; of more, a random sample.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    axes
        The axes of the picture.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = weald.RandomForestRegressor(oob_score=True, random_state=0).fit(X[::2], y[::2])
    >>> ax = weald.plot.uncertainty(forest, X[1::2], y[1::2])
    >>> ax.get_xlabel()
    'rows by prediction'
    >>> plt.close()
    """
    check(_FUNCTION, OneOf(("auto", "interval", "std", "error")), kind=kind)
    check(_FUNCTION, Real(0.0, 1.0, open_below=True, open_above=True), coverage=coverage)
    check(_FUNCTION, Whole(1), max_rows=max_rows)
    subject = Subject.of(model, _FUNCTION)
    table = table_of(X)
    target = None if y is None else subject.target(table, y)
    if table.shape[0] > max_rows:
        rows = np.sort(np.random.default_rng(0).permutation(table.shape[0])[: int(max_rows)])
        table, target = take(table, rows), None if target is None else target[rows]
    band, predicted = _band(subject, table, kind, float(coverage))
    x, axis = _across(model, table, feature, band.centre)
    order = np.argsort(x, kind="stable")
    with drawing(ax) as axes:
        axes.vlines(
            x[order], band.lower[order], band.upper[order], color=SKY, linewidth=2.2, alpha=0.65,
            label=band.name,
        )  # fmt: skip
        axes.plot(x[order], band.centre[order], ".", color=BLUE, markersize=4, label="prediction")
        if target is not None:
            _draw_targets(axes, subject, x, band, predicted, target)
        axes.set_xlabel(label(axis, 60))
        is_class = subject.classes is not None
        axes.set_ylabel("probability of the predicted class" if is_class else "target")
        light_grid(axes)
        legend_above(axes)
    return axes


def _band(subject: Subject, table: Any, kind: str, coverage: float) -> tuple[_Band, Any]:
    model = subject.model
    if subject.classes is not None:
        if kind == "interval":
            raise ValueError(
                f"kind='interval' needs a regressor; {subject.name} predicts classes. "
                "Use kind='error' or kind='std', or its method predict_set."
            )
        shares, std = _with_std(subject, "predict_proba", table)
        best = shares.argmax(axis=1)
        rows = np.arange(len(best))
        factor, name = _width(subject, "error" if kind == "auto" else kind)
        centre, half = shares[rows, best], factor * std[rows, best]
        return _Band(centre, np.maximum(centre - half, 0), np.minimum(centre + half, 1), name), best
    wants = kind == "interval" or (kind == "auto" and _has_intervals(model))
    if wants:
        if not hasattr(model, "predict_interval"):
            raise ValueError(
                f"kind='interval' needs a model with predict_interval; {subject.name} has none. "
                "Use a forest or bag of weald with oob_score=True, or kind='std'."
            )
        lower, upper = np.asarray(model.predict_interval(table, coverage)).T
        centre = subject.predict(table)[:, 0]
        return _Band(centre, lower, upper, f"{100 * coverage:g} % interval"), centre
    centre, std = _with_std(subject, "predict", table)
    factor, name = _width(subject, "std" if kind == "auto" else kind)
    return _Band(centre, centre - factor * std, centre + factor * std, name), centre


def _width(subject: Subject, kind: str) -> tuple[float, str]:
    """Factor of the standard deviation of the base estimators, and what the band is."""
    if kind == "std":
        return 2.0, "± 2 standard deviations"
    found = base_estimators_of(subject)
    if found is None:
        raise ValueError(
            f"kind='error' needs the number of base estimators that predict the target; "
            f"{subject.name} has none. Use kind='std'."
        )
    return 2.0 / float(np.sqrt(found.n)), f"± 2 standard errors of the mean of {found.n}"


def _has_intervals(model: Any) -> bool:
    return hasattr(model, "predict_interval") and getattr(model, "_record", None) is not None


def _with_std(subject: Subject, method: str, table: Any) -> tuple[Floats, Floats]:
    try:
        predicted, std = getattr(subject.model, method)(table, return_std=True)
    except (TypeError, AttributeError):
        raise TypeError(
            f"{_FUNCTION} needs a model whose {method} takes return_std=True, such as a forest of "
            f"weald; {subject.name} does not."
        ) from None
    return np.asarray(predicted, dtype=float), np.asarray(std, dtype=float)


def _across(model: Any, table: Any, feature: Any, centre: Floats) -> tuple[Floats, str]:
    """Place of each row on the horizontal axis, and what it is."""
    if feature is None:
        place = np.empty(len(centre))
        place[np.argsort(centre, kind="stable")] = np.arange(len(centre))
        return place, "rows by prediction"
    names = names_of_columns(model, table)
    column = column_number(feature, names)
    numbers = as_numbers(column_of(table, column))
    if numbers is None:
        raise ValueError(f"feature must be a column of numbers; {names[column]!r} is not.")
    return numbers, names[column]


def _draw_targets(
    axes: Any, subject: Subject, x: Floats, band: _Band, predicted: Any, target: Any
) -> None:
    if subject.classes is not None:
        is_wrong = predicted != target
        axes.plot(
            x[is_wrong], band.centre[is_wrong], "x", color=ORANGE, markersize=6,
            label=f"wrong: {100 * is_wrong.mean():.1f} %",
        )  # fmt: skip
        return
    outside = (target < band.lower) | (target > band.upper)
    axes.plot(x[~outside], target[~outside], ".", color=GREY, markersize=3, label="target")
    axes.plot(
        x[outside], target[outside], "x", color=ORANGE, markersize=5,
        label=f"outside: {100 * outside.mean():.1f} %",
    )  # fmt: skip
