"""The decision path to a leaf as text."""

from collections.abc import Sequence

import numpy as np

from weald.number_text import number_text
from weald.trees.forest import Forest
from weald.trees.option_forest import OptionForest, way_to
from weald.trees.text import split_text

Levels = Sequence[Sequence[object] | None] | None


def conditions_of_leaf(
    forest: Forest, tree: int, leaf: int, names: Sequence[str], levels: Levels = None
) -> list[str]:
    """Return the conditions on the path to a leaf; redundant bounds are omitted."""
    begin = int(forest.first_node[tree])
    found: dict[tuple[object, ...], str] = {}
    for node, is_left in _path(forest, tree, leaf):
        at = begin + node
        text = _condition(forest, at, is_left, names, levels)
        # A later bound on the same column and side is tighter. Categorical conditions are all kept.
        key: tuple[object, ...] = (int(forest.feature[at]), is_left)
        if forest.category_set[at] >= 0 or forest.threshold[at] == np.inf:
            key = (*key, at)
        found.pop(key, None)
        found[key] = text
    return list(found.values())


def _path(forest: Forest, tree: int, leaf: int) -> list[tuple[int, bool]]:
    """Return the ancestors of a leaf, from the root, and whether it is in their left subtree."""
    nodes = slice(int(forest.first_node[tree]), int(forest.first_node[tree + 1]))
    feature, right = forest.feature[nodes], forest.right[nodes]
    target = int(np.flatnonzero((feature < 0) & (right == leaf))[0])
    if isinstance(forest, OptionForest):
        return way_to(forest, target)
    path: list[tuple[int, bool]] = []
    node = 0
    while node != target:
        is_left = target < right[node]
        path.append((node, bool(is_left)))
        node = node + 1 if is_left else int(right[node])
    return path


def _condition(forest: Forest, at: int, holds: bool, names: Sequence[str], levels: Levels) -> str:
    condition = split_text(forest, at, names, levels).removesuffix("?")
    if holds:
        return condition
    name = names[int(forest.feature[at])]
    rest = condition.removeprefix(f"{name} ")
    if forest.category_set[at] >= 0:
        return f"{name} {rest.removeprefix('not ') if rest.startswith('not ') else f'not {rest}'}"
    if rest == "is not missing":
        return f"{name} is missing"
    saw = forest.saw_missing
    shows_missing = saw is None or bool(saw[int(forest.feature[at])])
    missing = " or missing" if shows_missing and not forest.missing_left[at] else ""
    return f"{name} > {number_text(forest.threshold[at], 6)}{missing}"
