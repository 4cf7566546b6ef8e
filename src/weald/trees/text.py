"""One tree as text that a person can read."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from weald.trees.forest import Forest


def tree_text(
    forest: Forest,
    tree: int,
    *,
    names: Sequence[str],
    answer: Callable[[NDArray[np.float64]], str],
    weight: str = "weight",
) -> str:
    """Draw a tree: a question per inner node, an answer per leaf, with what its rows weigh.

    Parameters
    ----------
    names
        A name for each column.
    answer
        Turns the values of a leaf into words.
    weight
        What the weight of a leaf is called.
    """
    begin = int(forest.first_node[tree])
    first_leaf = int(forest.first_leaf[tree])
    lines: list[str] = []
    # (node, what stands before its line, what stands before its children's lines)
    stack = [(0, "", "")]
    while stack:
        node, lead, indent = stack.pop()
        at = begin + node
        if forest.feature[at] < 0:
            value = forest.value[first_leaf + int(forest.right[at])]
            lines.append(f"{lead}{answer(value)}  ({weight} {forest.weight[at]:.6g})")
            continue
        lines.append(f"{lead}{_question(forest, at, names)}")
        stack.append((int(forest.right[at]), f"{indent}└─ no:  ", f"{indent}        "))
        stack.append((node + 1, f"{indent}├─ yes: ", f"{indent}│       "))
    return "\n".join(lines)


def _question(forest: Forest, at: int, names: Sequence[str]) -> str:
    name, threshold = names[int(forest.feature[at])], float(forest.threshold[at])
    if threshold == np.inf and not forest.missing_left[at]:
        return f"{name} is there?"
    missing = " or missing" if forest.missing_left[at] else ""
    return f"{name} <= {threshold:.6g}{missing}?"
