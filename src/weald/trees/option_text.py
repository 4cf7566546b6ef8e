"""Text representation of option trees."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text
from weald.trees.option_forest import OptionForest, options_at
from weald.trees.text import split_text


def option_tree_text(
    tree: OptionForest,
    *,
    names: Sequence[str],
    answer: Callable[[NDArray[np.float64]], str],
    merged_by: str,
    levels: Sequence[Sequence[object] | None] | None = None,
) -> str:
    """Draw an option tree: splits with node numbers in brackets, options grouped.

    Parameters
    ----------
    names
        Column names.
    answer
        Formats the values of a leaf.
    merged_by
        How predictions of several options are combined, such as "mean".
    levels
        Categories of each column; None if it is not categorical.
    """
    lines: list[str] = []
    # (node, whether it is a first option, prefix of its line, prefix of the lines below)
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
            lines.append(f"{lead}{answer(value)}  (weight {number_text(tree.weight[node], 6)})")
            continue
        lines.append(f"{lead}[{node}] {split_text(tree, node, names, levels)}")
        stack.append((int(tree.right[node]), True, f"{indent}└─ no:  ", f"{indent}        "))
        stack.append((node + 1, True, f"{indent}├─ yes: ", f"{indent}│       "))
    return "\n".join(lines)
