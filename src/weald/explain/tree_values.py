"""Exact Shapley values of sums of trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import dense_blocks, is_plain_table, plan_of, table_for_predict
from weald.ensembles.bagging.bag_fitting import take_columns
from weald.explain.additive import AdditiveForm, Term

Floats = NDArray[np.float64]

# Paths of trees with more columns would need too much time and memory; the core refuses them.
MOST_COLUMNS_OF_PATH = 1024

# Sums of leaf values that differ by less are equal.
_NEAR = 1e-12


def path_dependent(
    form: AdditiveForm, X: Any, n_columns: int, n_threads: int, *, interactions: bool
) -> tuple[Floats, Floats]:
    """Shapley values, or interaction values, with the weights of the nodes as background.

    Parameters
    ----------
    form : AdditiveForm
        The model as a sum of trees.
    X : table
        Rows to explain.
    n_columns : int
        Number of columns of X.
    n_threads : int
        Number of threads.
    interactions : bool
        Whether to compute interaction values.

    Returns
    -------
    values : array, shape (rows, columns, outputs) or (rows, columns, columns, outputs)
    base_values : array, shape (outputs,)
    """
    values: Floats | None = None
    base = form.constant.copy()
    for term in form.terms:
        core = _core(term, n_columns)
        base += core.expected() @ term.weights
        computed, weights = _outputs_to_compute(term)
        parts = []
        for block in _blocks(term, X):
            explain = core.interactions if interactions else core.values
            parts.append(explain(block, computed, n_threads) @ weights)
        own = parts[0] if len(parts) == 1 else np.concatenate(parts)
        values = own if values is None else np.add(values, own, out=values)
    assert values is not None  # every form has a term
    return values, base


def against_background(
    form: AdditiveForm, X: Any, background: Any, n_columns: int, n_threads: int
) -> tuple[Floats, Floats]:
    """Shapley values with unknown columns taken from background rows, as `path_dependent`."""
    values: Floats | None = None
    base = form.constant.copy()
    for term in form.terms:
        core = _native.BackgroundShap(**_arguments(term, n_columns))
        rows = np.concatenate(list(_blocks(term, background))).astype(np.float64, copy=False)
        base += term.forest.predict(rows, n_threads=n_threads).mean(axis=0) @ term.weights
        computed, weights = _outputs_to_compute(term)
        parts = [
            core.values(block, rows, computed, n_threads) @ weights for block in _blocks(term, X)
        ]
        own = parts[0] if len(parts) == 1 else np.concatenate(parts)
        values = own if values is None else np.add(values, own, out=values)
    assert values is not None  # every form has a term
    return values, base


def _core(term: Term, n_columns: int) -> "_native.TreeShap":
    forest = term.forest
    if not np.isfinite(forest.weight).all():
        raise ValueError(
            "The weights of the trees' nodes overflow, so that their shares of the rows are "
            "unknown. Pass background=, a table of typical rows, or fit with smaller weights."
        )
    roots = forest.first_node[:-1]
    if not (forest.weight[roots] > 0)[forest.feature[roots] >= 0].all():
        raise ValueError(
            "The nodes of a tree have no weights, so that their shares of the rows are unknown. "
            "Pass background=, a table of typical rows."
        )
    core = _native.TreeShap(**_arguments(term, n_columns), weight=forest.weight)
    if core.most_players() > MOST_COLUMNS_OF_PATH:
        raise ValueError(
            f"A path of the trees splits on {core.most_players()} different columns; at most "
            f"{MOST_COLUMNS_OF_PATH} are supported. Fit with a smaller max_depth."
        )
    return core


def _arguments(term: Term, n_columns: int) -> dict[str, Any]:
    """The arrays of the trees, and the input column of each column that they split on."""
    owner = plan_of(term.reader).owner
    if term.columns is not None:
        owner = term.columns[owner]
    arrays = term.forest.native_arrays()
    return {
        **arrays,
        "category_set": np.ascontiguousarray(arrays["category_set"]),
        "player": owner.astype(np.int32),
        "n_players": n_columns,
    }


def _outputs_to_compute(term: Term) -> tuple[list[int], Floats]:
    """The outputs of the forest to explain, and the weights of their values.

    If the leaf values of all outputs have the same sum, as probabilities have, the values of the
    last output are minus the sum of the others.
    """
    forest, weights = term.forest, term.weights
    n = forest.n_outputs
    if n > 1 and forest.n_trees and forest.output[0] < 0:
        sums = forest.value.sum(axis=1)
        if np.ptp(sums) <= _NEAR * np.abs(forest.value).max():
            return list(range(n - 1)), weights[:-1] - weights[-1]
    return list(range(n)), weights


def _blocks(term: Term, X: Any) -> Iterator[Any]:
    """The rows as arrays of the columns that the trees split on."""
    rows = take_columns(X, term.columns)
    if is_plain_table(rows, term.reader):
        return dense_blocks(rows)
    return dense_blocks(table_for_predict(term.reader, rows))
