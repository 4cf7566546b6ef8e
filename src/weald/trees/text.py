"""Text representation of trees."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text
from weald.trees.forest import Forest

_SHOWN = 5  # maximum number of categories of a set to list


def tree_text(
    forest: Forest,
    tree: int,
    *,
    names: Sequence[str],
    answer: Callable[[NDArray[np.float64]], str],
    weight: str = "weight",
    levels: Sequence[Sequence[object] | None] | None = None,
) -> str:
    """Draw a tree: the split of each inner node, and the prediction and weight of each leaf.

    Parameters
    ----------
    names
        Column names.
    answer
        Formats the values of a leaf.
    weight
        Label of the leaf weight.
    levels
        Categories of each column; None if it is not categorical.
    """
    begin = int(forest.first_node[tree])
    first_leaf = int(forest.first_leaf[tree])
    lines: list[str] = []
    # (node, prefix of its line, prefix of its children's lines)
    stack = [(0, "", "")]
    while stack:
        node, lead, indent = stack.pop()
        at = begin + node
        if forest.feature[at] < 0:
            value = forest.value[first_leaf + int(forest.right[at])]
            lines.append(f"{lead}{answer(value)}  ({weight} {number_text(forest.weight[at], 6)})")
            continue
        lines.append(f"{lead}{split_text(forest, at, names, levels)}")
        stack.append((int(forest.right[at]), f"{indent}└─ no:  ", f"{indent}        "))
        stack.append((node + 1, f"{indent}├─ yes: ", f"{indent}│       "))
    return "\n".join(lines)


def split_text(
    forest: Forest,
    at: int,
    names: Sequence[str],
    levels: Sequence[Sequence[object] | None] | None,
    number: Callable[[int, float], str] | None = None,
    max_categories: int | None = _SHOWN,
) -> str:
    """Format the split of an inner node.

    Parameters
    ----------
    number
        Formats a threshold, given its column.
    max_categories
        Number of categories of a set to list; None: all.
    """
    column = int(forest.feature[at])
    name, threshold = names[column], float(forest.threshold[at])
    if forest.category_set[at] >= 0:
        known = levels[column] if levels is not None else None
        return f"{name} {_set_text(forest, at, known, max_categories)}?"
    if threshold == np.inf and not forest.missing_left[at]:
        return f"{name} is not missing?"
    # Omit the direction of missing values if there were none in training.
    shows_missing = forest.saw_missing is None or bool(forest.saw_missing[column])
    missing = " or missing" if forest.missing_left[at] and shows_missing else ""
    value = number_text(threshold, 6) if number is None else number(column, threshold)
    return f"{name} <= {value}{missing}?"


def _set_text(forest: Forest, at: int, levels: Sequence[object] | None, most: int | None) -> str:
    """List the categories on the side opposite to missing and unknown ones."""
    if levels is None:
        set_ = forest.category_set[at]
        n_words = int(forest.first_word[set_ + 1] - forest.first_word[set_])
        levels = [f"level {i}" for i in range(64 * n_words)]
    is_left = forest.levels_left(at, len(levels))
    others_left = bool(forest.missing_left[at])
    named = [str(levels[i]) for i in np.flatnonzero(is_left != others_left).tolist()]
    n_shown = len(named) if most is None else min(most, len(named))
    shown = ", ".join(named[:n_shown])
    more = f", … {len(named) - n_shown} more" if n_shown < len(named) else ""
    return f"{'not in' if others_left else 'in'} {{{shown}{more}}}"
