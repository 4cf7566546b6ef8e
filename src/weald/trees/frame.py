"""All nodes of a forest as a data frame."""

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.trees.forest import Forest
from weald.trees.view import depths

LIBRARIES = ("pandas", "polars")


def node_columns(
    forest: Forest,
    *,
    names: Sequence[str],
    levels: Sequence[Sequence[object] | None],
) -> dict[str, Any]:
    """Return columns with one row per node, tree by tree in pre-order.

    Parameters
    ----------
    names
        Column names.
    levels
        Categories of each column; None if it is not categorical.
    """
    is_leaf = forest.feature < 0
    sizes = np.diff(forest.first_node)
    tree = np.repeat(np.arange(forest.n_trees, dtype=np.int64), sizes)
    node = np.arange(len(tree), dtype=np.int64) - forest.first_node[:-1][tree]
    has_threshold = ~is_leaf & (forest.category_set < 0)
    side = np.where(forest.missing_left.astype(bool), "left", "right")
    return {
        "tree": tree,
        "node": node,
        "depth": depths(forest),
        "output": forest.output.astype(np.int64)[tree],
        "tree_weight": forest.tree_weight[tree],
        "left": np.where(is_leaf, -1, node + 1),
        "right": np.where(is_leaf, -1, forest.right.astype(np.int64)),
        "feature": [None if column < 0 else names[column] for column in forest.feature.tolist()],
        "threshold": np.where(has_threshold, forest.threshold, np.nan),
        "levels": [
            _levels_left(forest, at, levels) if forest.category_set[at] >= 0 else None
            for at in range(len(tree))
        ],
        "missing": [
            None if leaf else str(where) for leaf, where in zip(is_leaf, side, strict=True)
        ],
        "gain": np.where(is_leaf, np.nan, forest.gain),
        "weight": forest.weight,
        "value": _values(forest, is_leaf, tree),
    }


def made_frame(columns: dict[str, Any], library: str | None, method: str, instead: str) -> Any:
    """Make a data frame of the given library, or of the first one installed if None.

    Parameters
    ----------
    method, instead
        Who asks, and what can be read without the library, for messages.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    wanted = LIBRARIES if library is None else (library,)
    found = [name for name in wanted if find_spec(name) is not None]
    if not found:
        raise ImportError(
            f"{method} needs {' or '.join(wanted)}, which cannot be imported. Install "
            f"{'one of them' if len(wanted) > 1 else 'it'}, or read {instead}."
        )
    module = importlib.import_module(found[0])
    return module.DataFrame(columns)


def _levels_left(
    forest: Forest, at: int, levels: Sequence[Sequence[object] | None]
) -> list[str] | None:
    known = levels[int(forest.feature[at])] or ()
    is_left = forest.levels_left(at, len(known))
    return [str(known[i]) for i in np.flatnonzero(is_left).tolist()]


def _values(forest: Forest, is_leaf: NDArray[np.bool_], tree: NDArray[np.int64]) -> Any:
    """Leaf values; lists if leaves have several values."""
    row = forest.first_leaf[:-1][tree[is_leaf]] + forest.right[is_leaf]
    if forest.value.shape[1] == 1:
        value = np.full(len(tree), np.nan)
        value[is_leaf] = forest.value[row, 0]
        return value
    values: list[Any] = [None] * len(tree)
    leaf_values = forest.value[row].tolist()
    for at, leaf_value in zip(np.flatnonzero(is_leaf).tolist(), leaf_values, strict=True):
        values[at] = leaf_value
    return values
