"""Permutation importance of columns, measured on out-of-bag rows."""

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import effective_rows, extreme_exponent
from weald.ensembles.exact_means import exact_means
from weald.ensembles.out_of_bag.row_losses import RowLoss, loss_degree, names_of, row_losses
from weald.parameters import Whole
from weald.resampling import Purpose

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutOfBagImportance:
    """Permutation importances: increase of the out-of-bag error when a column is shuffled.

    Attributes
    ----------
    loss : str
        Name of the loss function.
    columns : list of str
        Names of the columns.
    importances_mean : float64 [columns]
        Mean increase of the error over the repeats: about 0 for an uninformative column, even if
        many trees split on it.
    importances_std : float64 [columns]
        Standard deviation over the repeats.
    importances : float64 [columns, repeats]
        Increase of the error in each repeat.
    standard_error : float64 [columns]
        Standard error of `importances_mean` over the sampling of the rows.
    """

    loss: str
    columns: list[str]
    importances_mean: Floats
    importances_std: Floats
    importances: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)


def oob_predictions(model: Any, X: Any) -> Floats:
    """Out-of-bag predictions of rows that take the place of the rows of the fit."""
    in_bag = model._in_bag()
    left_out = np.stack([counts == 0 for counts in in_bag])
    weights = getattr(model, "weights_", np.ones(len(left_out)))
    parts, begin = [], 0
    for predictions in model._estimator_predictions(X):
        rows = slice(begin, begin + predictions.shape[1])
        share = left_out[:, rows] * weights[:, np.newaxis]
        total = share.sum(axis=0)
        with np.errstate(invalid="ignore"):
            parts.append(np.einsum("kr,krw->rw", share, predictions) / total[:, np.newaxis])
        begin = rows.stop
    return np.concatenate(parts)


def importance_by_shuffling(
    model: Any, X: Any, y: Any, *, loss: RowLoss | None, n_repeats: int, random_state: int
) -> OutOfBagImportance:
    """Shuffle each column in turn and compare the out-of-bag losses row by row."""
    if not Whole(1).admits(n_repeats):
        raise ValueError(f"n_repeats must be an int of at least 1. Got {n_repeats!r} instead.")
    target, place = checked_rows_of_fit(model, X, y)
    record = model.oob_.record
    scored = np.flatnonzero((place >= 0) & ~np.isnan(record.predictions[place, 0]))
    weight = None if record.weight is None else record.weight[place[scored]]
    classes = record.classes
    degree = loss_degree(loss) if classes is None else 0
    unit = extreme_exponent(target[scored]) if degree else 0

    def losses_of(predicted: Floats) -> Floats:
        own = target[scored] if classes is not None else np.ldexp(target[scored], -unit)
        return row_losses(loss, own, np.ldexp(predicted[scored], -unit), classes)

    before = losses_of(oob_predictions(model, X))
    n_columns, found, noise = model.n_features_in_, [], []
    for column in range(n_columns):
        gaps = np.zeros((n_repeats, len(scored)))
        for repeat in range(n_repeats):
            order = _shuffled(place, int(random_state), column * n_repeats + repeat)
            predicted = oob_predictions(model, with_column_from(X, column, order))
            gaps[repeat] = losses_of(predicted) - before
        found.append(exact_means(gaps, weight))
        noise.append(_standard_error(gaps.mean(axis=0), weight))
    own = np.array(found)
    with np.errstate(over="ignore"):
        importances, means, spreads, errors = (
            np.ldexp(values, degree * unit)
            for values in (own, own.mean(axis=1), own.std(axis=1), np.array(noise))
        )
    name = names_of(classes)[0] if loss is None else loss
    return OutOfBagImportance(
        loss=name if isinstance(name, str) else getattr(name, "__name__", "loss"),
        columns=[str(one) for one in getattr(model, "feature_names_in_", range(n_columns))],
        importances_mean=means,
        importances_std=spreads,
        importances=importances,
        standard_error=errors,
    )


def checked_rows_of_fit(model: Any, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The target as stored in the ledger, and the positions of the rows; raises for other rows."""
    record, place = model.oob_.record, model.oob_.in_bag.last.place
    target = np.asarray(y).ravel()
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    same = n_rows == len(place) == len(target)
    if same and record.classes is not None:
        number = np.minimum(np.searchsorted(record.classes, target), len(record.classes) - 1)
        same = bool((record.classes[number] == target).all())
        target = number
    kept = place >= 0
    if not same or not np.array_equal(record.target[place[kept]], target[kept]):
        raise ValueError(
            f"X and y must be the {len(place)} rows of the fit, in the same order, to know which "
            f"rows are out-of-bag; got {n_rows} rows in X and {len(target)} in y. Pass X and y as "
            "in fit."
        )
    return target, place


def _standard_error(values: Floats, weight: Floats | None) -> float:
    """Standard error of a (weighted) mean over rows."""
    middle = np.average(values, weights=weight)
    variance = np.average((values - middle) ** 2, weights=weight)
    return float(np.sqrt(variance / effective_rows(weight, len(values))))


def _shuffled(place: NDArray[np.intp], seed: int, number: int) -> NDArray[np.intp]:
    """Rows of positive weight in random order; the others keep their places."""
    order = np.arange(len(place))
    rows = np.flatnonzero(place >= 0)
    numbers = np.zeros((len(rows), 2), dtype=np.uint64)
    numbers[:, 0] = rows
    order[rows] = rows[np.argsort(_native.draw(numbers, seed, number, Purpose.SHUFFLE))]
    return order


def with_column_from(X: Any, column: int, order: NDArray[np.intp]) -> Any:
    """The table with the values of one column reordered."""
    if hasattr(X, "tocsr"):
        dense = X.toarray()
        dense[:, column] = dense[order, column]
        return dense
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[column]
        return frame.with_columns(frame[name][order.tolist()].alias(name)).to_native()
    table = np.array(X)
    table[:, column] = table[order, column]
    return table
