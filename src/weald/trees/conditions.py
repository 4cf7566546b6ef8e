"""The way to a leaf in words: the conditions that all its rows meet."""

from collections.abc import Sequence

import numpy as np

from weald.trees.forest import Forest
from weald.trees.text import question

Levels = Sequence[Sequence[object] | None] | None


def conditions_of_leaf(
    forest: Forest, tree: int, leaf: int, names: Sequence[str], levels: Levels = None
) -> list[str]:
    """What a row must meet to end in a leaf of a tree; of two bounds the tighter one."""
    begin = int(forest.first_node[tree])
    found: dict[tuple[object, ...], str] = {}
    for node, is_left in _way(forest, tree, leaf):
        at = begin + node
        text = _condition(forest, at, is_left, names, levels)
        # A later bound of the same column on the same side is tighter; sets all stay.
        key: tuple[object, ...] = (int(forest.feature[at]), is_left)
        if forest.category_set[at] >= 0 or forest.threshold[at] == np.inf:
            key = (*key, at)
        found.pop(key, None)
        found[key] = text
    return list(found.values())


def _way(forest: Forest, tree: int, leaf: int) -> list[tuple[int, bool]]:
    """The nodes above a leaf, from the root on, and whether it lies to the left of each."""
    nodes = slice(int(forest.first_node[tree]), int(forest.first_node[tree + 1]))
    feature, right = forest.feature[nodes], forest.right[nodes]
    way: list[tuple[int, bool]] = []
    node = 0
    target = int(np.flatnonzero((feature < 0) & (right == leaf))[0])
    while node != target:
        is_left = target < right[node]
        way.append((node, bool(is_left)))
        node = node + 1 if is_left else int(right[node])
    return way


def _condition(forest: Forest, at: int, holds: bool, names: Sequence[str], levels: Levels) -> str:
    asked = question(forest, at, names, levels).removesuffix("?")
    if holds:
        return asked
    name = names[int(forest.feature[at])]
    rest = asked.removeprefix(f"{name} ")
    if forest.category_set[at] >= 0:
        return f"{name} {rest.removeprefix('not ') if rest.startswith('not ') else f'not {rest}'}"
    if rest == "is there":
        return f"{name} is missing"
    saw = forest.saw_missing
    is_news = saw is None or bool(saw[int(forest.feature[at])])
    missing = " or missing" if is_news and not forest.missing_left[at] else ""
    return f"{name} > {float(forest.threshold[at]):.6g}{missing}"
