"""The mean prediction as a function of two columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.members import n_rows_of
from weald.explain.checks import check_model, checked_table
from weald.explain.dependence import chosen_response, some_rows
from weald.explain.grids import GridColumn
from weald.explain.mixing import MixedRows

Floats = NDArray[np.float64]

# Number of cells of a table that is predicted at once.
_CELLS = 2**21


@dataclass(frozen=True, eq=False)
class PairDependence:
    """The mean prediction as a function of two columns.

    Attributes
    ----------
    columns : (str, str)
        Names of the columns.
    grids : (array, array)
        Values of each.
    average : array, shape (values of the first, values of the second, outputs)
        Mean prediction of all rows if the columns have these values.
    output_names : list of str
        Names of the outputs; empty for a regression with one output.
    scale : str
        What is predicted.
    """

    columns: tuple[str, str]
    grids: tuple[NDArray[Any], NDArray[Any]]
    average: Floats
    output_names: list[str]
    scale: str


def pair_dependence(
    model: Any, X: Any, columns: tuple[Any, Any], *, n_points: int, n_rows: int | None
) -> PairDependence:
    """Predict every row with both columns set to each pair of values of their grids."""
    check_model(model)
    X = checked_table(model, X)
    first, second = (GridColumn.of(model, X, column) for column in columns)
    grids = first.grid(n_points), second.grid(n_points)
    response = chosen_response(model, X, "prediction")
    rows, own = MixedRows([X]), some_rows(n_rows_of(X), n_rows)
    pairs = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 2)
    n_columns = int(rows.shape[1])
    step = max(1, _CELLS // (n_columns * len(own)))
    means = []
    for begin in range(0, len(pairs), step):
        part = pairs[begin : begin + step]
        source = np.repeat(np.tile(own, len(part))[:, np.newaxis], n_columns, axis=1)
        source[:, first.position] = np.repeat(part[:, 0], len(own))
        source[:, second.position] = np.repeat(part[:, 1], len(own))
        predicted = response.predict(rows.mixed(source))
        means.append(predicted.reshape(len(part), len(own), -1).mean(axis=1))
    return PairDependence(
        columns=(first.name, second.name),
        grids=(first.shown[grids[0]], second.shown[grids[1]]),
        average=np.concatenate(means).reshape(len(grids[0]), len(grids[1]), -1),
        output_names=[name for name in response.outputs if name],
        scale=response.scale,
    )
