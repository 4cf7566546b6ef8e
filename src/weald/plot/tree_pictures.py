"""A tree as a picture: the root on the left, leaves on the right."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from weald.parameters import NoneOr, Whole
from weald.plot.nodes import Node, TreeNodes, nodes_of
from weald.plot.style import (
    BLUE,
    CLASS_COLOURS,
    FAINT,
    GREY,
    INK,
    ORANGE,
    PALE,
    checked_axes,
    colours_of,
    drawing,
    label,
    plain,
    shortened,
)
from weald.theory.arguments import check

# Sizes in inches at a font size of 8.
_FONT, _LETTER, _LINE, _PAD, _BAR = 8.0, 0.072, 0.15, 0.06, 0.06
_GAP_ACROSS, _GAP_DOWN = 0.55, 0.13
_TEXT_WIDTH = 30  # letters of a line


def tree(
    model: Any,
    tree: int = 0,
    *,
    max_depth: int = 5,
    max_categories: int | None = 5,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw one tree of a model: splits in words, class shares, numbers of rows.

    The root is on the left; the upper branch of a split is "yes". Thin bars show the shares of the
    classes (of more than eight, that of the most frequent), or where a number lies between the
    least and the largest prediction of the tree; lines are thicker where more rows pass. Options of
    an option tree start at one box.

    Parameters
    ----------
    model : fitted model
        Any model of weald that has trees, a decision tree of scikit-learn or an ensemble of them,
        or the result of `weald.distill`.
    tree : int, default=0
        Index of the tree in an ensemble.
    max_depth : int, default=5
        Depth to draw; what is below is drawn as one box.
    max_categories : int or None, default=5
        Number of categories of a split to list; the others are counted. None lists all.
    feature_names, class_names : list of str or None, default=None
        Names to show instead of those of the fit.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure that is large enough for the tree.

    Returns
    -------
    axes
        The axes of the picture.

    See Also
    --------
    graphviz : The same as text for Graphviz.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> model = weald.DecisionTreeClassifier(max_depth=2)
    >>> model = model.fit(iris.data, iris.target_names[iris.target])
    >>> ax = weald.plot.tree(model)
    >>> [text.get_text() for text in ax.texts if "setosa" in text.get_text()]
    ['setosa: 33 %, 150 rows', 'setosa: 100 %, 50 rows', 'setosa']
    >>> plt.close()
    """
    asked_by = "weald.plot.tree"
    check(asked_by, Whole(0, 100), max_depth=max_depth)
    check(asked_by, NoneOr(Whole(1)), max_categories=max_categories)
    found = nodes_of(model, tree, max_depth, feature_names, class_names, asked_by, max_categories)
    if ax is not None:
        checked_axes(ax)
    # A list that was asked for is written out; else a split has three lines.
    is_long = max_categories is None or max_categories > 5
    picture = _Picture(found, None if is_long else 3)
    with drawing(ax, picture.size) as axes:
        if ax is None:
            # The picture is laid out in inches, so the axes must fill the figure.
            axes.figure.set_layout_engine("none")
            axes.set_position((0, 0, 1, 1))
        picture.draw(axes)
    return axes


@dataclass(eq=False)
class _Box:
    """A node with its lines of text and its place."""

    node: Node
    lines: list[str]
    depth: int
    children: list[tuple[str, "_Box"]]
    x: float = 0.0
    y: float = 0.0
    width: float = field(init=False)
    height: float = field(init=False)

    def __post_init__(self) -> None:
        self.width = max(len(line) for line in self.lines) * _LETTER + 2 * _PAD
        has_bar = self.node.shares is not None or self.node.value is not None
        self.height = len(self.lines) * _LINE + 2 * _PAD + (_BAR if has_bar else 0.0)

    def all(self) -> Iterator["_Box"]:
        yield self
        for _, child in self.children:
            yield from child.all()


def _boxes(node: Node, most_lines: int | None, depth: int = 0) -> _Box:
    children = [(edge, _boxes(child, most_lines, depth + 1)) for edge, child in node.children]
    return _Box(node, _lines(node, most_lines), depth, children)


def _lines(node: Node, most: int | None) -> list[str]:
    facts = f"{shortened(node.answer, 24)}, {node.size}"
    if node.kind == "cut":
        return [facts, f"… {node.n_leaves} leaves below"]
    if node.kind == "leaf":
        return [facts]
    written = node.split if most is None else _short_split(node.split)
    split = textwrap.wrap(written, _TEXT_WIDTH, break_long_words=True)
    return [*(split or [node.split])[:most], facts]


def _short_split(split: str) -> str:
    """Shorten the names of a split, not its threshold."""
    for sign in (" ≤ ", " not in {", " in {"):
        name, found, rest = split.partition(sign)
        if found:
            sign = sign.replace(" ≤ ", " ≤\N{NO-BREAK SPACE}")  # no line ends there
            return f"{shortened(name)}{sign}{shortened(rest, 2 * _TEXT_WIDTH)}"
    return shortened(split, 2 * _TEXT_WIDTH)


