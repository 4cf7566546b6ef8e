"""Rows of a ranking: their order in a fit, and how held-out queries are scored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows, ValidationRows
from weald.data.queries import order_of_queries, queries_of_rows, sizes_of_runs
from weald.data.validation import ONE_SET, by_set, is_several
from weald.ensembles.base import Floats
from weald.ensembles.members.members import take
from weald.ensembles.rounds.loop import Training
from weald.ensembles.rounds.scoring import LOSS, HeldOutSet
from weald.groups import Groups
from weald.losses import RankingLoss
from weald.losses.ranking import ALL_PLACES, gains_of, measures
from weald.ranking import mean_of_queries, means_of_queries, weights_of_rows
from weald.resampling import OrderedRows

Numbers = NDArray[np.intp]

_MEASURE = re.compile(r"(ndcg|map|mrr)(?:@([1-9][0-9]{0,8}))?")


def ordered_by_query(rows: Rows, query: Numbers, n_threads: int) -> tuple[Rows, OrderedRows]:
    """Return the rows with their queries as groups, and the order of the fit: query by query.

    Queries are ordered by their content, which is that of their rows, whatever their labels and
    places; so are the rows of a query, whose scores may be equal. Draws of queries depend on their
    content, too, and on their number among equal queries.
    """
    hashes, weight = rows.hashes(n_threads), rows.total_weight
    by_content, _ = _native.numbered_rows(hashes, weight)
    place = np.empty(len(by_content), dtype=np.intp)
    place[by_content] = np.arange(len(by_content))
    _, query = np.unique(query, return_inverse=True)  # without those of which no row has a weight
    query = query.ravel()
    order = np.lexsort((place, query))
    first = np.concatenate([[0], np.cumsum(sizes_of_runs(query[order]))])
    # Sums that wrap around; whether rows lie in one query or another changes two of them.
    of_query = np.add.reduceat(hashes[order], first[:-1], axis=0)
    heavy = None
    if weight is not None:
        heavy = means_of_queries(weight[order], first)
    by_query, keys = _native.numbered_rows(np.ascontiguousarray(of_query), heavy)
    rank = np.empty(len(by_query), dtype=np.intp)
    rank[by_query] = np.arange(len(by_query))
    groups = Groups(keys, rank[query])
    index = np.lexsort((place, groups.of_row))
    in_order = groups.take(index)
    return replace(rows, groups=groups), OrderedRows(index, in_order.keys_of_rows, in_order)


def loss_of_rows(loss: RankingLoss, training: Training) -> RankingLoss:
    """Return the loss of the rows of a fit; its queries are adjacent, as are those of `X_val`."""
    assert training.keys is not None
    validation = training.validation
    n = training.rows.n - (0 if validation is None else validation.n)
    own = training.keys[:n]
    begins = np.flatnonzero((own[1:] != own[:-1]).any(axis=1)) + 1
    sizes = np.diff(np.concatenate([[0], begins, [n]]))
    if validation is not None:
        assert validation.query_sizes is not None
        sizes = np.concatenate([sizes, validation.query_sizes])
    found = loss.of_queries(sizes, training.rows.target)
    if not (_of_training(found, training) > 0.0).any():
        raise ValueError(
            f"No query has rows of different labels (n_samples = {n} in {len(sizes)} queries), so "
            "that there is nothing to learn. Check y, and group or qid: rows are only compared "
            "with rows of the same query."
        )
    return found


def _of_training(loss: RankingLoss, training: Training) -> Floats:
    """The units of the queries that are not held out."""
    assert loss.rows is not None
    unit = loss.rows.unit
    if training.held_out is None:
        return unit
    return unit[~training.held_out[loss.rows.first[:-1]]]


@dataclass(frozen=True, eq=False)
class ValidationArguments:
    """The arguments of `fit` for validation sets, with the rows of each query adjacent.

    Attributes
    ----------
    X, y, weight, offset : table and arrays, dicts of them, or None
        As `fit` takes them.
    sizes : int64 array or None
        Number of rows of each query of all sets in turn.
    """

    X: Any
    y: Any
    weight: Any
    offset: Any
    sizes: NDArray[np.int64] | None = None

    def with_queries(self, group: Any, qid: Any) -> "ValidationArguments":
        """Read the queries, and put their rows side by side."""
        if self.X is None or self.y is None:
            if group is None and qid is None:
                return self
            name = "qid_val" if group is None else "group_val"
            raise ValueError(
                f"{name} is given without X_val and y_val. It holds the queries of that validation "
                "set; leave it out, or pass all three."
            )
        groups, qids = by_set(group, "group_val", self.X), by_set(qid, "qid_val", self.X)
        weights = by_set(self.weight, "sample_weight_val", self.X)
        labels, offsets = by_set(self.y, "y_val", self.X), by_set(self.offset, "offset_val", self.X)
        tables = dict(self.X) if is_several(self.X) else {ONE_SET: self.X}
        sizes = []
        for name in tables:
            suffix = f"_val[{name!r}]" if is_several(self.X) else "_val"
            n, own = len(labels[name]), (groups.get(name), qids.get(name))
            query = queries_of_rows(n, *own, suffix=suffix, table=f"y{suffix}")
            if weights.get(name) is not None:
                weights[name] = weights_of_rows(weights[name], query)
            order = order_of_queries(query)
            if order is not None:
                query = query[order]
                for values in (tables, labels, weights, offsets):
                    if values.get(name) is not None:
                        values[name] = _taken(values[name], order)
            sizes.append(sizes_of_runs(query))
        X, y, weight, offset = (
            _as_given(one, several=is_several(self.X)) for one in (tables, labels, weights, offsets)
        )
        return ValidationArguments(X, y, weight, offset, np.concatenate(sizes))

    def in_rows(self, validation: ValidationRows | None) -> ValidationRows | None:
        """Set the queries of the validation rows."""
        return None if validation is None else replace(validation, query_sizes=self.sizes)


def _taken(values: Any, order: Numbers) -> Any:
    """Select rows of a table, or of an array or list beside it."""
    return take(np.asarray(values) if isinstance(values, (list, tuple)) else values, order)


def _as_given(of_set: dict[str, Any], *, several: bool) -> Any:
    """The values of one set, or a dict; None: there are none."""
    return (of_set or None) if several else of_set.get(ONE_SET)


class MeasureScorer:
    """Scores held-out queries after a round by NDCG, MAP or MRR.

    Parameters
    ----------
    model : BoostedTreesRanker
        The model that is being fitted; its trees are not needed.
    measure : str
        "ndcg", "map" or "mrr", followed by "@" and a number of places if only these count.
    held_out : HeldOutSet
        The rows.
    loss : RankingLoss
        The loss of all rows of the fit.
    """

    def __init__(
        self, model: Any, measure: str, held_out: HeldOutSet, loss: RankingLoss, *_: Any, **__: Any
    ) -> None:
        self._name, self._k = parsed(measure)
        training = held_out.training
        self._index = held_out.index[training.validation_copies[held_out.index] > 0]
        rows = loss.of_rows(self._index).rows
        assert rows is not None
        self._first, self._n_threads = rows.first, loss.n_threads
        labels = training.rows.target[self._index]
        self._gains = gains_of(labels, self._name, loss.label_gain)
        weight = training.validation_weight
        self._weight = None
        if weight is not None:
            self._weight = means_of_queries(weight[self._index], self._first)

    def __call__(self, scores: Floats) -> float:
        """Return the mean of the measure at these raw scores."""
        own = scores[0].take(self._index)
        values = measures(self._name, self._first, self._gains, own, self._k, self._n_threads)
        return mean_of_queries(values, self._weight)


def parsed(measure: str) -> tuple[str, int]:
    """Return the name of a measure and the number of places that count.

    >>> parsed("ndcg@10")
    ('ndcg', 10)
    """
    found = _MEASURE.fullmatch(measure)
    assert found is not None
    return found[1], int(found[2]) if found[2] else ALL_PLACES


@dataclass(frozen=True)
class Measure:
    """Validation of the `scoring` parameter of a ranker."""

    expected: str = "'loss', 'ndcg', 'map' or 'mrr', or one of these at a place, such as 'ndcg@10'"

    def admits(self, value: object) -> bool:
        return isinstance(value, str) and (value == LOSS or _MEASURE.fullmatch(value) is not None)


@dataclass(frozen=True)
class SomeMeasures:
    """Validation of the `metrics` parameter of a ranker."""

    expected: str = "a list of 'loss', 'ndcg', 'map', 'mrr', or of these at a place ('ndcg@10')"

    def admits(self, value: object) -> bool:
        if isinstance(value, (str, Mapping)) or not isinstance(value, (list, tuple)):
            return False
        return len(value) > 0 and all(Measure().admits(one) for one in value)
