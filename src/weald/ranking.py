"""Measures of rankings: how well scores order the rows of each query.

All are means over queries. Rows of equal scores are in all their orders at once, so that no measure
depends on the order of the rows. Queries of which no row is relevant are left out: nothing in them
can be ranked.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.advice import advise
from weald.data import checked_weights, finite_target
from weald.data.queries import order_of_queries, queries_of_rows, sizes_of_runs
from weald.losses.ranking import ALL_PLACES, checked_gains, gains_of, measures
from weald.threads import thread_count

__all__ = ["map_score", "mrr_score", "ndcg_score"]

Floats = NDArray[np.float64]


def ndcg_score(
    y_true: Any,
    y_score: Any,
    *,
    group: Any = None,
    qid: Any = None,
    k: int | None = None,
    label_gain: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean NDCG: the discounted gain of the first places, over the largest possible.

    For each query as `sklearn.metrics.ndcg_score` of the gains.

    Parameters
    ----------
    y_true : array, shape (rows,)
        Labels: grades of relevance 0, 1, 2, …
    y_score : array, shape (rows,)
        Scores, such as predictions; larger ones rank first.
    group : array or None, default=None
        Number of rows of each query, whose rows are adjacent. Either `group` or `qid` is required.
    qid : array, shape (rows,), or None, default=None
        Label of each row's query.
    k : int or None, default=None
        Number of places that count; None: all.
    label_gain : list of float or None, default=None
        What each label is worth; None: ``2**label - 1``.
    sample_weight : array or None, default=None
        One weight per query, or one per row; the weight of a query is then the mean of its rows'.

    Examples
    --------
    >>> from weald.ranking import ndcg_score
    >>> labels, scores = [2, 0, 1, 0, 1], [0.9, 0.2, 0.1, 0.3, 0.4]
    >>> round(ndcg_score(labels, scores, qid=["a", "a", "a", "b", "b"]), 3)
    0.982
    """
    gains = None if label_gain is None else checked_gains(label_gain)
    if label_gain is not None and gains is None:
        raise ValueError(
            "label_gain must be a list of at least two numbers from 0 on that do not decrease; got "
            f"{label_gain!r}."
        )
    return mean_measure(
        "ndcg", y_true, y_score, group, qid, k, label_gain=gains, sample_weight=sample_weight
    )


def map_score(
    y_true: Any,
    y_score: Any,
    *,
    group: Any = None,
    qid: Any = None,
    k: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean average precision; rows of labels above 0 are relevant.

    For each query as `sklearn.metrics.average_precision_score`, if all places count.

    Parameters
    ----------
    y_true, y_score, group, qid, k, sample_weight
        As in `ndcg_score`.

    Examples
    --------
    >>> from weald.ranking import map_score
    >>> map_score([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], group=[4]) == (1 + 2 / 3) / 2
    True
    """
    return mean_measure("map", y_true, y_score, group, qid, k, sample_weight=sample_weight)


def mrr_score(
    y_true: Any,
    y_score: Any,
    *,
    group: Any = None,
    qid: Any = None,
    k: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean reciprocal rank: 1 / the place of the first relevant row, whose label is above 0.

    Parameters
    ----------
    y_true, y_score, group, qid, k, sample_weight
        As in `ndcg_score`; a query without a relevant row among the first k counts 0.

    Examples
    --------
    >>> from weald.ranking import mrr_score
    >>> mrr_score([0, 1, 1, 0], [4.0, 3.0, 2.0, 1.0], group=[2, 2])
    0.75
    """
    return mean_measure("mrr", y_true, y_score, group, qid, k, sample_weight=sample_weight)


def mean_measure(
    measure: str,
    y_true: Any,
    y_score: Any,
    group: Any,
    qid: Any,
    k: int | None,
    *,
    label_gain: tuple[float, ...] | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean of a measure ("ndcg", "map", "mrr") over the queries."""
    y, scores = _numbers(y_true, "y_true"), _numbers(y_score, "y_score")
    if len(y) != len(scores):
        raise ValueError(
            f"y_true has {len(y)} rows and y_score has {len(scores)}; they must have one per row."
        )
    if k is not None and (not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1):
        raise ValueError(f"k must be an int of at least 1, or None for all places; got {k!r}.")
    query = queries_of_rows(len(y), group, qid, table="y_true")
    weight = weights_of_rows(sample_weight, query)
    order = order_of_queries(query)
    if order is not None:
        y, scores, query = y[order], scores[order], query[order]
        weight = None if weight is None else weight[order]
    first = np.concatenate([[0], np.cumsum(sizes_of_runs(query))]).astype(np.int64)
    places = ALL_PLACES if k is None else int(k)
    gains = gains_of(y, measure, label_gain, "y_true")
    values = measures(measure, first, gains, scores, places, thread_count(None))
    return mean_of_queries(values, None if weight is None else means_of_queries(weight, first))


def mean_of_queries(values: Floats, weight: Floats | None) -> float:
    """Weighted mean of a measure of queries, without those for which it is not defined (NaN)."""
    known = ~np.isnan(values)
    mass = np.ones(len(values)) if weight is None else weight
    used = known.astype(np.int64)
    total = _native.exact_total(mass, used)
    if total == 0.0:
        advise(
            "No query has a relevant row (a label above 0), so that the measure is not defined; it "
            "is set to 0.0."
        )
        return 0.0
    return _native.exact_total(np.where(known, values, 0.0) * mass, used) / total


def means_of_queries(values: Floats, first: NDArray[np.int64]) -> Floats:
    """Mean of the values of each query's rows, added in the order of the rows."""
    sizes = np.diff(first)
    query = np.repeat(np.arange(len(sizes)), sizes)
    return np.asarray(np.bincount(query, weights=values, minlength=len(sizes)) / sizes)


def weights_of_rows(sample_weight: Any, query: NDArray[np.intp]) -> Floats | None:
    """Return one weight per row; given are these, or one per query in the order they appear."""
    if sample_weight is None:
        return None
    given, n_queries = np.shape(sample_weight), int(query.max(initial=-1)) + 1
    if given == (n_queries,) and n_queries != len(query):
        return checked_weights(sample_weight, n_queries, table="the queries")[query]
    if len(given) == 1 and given != query.shape:
        raise ValueError(
            f"sample_weight.shape == {given}, expected one weight per row, {query.shape}, or one "
            f"per query, {(n_queries,)}."
        )
    return checked_weights(sample_weight, len(query))


def _numbers(values: Any, name: str) -> Floats:
    array = np.asarray(values)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} must have one number per row; got the shape {array.shape}.")
    try:
        return finite_target(array)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