class _Picture:
    """Boxes placed in inches, and how to draw them."""

    def __init__(self, nodes: TreeNodes, most_lines: int | None) -> None:
        self._root = _boxes(nodes.root, most_lines)
        self._boxes = list(self._root.all())
        self._classes, self._title = nodes.classes, nodes.title
        self._colours = colours_of(len(nodes.classes)) if nodes.classes is not None else []
        numbers = [box.node.value for box in self._boxes if box.node.value is not None]
        self._range = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
        self._place()

    def _place(self) -> None:
        """Leaves below each other, a split in the middle of its branches, a column per depth."""
        n_columns = max(box.depth for box in self._boxes) + 1
        widths = [
            max(box.width for box in self._boxes if box.depth == depth)
            for depth in range(n_columns)
        ]
        begins = [sum(widths[:depth]) + depth * _GAP_ACROSS for depth in range(n_columns)]
        self._head = 0.5 if self._classes is None else 0.75
        down = self._head
        for box in self._boxes:
            box.x = begins[box.depth] + 0.1
            if not box.children:
                box.y = down + box.height / 2
                down += box.height + _GAP_DOWN
        for box in reversed(self._boxes):  # children come after their parent
            if box.children:
                box.y = (box.children[0][1].y + box.children[-1][1].y) / 2
        n_words = max(len(self._title) * _LETTER * 1.3, self._legend_width())
        height = max(down, self._root.y + self._root.height / 2 + _GAP_DOWN)
        self.size = (max(begins[-1] + widths[-1] + 0.2, n_words + 0.3), height)

    def _legend_width(self) -> float:
        return sum(self._legend_step(name) for name in self._legend_names())

    def _legend_names(self) -> list[str]:
        names = self._classes or []
        if len(names) <= len(set(map(str, self._colours))) and len(names) <= 8:
            return [shortened(name, 20) for name in names]
        return []

    @staticmethod
    def _legend_step(name: str) -> float:
        return len(name) * _LETTER + 0.4

    def draw(self, axes: Any) -> None:
        width, height = self.size
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        box = axes.get_position()
        inches = axes.figure.get_size_inches() * (box.width, box.height)
        self._scale = min(1.0, inches[0] / width, inches[1] / height)
        for parent in self._boxes:
            for edge, child in parent.children:
                self._draw_edge(axes, parent, child, edge)
        for one in self._boxes:
            self._draw_box(axes, one)
        self._text(axes, 0.1, 0.2, plain(self._title), size=10.5, ha="left")
        self._draw_legend(axes)

    def _draw_edge(self, axes: Any, parent: _Box, child: _Box, edge: str) -> None:
        x = [parent.x + parent.width, 0.0, 0.0, child.x]
        x[1] = x[2] = child.x - 0.45
        share = child.node.weight / max(self._root.node.weight, 1e-300)
        axes.plot(
            [x[0], x[1], child.x - 0.3, x[3]],
            [parent.y, parent.y, child.y, child.y],
            color=GREY,
            linewidth=(0.6 + 3.4 * min(1.0, share)) * self._scale,
            solid_capstyle="butt",
            zorder=1,
        )
        if edge:
            self._text(axes, child.x - 0.15, child.y, edge, size=6.5, zorder=3, on_line=True)

    def _draw_box(self, axes: Any, box: _Box) -> None:
        from matplotlib.patches import FancyBboxPatch

        top = box.y - box.height / 2
        is_end = not box.children
        axes.add_patch(
            FancyBboxPatch(
                (box.x, top),
                box.width,
                box.height,
                boxstyle="round,pad=0,rounding_size=0.05",
                facecolor="white" if is_end else FAINT,
                edgecolor=self._edge_colour(box.node),
                linewidth=1.1 * self._scale,
                linestyle="--" if box.node.kind == "cut" else "-",
                zorder=2,
            )
        )
        for i, line in enumerate(box.lines):
            y = top + _PAD + (i + 0.5) * _LINE
            self._text(axes, box.x + _PAD, y, plain(line), ha="left", zorder=4)
        self._draw_bar(axes, box, top + box.height - _BAR)

    def _edge_colour(self, node: Node) -> Any:
        if node.kind == "options":
            return ORANGE
        if node.shares is not None and not node.children and len(node.shares) <= len(CLASS_COLOURS):
            return self._colours[int(node.shares.argmax())]
        return GREY if node.children else BLUE

    def _draw_bar(self, axes: Any, box: _Box, top: float) -> None:
        """Class shares, or the place of the prediction between the least and the largest."""
        from matplotlib.patches import Rectangle

        x, width = box.x + _PAD, box.width - 2 * _PAD

        def bar(begin: float, length: float, colour: Any) -> None:
            place = (x + begin * width, top - 0.01)
            axes.add_patch(
                Rectangle(place, length * width, 0.035, facecolor=colour, linewidth=0, zorder=4)
            )

        if box.node.shares is not None and len(box.node.shares) > len(CLASS_COLOURS):
            bar(0.0, 1.0, PALE)
            bar(0.0, float(box.node.shares.max()), BLUE)
        elif box.node.shares is not None:
            begin = 0.0
            for share, colour in zip(box.node.shares.tolist(), self._colours, strict=True):
                bar(begin, share, colour)
                begin += share
        elif box.node.value is not None and self._range[1] > self._range[0]:
            low, high = self._range
            place = (box.node.value - low) / (high - low)
            bar(0.0, 1.0, PALE)
            bar(min(0.97, max(0.0, place - 0.015)), 0.03, BLUE)

    def _draw_legend(self, axes: Any) -> None:
        from matplotlib.patches import Rectangle

        x = 0.1
        for name, colour in zip(self._legend_names(), self._colours, strict=False):
            axes.add_patch(Rectangle((x, 0.43), 0.11, 0.11, facecolor=colour, linewidth=0))
            self._text(axes, x + 0.17, 0.485, label(name, 20), ha="left")
            x += self._legend_step(name)

    def _text(
        self,
        axes: Any,
        x: float,
        y: float,
        text: str,
        *,
        size: float = _FONT,
        ha: str = "center",
        zorder: float = 3,
        on_line: bool = False,
    ) -> None:
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6} if on_line else None
        axes.text(
            x, y, text, fontsize=size * self._scale, ha=ha, va="center", color=INK,
            zorder=zorder, bbox=behind,
        )  # fmt: skip
