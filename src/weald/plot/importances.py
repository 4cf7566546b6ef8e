"""Feature importances as bars."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald.number_text import number_text
from weald.parameters import NoneOr, OneOf, Whole
from weald.plot.columns import column_names
from weald.plot.style import BLUE, GREY, drawing, labels, loss_text
from weald.theory.arguments import check

Floats = NDArray[np.float64]


class _Bars(NamedTuple):
    values: Floats
    errors: Floats | None
    names: list[str]
    axis: str


def importance(
    model: Any,
    *,
    max_num_features: int = 15,
    by: str | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the importances of the columns as bars, the largest first.

    Parameters
    ----------
    model : fitted model, or importances
        A model with `feature_importances_`; the result of `oob_permutation_importance` or of
        scikit-learn's `permutation_importance`, whose standard deviations are drawn as lines; a
        dict of names and numbers; or an array with one number per column.
    max_num_features : int, default=15
        Number of columns to draw.
    by : {"gain", "cover", "count"} or None, default=None
        What the model's `importances` sums over all splits; None draws `feature_importances_`.
    feature_names : list of str or None, default=None
        Names to show instead of those of the fit.
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
    >>> diabetes = load_diabetes(as_frame=True)
    >>> model = weald.RandomForestRegressor(random_state=0).fit(diabetes.data, diabetes.target)
    >>> ax = weald.plot.importance(model, max_num_features=3)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['bmi', 's5', 'bp']
    >>> plt.close()
    """
    check("weald.plot.importance", Whole(1), max_num_features=max_num_features)
    check("weald.plot.importance", NoneOr(OneOf(("gain", "cover", "count"))), by=by)
    bars = _bars(model, by, feature_names)
    order = np.argsort(-bars.values, kind="stable")[: int(max_num_features)]
    values, place = bars.values[order], np.arange(len(order))
    with drawing(ax, (6.4, 0.9 + 0.29 * len(order))) as axes:
        errors = None if bars.errors is None else bars.errors[order]
        axes.barh(place, values, xerr=errors, color=BLUE, ecolor=GREY, height=0.7)
        axes.set_yticks(place, labels([bars.names[i] for i in order]))
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.set_xlabel(bars.axis)
        for i, value in zip(place, values, strict=True):
            reach = value + (0.0 if errors is None else float(errors[i]))
            axes.annotate(
                number_text(value, 3),
                (max(reach, 0.0), i),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        axes.margins(x=0.18)
        axes.tick_params(axis="y", length=0)
        if len(order) < len(bars.values):
            axes.set_title(f"The {len(order)} most important of {len(bars.values)} columns")
    return axes


def _bars(model: Any, by: str | None, feature_names: Sequence[str] | None) -> _Bars:
    if hasattr(model, "importances_mean"):
        means = np.asarray(model.importances_mean, dtype=np.float64)
        names = feature_names if feature_names is not None else _own_names(model)
        spread = getattr(model, "importances_std", None)
        loss = loss_text(str(getattr(model, "loss", getattr(model, "scoring", "score"))))
        return _Bars(
            means,
            None if spread is None else np.asarray(spread, dtype=np.float64),
            column_names(None, len(means), names),
            f"{loss}: change for the worse when the column is shuffled",
        )
    if isinstance(model, Mapping):
        names = list(model) if feature_names is None else feature_names
        model, feature_names = list(model.values()), names
    if isinstance(model, BaseEstimator) or hasattr(model, "feature_importances_"):
        return _of_model(model, by, feature_names)
    try:
        values = np.asarray(model, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise TypeError(
            "weald.plot.importance takes a fitted model with feature_importances_, the result of "
            f"a permutation importance, or an array of finite numbers; got {type(model).__name__}."
        )
    if by is not None:
        raise ValueError(f"by={by!r} needs a fitted model; got an array of importances.")
    return _Bars(values, None, column_names(None, len(values), feature_names), "importance")


def _own_names(result: Any) -> Any:
    for name in ("columns", "feature_names"):
        if getattr(result, name, None) is not None:
            return getattr(result, name)
    return None


def _of_model(model: Any, by: str | None, feature_names: Sequence[str] | None) -> _Bars:
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if by is not None:
        if not hasattr(model, "importances"):
            raise ValueError(
                f"by={by!r} needs a model of weald that has trees; {type(model).__name__} has no "
                "method importances. Leave by=None."
            )
        sums = np.asarray(model.importances(by), dtype=np.float64)
        words = {"gain": "total gain of the splits", "count": "number of splits"}
        axis = words.get(by, "total weight of the rows split")
        return _Bars(sums, None, column_names(model, len(sums), feature_names), axis)
    if not hasattr(model, "feature_importances_"):
        raise TypeError(
            f"{type(model).__name__} has no feature_importances_. Pass the result of "
            "sklearn.inspection.permutation_importance(model, X, y), which works for any model."
        )
    shares = np.asarray(model.feature_importances_, dtype=np.float64)
    names = column_names(model, len(shares), feature_names)
    return _Bars(shares, None, names, "importance (share of the gain of all splits)")
