"""An option tree as text that a person can read."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from weald.trees.option_forest import OptionForest, options_at
from weald.trees.text import question


def option_tree_text(
    tree: OptionForest,
    *,
    names: Sequence[str],
    answer: Callable[[NDArray[np.float64]], str],
    merged_by: str,
    levels: Sequence[Sequence[object] | None] | None = None,
) -> str:
    """Draw an option tree: questions with their numbers in brackets, options under one head.

    Parameters
    ----------
    names
        A name for each column.
    answer
        Turns the values of a leaf into words.
    merged_by
        What is made of the answers of several options, such as "mean".
    levels
        For each column its levels, or None if it has an order.
    """
    lines: list[str] = []
    # (node, whether it begins its options, what stands before its line and before those below it)
    stack = [(0, True, "", "")]
    while stack:
        node, is_head, lead, indent = stack.pop()
        options = options_at(tree, node) if is_head else [node]
        if len(options) > 1:
            lines.append(f"{lead}{len(options)} options, {merged_by}")
            for option in reversed(options):
                is_last = option == options[-1]
                edge, more = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
                stack.append((option, False, indent + edge, indent + more))
            continue
        if tree.feature[node] < 0:
            value = tree.value[int(tree.right[node])]
            lines.append(f"{lead}{answer(value)}  (weight {tree.weight[node]:.6g})")
            continue
        lines.append(f"{lead}[{node}] {question(tree, node, names, levels)}")
        stack.append((int(tree.right[node]), True, f"{indent}└─ no:  ", f"{indent}        "))
        stack.append((node + 1, True, f"{indent}├─ yes: ", f"{indent}│       "))
    return "\n".join(lines)
