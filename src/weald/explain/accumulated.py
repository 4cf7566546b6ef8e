"""Accumulated local effects (ALE)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.explain.checks import check_model, checked_table
from weald.explain.dependence import (
    check_arguments,
    chosen_response,
    columns_of,
    predicted_with,
    some_rows,
)
from weald.explain.grids import GridColumn
from weald.explain.mixing import MixedRows
from weald.explain.printing import Printed, Table
from weald.lazy import picture
from weald.parameters import NoneOr, OneOf, Whole

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class AccumulatedEffects(Printed):
    """The effect of one column on the prediction, accumulated from local differences.

    Attributes
    ----------
    column : str
        Name of the column.
    edges : array, shape (points,)
        Values of the column, ascending: the edges of the intervals.
    effects : array, shape (points,) or (points, outputs)
        Effect of each value, relative to the mean effect of the rows.
    standard_error : array with the shape of `effects`
        Standard error of the difference to the effect of the first value.
    counts : array, shape (points - 1,)
        Number of rows in each interval.
    output_names : list of str
        Names of the outputs; empty for a regression with one output.
    scale : str
        What is predicted.
    """

    column: str
    edges: NDArray[Any]
    effects: Floats
    standard_error: Floats
    counts: NDArray[np.int64]
    output_names: list[str]
    scale: str

    def _table(self) -> Table:
        columns = self._columns()
        title = f"Accumulated local effects of {self.column!r}; scale: {self.scale}"
        rows = [[own[i] for own in columns.values()] for i in range(len(self.edges))]
        return Table(title, list(columns), rows)

    def plot(self, **kwargs: Any) -> Any:
        """Draw the effects with two standard errors: `weald.plot.partial_dependence`.

        Parameters
        ----------
        **kwargs
            Parameters of that function, such as `ax`.

        Returns
        -------
        axes
            The axes of the picture.
        """
        return picture("partial_dependence")(self, **kwargs)[0]

    def _columns(self) -> dict[str, Any]:
        return {self.column: self.edges, **columns_of(self.effects, self.output_names, "effect")}


def accumulated_effects(
    model: Any,
    X: Any,
    column: str | int,
    *,
    n_intervals: int = 20,
    n_rows: int | None = None,
    output: str = "prediction",
) -> AccumulatedEffects:
    """Compute accumulated local effects of one column (Apley and Zhu 2020).

    The rows of each interval of the column are predicted at both of its edges; the mean differences
    are accumulated. Only values near those of a row are used, so that dependence among the columns
    does not distort the effect, unlike in `partial_dependence`.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, frame or sparse table, shape (rows, columns)
        Rows whose differences are averaged.
    column : str or int
        Name or position of a column of numbers, dates or ordered categories. Rows in which it is
        missing are left out.
    n_intervals : int, default=20
        Maximum number of intervals; their edges are quantiles of the column.
    n_rows : int or None, default=None
        Maximum number of rows, evenly spaced; None: all.
    output : {"prediction", "raw"}, default="prediction"
        Differences of `predict_proba` or `predict`, or of the raw scores of a classifier
        (`decision_function`).

    Returns
    -------
    AccumulatedEffects
        The edges and their effects.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import DecisionTreeRegressor
    >>> from weald.explain import accumulated_effects
    >>> X = np.random.default_rng(0).integers(0, 7, (200, 3))
    >>> model = DecisionTreeRegressor().fit(X, X[:, 1] ** 2)
    >>> found = accumulated_effects(model, X, 1)
    >>> np.diff(found.effects).round().tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]
    """
    check_arguments(
        n_intervals=(n_intervals, Whole(1)),
        n_rows=(n_rows, NoneOr(Whole(1))),
        output=(output, OneOf(("prediction", "raw"))),
    )
    check_model(model)
    X = checked_table(model, X)
    found = GridColumn.of(model, X, column)
    if not found.is_ordered:
        raise ValueError(
            f"{found.name!r} holds categories without an order, whose effects cannot be "
            "accumulated. Use partial_dependence, or make it an ordered categorical."
        )
    edges = found.grid(n_intervals + 1)
    if len(edges) < 2:
        raise ValueError(f"{found.name!r} has only one value: it has no intervals.")
    response = chosen_response(model, X, output)
    rows, values = MixedRows([X]), found.keys[edges]
    numbers = some_rows(len(found.keys), n_rows)
    numbers = numbers[~np.isnan(found.keys[numbers])]
    # An interval includes its upper edge, the first one both.
    interval = np.maximum(np.searchsorted(values, found.keys[numbers]) - 1, 0)
    n_intervals, n_outputs = len(edges) - 1, len(response.outputs)
    means, variances = np.zeros((n_intervals, n_outputs)), np.zeros((n_intervals, n_outputs))
    counts = np.bincount(interval, minlength=n_intervals)
    for k in range(n_intervals):
        own = numbers[interval == k]
        if len(own):
            ends = predicted_with(response, rows, found.position, own, edges[k : k + 2])
            gaps = ends[:, 1] - ends[:, 0]
            means[k], variances[k] = gaps.mean(axis=0), gaps.var(axis=0) / len(own)
    start = np.zeros((1, n_outputs))
    effects = np.concatenate([start, np.cumsum(means, axis=0)])
    effects -= np.average((effects[1:] + effects[:-1]) / 2, axis=0, weights=counts)
    error = np.sqrt(np.concatenate([start, np.cumsum(variances, axis=0)]))
    return AccumulatedEffects(
        column=found.name,
        edges=found.shown[edges],
        effects=effects[:, 0] if n_outputs == 1 else effects,
        standard_error=error[:, 0] if n_outputs == 1 else error,
        counts=counts,
        output_names=[name for name in response.outputs if name],
        scale=response.scale,
    )
