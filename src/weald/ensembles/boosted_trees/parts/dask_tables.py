"""Dask collections: recognised without an import, divided into partitions, predicted lazily."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.boosted_trees.parts.part_weights import Weighted


def is_dask(thing: object) -> bool:
    """Whether an object is a Dask collection; if Dask was never imported, it is not.

    >>> is_dask(np.zeros(3))
    False
    """
    return "dask" in sys.modules and bool(sys.modules["dask"].is_dask_collection(thing))


def paired_partitions(X: Any, y: Any, sample_weight: Any = None) -> list[tuple[Any, Any]]:
    """The partitions of X with those of y, as Delayed objects.

    With sample weights, each of y is `Weighted`.
    """
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    for name, collection in given.items():
        if not is_dask(collection):
            raise TypeError(
                f"X is a Dask collection and {name} is a {type(collection).__name__}. Pass {name} "
                "as a Dask series or array with the same partitions as X."
            )
        n_axes = 2 if name == "X" else 1
        if getattr(collection, "ndim", n_axes) != n_axes:
            raise ValueError(f"{name} has {collection.ndim} dimensions, expected {n_axes}.")
        n_partitions = [_n_partitions(one) for one in (X, collection)]
        if n_partitions[0] != n_partitions[1]:
            raise ValueError(
                f"X has {n_partitions[0]} partitions and {name} has {n_partitions[1]}: they must "
                "be the same. Take both from one data frame, or repartition them alike."
            )
    if all(hasattr(one, "map_partitions") for one in given.values()):
        return _delayed_together(*given.values())
    delayed = [_delayed(collection, name) for name, collection in given.items()]
    if sample_weight is None:
        return list(zip(*delayed, strict=True))
    weigh = importlib.import_module("dask").delayed(Weighted)
    return [(table, weigh(*others)) for table, *others in zip(*delayed, strict=True)]


def _n_partitions(collection: Any) -> int:
    """Number of partitions of the rows."""
    if hasattr(collection, "chunks"):
        return int(collection.numblocks[0])
    return int(getattr(collection, "npartitions", 0))


def _delayed(collection: Any, name: str) -> list[Any]:
    if not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{name} is a Dask {type(collection).__name__}, which is not a table. Pass a Dask data "
            "frame or array."
        )
    if hasattr(collection, "chunks") and collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(np.ravel(collection.to_delayed()))


def _delayed_together(X: Any, *others: Any) -> list[tuple[Any, Any]]:
    """The partitions of a frame and of one or two series, as one collection.

    On its own, Dask would read few columns of files, such as y, in fewer partitions than many.
    """
    delayed = importlib.import_module("dask").delayed
    meta = importlib.import_module("pandas").Series([], dtype=object)
    pairs = importlib.import_module("dask.dataframe").map_partitions(
        _in_one_cell, X, *others, meta=meta, align_dataframes=False
    )
    take = delayed(_of_the_cell)
    return [(take(pair, 0), take(pair, 1)) for pair in pairs.to_delayed()]


def _in_one_cell(X: Any, y: Any, *weight: Any) -> Any:
    cell = importlib.import_module("pandas").Series([None], dtype=object)
    cell.iat[0] = (X, Weighted(y, *weight) if weight else y)
    return cell


def _of_the_cell(cell: Any, i: int) -> Any:
    return cell.iat[0][i]


def joined(pieces: Sequence[Any]) -> Any:
    """The rows of computed partitions, as one frame, series or array."""
    if isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    return importlib.import_module("dask.dataframe.dispatch").concat(pieces)


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a Dask data frame; None for arrays."""
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def lazy_prediction(
    model: Any,
    method: str,
    X: Any,
    like: NDArray[Any],
    beside: Sequence[Any],
    n_rounds: int | None,
) -> Any:
    """The predictions of a Dask collection, computed when they are wanted.

    Those of an array are an array, those of a data frame a series with the same index, or a frame
    with a column for each class.

    The model is one object of the graph, which workers receive once.

    Parameters
    ----------
    method
        Name of the method that predicts.
    like
        Its answer for a table of no rows.
    beside
        `return_std` and `offset`, if the method has them: these are not supported.
    """
    if any(one is not None and one is not False for one in beside):
        raise ValueError(
            f"{method} of a Dask collection supports neither return_std nor offset. Call it on "
            "each partition, by X.map_partitions or dask.delayed."
        )
    shared = importlib.import_module("dask").delayed(model)
    if not hasattr(X, "chunks"):
        meta = _as_frame(model, like, None)
        return X.map_partitions(_framed, shared, method, like, n_rounds, meta=meta)
    arrays = importlib.import_module("dask.array")
    predicted = importlib.import_module("dask").delayed(_predicted)
    blocks = [predicted(part, shared, method, like, n_rounds) for part in _delayed(X, "X")]
    made = [
        arrays.from_delayed(block, (size, *like.shape[1:]), dtype=like.dtype)
        for block, size in zip(blocks, X.chunks[0], strict=True)
    ]
    return arrays.concatenate(made, axis=0)


def _predicted(X: Any, model: Any, method: str, like: NDArray[Any], n_rounds: int | None) -> Any:
    return getattr(model, method)(X, n_rounds=n_rounds) if len(X) else like


def _framed(X: Any, model: Any, method: str, like: NDArray[Any], n_rounds: int | None) -> Any:
    return _as_frame(model, _predicted(X, model, method, like, n_rounds), X.index)


def _as_frame(model: Any, predictions: NDArray[Any], index: Any) -> Any:
    """The predictions as a series, or as a frame with a column for each class."""
    frames = importlib.import_module("pandas")
    if predictions.ndim == 1:
        return frames.Series(predictions, index=index)
    names = getattr(model, "classes_", range(predictions.shape[1]))
    return frames.DataFrame(predictions, index=index, columns=list(names))
