"""Sampled Shapley values of any model, from random orders of the columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.explain.mixing import MixedRows
from weald.explain.responses import Response

Floats = NDArray[np.float64]

# Number of cells of a table that is predicted at once.
_CELLS = 2**21


@dataclass(frozen=True, eq=False)
class SampledValues:
    """Sampled values and what they were sampled from.

    Attributes
    ----------
    values, standard_error : arrays, shape (rows, columns, outputs)
        Means over the samples, and their standard errors.
    base_values : array, shape (outputs,)
        Mean prediction of the background rows.
    n_samples : int
        Number of orders, each taken forwards and backwards.
    """

    values: Floats
    standard_error: Floats
    base_values: Floats
    n_samples: int


def sampled_values(
    response: Response, X: Any, background: Any, *, n_samples: int, seed: int
) -> SampledValues:
    """Shapley values by permutation sampling (Štrumbelj and Kononenko 2014).

    A sample is a random order of the columns and a background row: from the background row to the
    explained one, columns are replaced in this order, and each is credited with the change of the
    prediction; the same in the reverse order (antithetic). Every background row is used equally
    often, at least twice: so values add up exactly, and the spread among the orders of the same
    background row gives the standard error.

    Parameters
    ----------
    response : Response
        The predictions.
    X, background : tables
        Rows to explain, and rows whose values stand for unknown ones.
    n_samples : int
        Minimum number of samples.
    seed : int
        Seed of the orders.
    """
    rows = MixedRows([X, background])
    predicted, base = response.predict(X), response.predict(background)
    n_rows, n_columns = len(predicted), int(rows.shape[1])
    n_orders = max(2, -(-n_samples // len(base)))
    draws = np.random.default_rng(seed)
    values = np.zeros((n_rows, n_columns, predicted.shape[1]))
    variance = np.zeros_like(values)
    for other in range(len(base)):
        sums, squares = np.zeros_like(values), np.zeros_like(values)
        for _ in range(n_orders):
            order = draws.permutation(n_columns)
            for some in _blocks(n_rows, n_columns):
                found = _of_order(
                    response, rows, some, n_rows + other, order, predicted[some], base[other]
                )
                sums[some] += found
                squares[some] += found**2
        values += sums
        variance += np.maximum(squares - sums**2 / n_orders, 0.0) / (n_orders - 1)
    values /= len(base) * n_orders
    error = np.sqrt(variance / n_orders) / len(base)
    return SampledValues(values, error, base.mean(axis=0), len(base) * n_orders)


def _blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    size = max(1, _CELLS // (2 * n_columns * n_columns))
    for begin in range(0, n_rows, size):
        yield slice(begin, min(begin + size, n_rows))


def _of_order(
    response: Response,
    rows: MixedRows,
    some: slice,
    other: int,
    order: NDArray[np.intp],
    predicted: Floats,
    base: Floats,
) -> Floats:
    """The mean contribution of each column in an order of the columns and in its reverse."""
    n_rows, n_columns = len(predicted), len(order)
    found = np.empty((n_rows, n_columns, predicted.shape[1]))
    if n_columns == 1:
        found[:, 0] = predicted - base
        return found
    place = np.empty(n_columns, dtype=np.intp)
    place[order] = np.arange(n_columns)
    steps = np.arange(1, n_columns)[:, np.newaxis]
    # After k steps forwards the first k columns of the order are those of the row, after k steps
    # backwards the last k.
    known = np.concatenate([place < steps, place >= n_columns - steps])
    stages = _predicted_stages(response, rows, some, other, known)
    ends = [np.broadcast_to(one, (1, *predicted.shape)) for one in (base, predicted)]
    forwards = np.concatenate([ends[0], stages[: n_columns - 1], ends[1]])
    backwards = np.concatenate([ends[0], stages[n_columns - 1 :], ends[1]])
    gains = (np.diff(forwards, axis=0) + np.diff(backwards, axis=0)[::-1]) / 2
    found[:, order] = gains.transpose(1, 0, 2)
    return found


def _predicted_stages(
    response: Response, rows: MixedRows, some: slice, other: int, known: NDArray[np.bool_]
) -> Floats:
    """Predictions of shape (stages, rows, outputs), with unknown columns of the row `other`."""
    numbers = np.arange(some.start, some.stop)
    step = max(1, _CELLS // (len(numbers) * known.shape[1]))
    parts = []
    for begin in range(0, len(known), step):
        own = known[begin : begin + step]
        source = np.where(own[:, np.newaxis], numbers[:, np.newaxis], other)
        flat = response.predict(rows.mixed(source.reshape(-1, known.shape[1])))
        parts.append(flat.reshape(len(own), len(numbers), -1))
    return np.concatenate(parts)
