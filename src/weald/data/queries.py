"""Queries of a ranking: which rows are to be ranked together, by sizes or by labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.containers import read_array
from weald.groups import is_missing_label

Numbers = NDArray[np.intp]


def queries_of_rows(
    n_rows: int, group: Any, qid: Any, *, suffix: str = "", table: str = "y"
) -> Numbers:
    """Return the number of each row's query; queries are numbered as they appear.

    Parameters
    ----------
    group : array or None
        Number of rows of each query; the rows of a query are adjacent.
    qid : array, shape (rows,), or None
        Label of each row's query.
    suffix, table : str
        For messages: what is appended to the names of these arguments, and what holds the rows.

    Examples
    --------
    >>> queries_of_rows(5, [2, 3], None).tolist()
    [0, 0, 1, 1, 1]
    >>> queries_of_rows(4, None, ["b", "a", "b", "a"]).tolist()
    [0, 1, 0, 1]
    """
    names = f"group{suffix}", f"qid{suffix}"
    if (group is None) == (qid is None):
        got = "neither" if group is None else "both"
        raise ValueError(
            f"A ranking needs {names[0]}, the number of rows of each query in turn, or "
            f"{names[1]}, the label of each row's query; got {got}. Pass one of them: rows are "
            "only compared with rows of the same query."
        )
    if qid is None:
        sizes = _checked_sizes(group, n_rows, names, table)
        return np.repeat(np.arange(len(sizes)), sizes)
    return _numbered(_checked_labels(qid, n_rows, names[1], table))


def _checked_sizes(
    group: Any, n_rows: int, names: tuple[str, str], table: str
) -> NDArray[np.int64]:
    name, by_label = names
    values = np.asarray(group if isinstance(group, np.ndarray) else read_array(group, name))
    if values.ndim != 1 or values.dtype.kind not in "iuf" or len(values) == 0:
        raise ValueError(
            f"{name} must be an array of the numbers of rows of the queries, such as [10, 12, 7]; "
            f"got the shape {values.shape} of dtype {values.dtype}. Labels are passed as "
            f"{by_label}."
        )
    labels = f" It has one entry per row: labels of queries are passed as {by_label}."
    hint = labels if len(values) == n_rows else ""
    bad = np.flatnonzero(~((values >= 1) & (values == np.floor(values)) & (values <= 2**53)))
    if bad.size:
        raise ValueError(
            f"{name} holds {values[bad[0]]} at position {bad[0]}; every query has a whole number "
            f"of rows, at least one.{hint or ' Leave out queries without rows.'}"
        )
    sizes = values.astype(np.int64)
    total = int(sizes.sum())
    if total != n_rows:
        raise ValueError(
            f"{name} adds up to {total} rows in {len(sizes)} queries, but {table} has {n_rows} "
            f"rows.{hint}"
        )
    return sizes


def _checked_labels(qid: Any, n_rows: int, name: str, table: str) -> NDArray[Any]:
    labels = np.asarray(qid if isinstance(qid, np.ndarray) else read_array(qid, name))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one label for each of the {n_rows} rows of {table}; got the shape "
            f"{labels.shape}."
        )
    if labels.dtype.kind in "fOcmM":
        missing = [i for i, label in enumerate(labels.tolist()) if is_missing_label(label)]
        if missing:
            raise ValueError(
                f"{name} must not hold missing values: row {missing[0]} has none. Drop the row, or "
                "give it a query of its own."
            )
    return labels


def _numbered(labels: NDArray[Any]) -> Numbers:
    """Number labels as they appear; labels of several types need not be comparable."""
    if labels.dtype.kind == "O":
        number_of = {label: i for i, label in enumerate(dict.fromkeys(labels.tolist()))}
        return np.array([number_of[label] for label in labels.tolist()], dtype=np.intp)
    _, first, of_row = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of_row.ravel()]


def sizes_of_runs(query: Numbers) -> NDArray[np.int64]:
    """Return the numbers of rows of queries whose rows are adjacent, in turn.

    >>> sizes_of_runs(np.array([4, 4, 1, 1, 1])).tolist()
    [2, 3]
    """
    ends = np.append(np.flatnonzero(np.diff(query)) + 1, len(query))
    return np.diff(ends, prepend=0)


def order_of_queries(query: Numbers) -> Numbers | None:
    """Return the order that makes the rows of each query adjacent; None if they are.

    >>> order_of_queries(np.array([0, 1, 0])).tolist()
    [0, 2, 1]
    """
    if (np.diff(query) >= 0).all():
        return None
    return np.argsort(query, kind="stable")
