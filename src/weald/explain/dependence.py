"""Partial dependence and individual conditional expectation (ICE)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.members import n_rows_of, take
from weald.explain.checks import check_model, checked_table
from weald.explain.grids import GridColumn
from weald.explain.mixing import MixedRows
from weald.explain.printing import Printed, Table
from weald.explain.responses import Response, response_of
from weald.lazy import picture
from weald.parameters import Limit, NoneOr, OneOf, Whole

Floats = NDArray[np.float64]

# Number of cells of a table that is predicted at once, and number of grid points that are printed.
_CELLS, _SHOWN = 2**21, 20


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence(Printed):
    """The mean prediction as a function of one column.

    Attributes
    ----------
    column : str
        Name of the column.
    grid : array, shape (points,)
        Values of the column, ascending; categories in any order.
    average : array, shape (points,) or (points, outputs)
        Mean prediction of all rows if the column has the value of the point.
    individual : array, shape (rows, points) or (rows, points, outputs)
        With kind="individual": predictions of each row (ICE). None otherwise.
    output_names : list of str
        Names of the outputs; empty for a regression with one output.
    scale : str
        What is predicted.
    """

    column: str
    grid: NDArray[Any]
    average: Floats
    individual: Floats | None = field(repr=False)
    output_names: list[str]
    scale: str

    def _table(self) -> Table:
        title = f"Partial dependence on {self.column!r}; scale: {self.scale}"
        columns = self._columns()
        kept = np.linspace(0, len(self.grid) - 1, min(_SHOWN, len(self.grid))).astype(int)
        rows = [[columns[name][i] for name in columns] for i in kept]
        return Table(title, list(columns), rows, len(self.grid) - len(rows))

    def plot(self, **kwargs: Any) -> Any:
        """Draw the mean (`kind="both"`: and single rows): `weald.plot.partial_dependence`.

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
        return {self.column: self.grid, **columns_of(self.average, self.output_names, "mean")}


def columns_of(values: Floats, outputs: list[str], name: str) -> dict[str, Floats]:
    """Values of one output under a name, or of several under theirs."""
    if values.ndim == 1:
        return {name: values}
    return {f"{name} of {output}": values[:, k] for k, output in enumerate(outputs)}


def partial_dependence(
    model: Any,
    X: Any,
    column: str | int,
    *,
    kind: str = "average",
    n_points: int = 50,
    n_rows: int | None = 1000,
    output: str = "prediction",
) -> PartialDependence:
    """Compute the mean prediction as a function of one column.

    Every row is predicted with the column set to each point of a grid. Rows that do not occur
    together with a value (such as a child of two metres) are predicted too: if columns are strongly
    dependent, see `accumulated_effects`.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, frame or sparse table, shape (rows, columns)
        Rows over which predictions are averaged.
    column : str or int
        Name or position of the column.
    kind : {"average", "individual"}, default="average"
        "individual": keep the predictions of each row (ICE), too.
    n_points : int, default=50
        Maximum number of points of the grid: all values of the column, or as many quantiles, or
        the most frequent categories.
    n_rows : int or None, default=1000
        Maximum number of rows, evenly spaced; None: all.
    output : {"prediction", "raw"}, default="prediction"
        Average `predict_proba` or `predict`, or the raw scores of a classifier
        (`decision_function`).

    Returns
    -------
    PartialDependence
        The grid and the mean predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import DecisionTreeRegressor
    >>> from weald.explain import partial_dependence
    >>> X = np.random.default_rng(0).integers(0, 7, (200, 3))
    >>> model = DecisionTreeRegressor().fit(X, X[:, 1] ** 2)
    >>> found = partial_dependence(model, X, 1)
    >>> found.grid.tolist(), found.average.round().tolist()
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0])
    """
    check_arguments(
        kind=(kind, OneOf(("average", "individual"))),
        n_points=(n_points, Whole(1)),
        n_rows=(n_rows, NoneOr(Whole(1))),
        output=(output, OneOf(("prediction", "raw"))),
    )
    check_model(model)
    X = checked_table(model, X)
    found = GridColumn.of(model, X, column)
    grid = found.grid(n_points)
    response = chosen_response(model, X, output)
    numbers = some_rows(n_rows_of(X), n_rows)
    stages = predicted_with(response, MixedRows([X]), found.position, numbers, grid)
    individual = stages[..., 0] if len(response.outputs) == 1 else stages
    return PartialDependence(
        column=found.name,
        grid=found.shown[grid],
        average=individual.mean(axis=0),
        individual=individual if kind == "individual" else None,
        output_names=[name for name in response.outputs if name],
        scale=response.scale,
    )


def check_arguments(**given: tuple[Any, Limit]) -> None:
    """Check arguments, each with the values that are allowed."""
    for name, (value, limit) in given.items():
        if not limit.admits(value):
            raise ValueError(f"{name} must be {limit.expected}. Got {value!r} instead.")


def chosen_response(model: Any, X: Any, output: str) -> Response:
    """The predictions, or the raw scores of a classifier."""
    return response_of(model, take(X, np.arange(1)), raw=output == "raw")


def some_rows(n_rows: int, most: int | None) -> NDArray[np.intp]:
    """At most so many rows, evenly spaced."""
    if most is None or n_rows <= most:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, most).astype(np.intp)


def predicted_with(
    response: Response,
    rows: MixedRows,
    column: int,
    numbers: NDArray[np.intp],
    sources: NDArray[np.intp],
) -> Floats:
    """Predictions of shape (rows, points, outputs), with a column taken from the rows `sources`."""
    n_columns = int(rows.shape[1])
    step = max(1, _CELLS // (n_columns * len(sources)))
    parts = []
    for begin in range(0, len(numbers), step):
        own = numbers[begin : begin + step]
        source = np.repeat(np.repeat(own, len(sources))[:, np.newaxis], n_columns, axis=1)
        source[:, column] = np.tile(sources, len(own))
        parts.append(response.predict(rows.mixed(source)).reshape(len(own), len(sources), -1))
    return np.concatenate(parts)
