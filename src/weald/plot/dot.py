"""A tree as text in the language of Graphviz."""

from collections.abc import Sequence
from typing import Any

from weald.parameters import NoneOr, Whole
from weald.plot.nodes import Node, nodes_of
from weald.plot.style import CLASS_COLOURS
from weald.theory.arguments import check


def graphviz(
    model: Any,
    tree: int = 0,
    *,
    max_depth: int | None = None,
    max_categories: int | None = 5,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> str:
    r"""Write one tree of a model as text for Graphviz; needs no other library.

    ``dot -Tsvg tree.dot`` makes a picture of it, and so does ``graphviz.Source(text)`` in a
    notebook.

    Parameters
    ----------
    model : fitted model
        As for `tree`.
    tree : int, default=0
        Index of the tree in an ensemble.
    max_depth : int or None, default=None
        Depth to write; None means all of it.
    max_categories : int or None, default=5
        Number of categories of a split to list; the others are counted. None lists all.
    feature_names, class_names : list of str or None, default=None
        Names to show instead of those of the fit.

    Returns
    -------
    str
        A graph in the DOT language.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
    >>> print(weald.plot.graphviz(model, feature_names=["age"]))
    digraph tree {
    rankdir=LR
    node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"]
    edge [fontname="sans-serif"]
    n0 [label="age ≤ 1.5?\n15, 2 rows"]
    n1 [label="10, 1 row"]
    n0 -> n1 [label="yes"]
    n2 [label="20, 1 row"]
    n0 -> n2 [label="no"]
    }
    """
    check("weald.plot.graphviz", NoneOr(Whole(0)), max_depth=max_depth)
    depth = 300 if max_depth is None else min(int(max_depth), 300)
    check("weald.plot.graphviz", NoneOr(Whole(1)), max_categories=max_categories)
    asked_by = "weald.plot.graphviz"
    found = nodes_of(model, tree, depth, feature_names, class_names, asked_by, max_categories)
    lines = [
        "digraph tree {",
        "rankdir=LR",
        'node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"]',
        'edge [fontname="sans-serif"]',
    ]
    _write(found.root, lines, [0])
    return "\n".join([*lines, "}"])


def _write(node: Node, lines: list[str], counter: list[int]) -> int:
    """Append the lines of a node and of what is below it; return the node's number."""
    number = counter[0]
    counter[0] += 1
    lines.append(f"n{number} [{_attributes(node)}]")
    for edge, child in node.children:
        below = _write(child, lines, counter)
        lines.append(f"n{number} -> n{below}" + (f" [label={_quoted(edge)}]" if edge else ""))
    return number


def _attributes(node: Node) -> str:
    facts = f"{node.answer}, {node.size}"
    parts = [node.split, facts] if node.split else [facts]
    if node.kind == "cut":
        parts.append(f"… {node.n_leaves} leaves below")
    text = f"label={_quoted(*parts)}"
    if node.kind == "options":
        return f"{text}, shape=hexagon"
    if node.shares is not None and not node.children and len(node.shares) <= len(CLASS_COLOURS):
        return f'{text}, color="{CLASS_COLOURS[int(node.shares.argmax())]}"'
    return text


def _quoted(*lines: str) -> str:
    """Quote lines of text; backslashes and quotes are escaped."""
    escaped = [" ".join(line.split()).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'
