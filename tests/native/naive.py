"""Slow and obviously right twins of the core: cuts, codes, histogram, split and tree.

Sums are exact (whole numbers and fractions); nothing here is shared with the core.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from native.naive_bins import codes_of_column as codes_of_column
from native.naive_bins import cut_between as cut_between
from native.naive_bins import cuts_of_column as cuts_of_column
from native.naive_columns import ColumnTwin

# Two gains closer than this, in parts of the scores they are differences of, are equal to doubles.
NEAR = 1e-12
# The core adds integers: it may round what a row adds by this part of the largest addend.
STEP = 2.0**-53


# ---- what rows add up to ----


def exactly(value: float) -> int | Fraction:
    return int(value) if float(value).is_integer() else Fraction(float(value))


@dataclass(frozen=True)
class Cell:
    """What some rows add up to: W, S of each channel, and how many copies they are."""

    weight: int | Fraction
    sums: tuple[int | Fraction, ...]
    copies: int

    def __add__(self, other: "Cell") -> "Cell":
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return Cell(self.weight + other.weight, sums, self.copies + other.copies)

    def __sub__(self, other: "Cell") -> "Cell":
        sums = tuple(a - b for a, b in zip(self.sums, other.sums, strict=True))
        return Cell(self.weight - other.weight, sums, self.copies - other.copies)


@dataclass(frozen=True)
class Lesson:
    """Training data of each row: its cell (all copies of it), and its target."""

    cells: list[Cell]
    target: list[object]

    @property
    def nothing(self) -> Cell:
        return Cell(0, tuple(0 for _ in self.cells[0].sums), 0)

    def rounding(self) -> tuple[float, float]:
        """How far one copy may move W and S by being rounded to an integer."""
        seen = [cell for cell in self.cells if cell.copies]
        weight = max(float(cell.weight / Fraction(cell.copies)) for cell in seen)
        sums = max(abs(float(s / Fraction(cell.copies))) for cell in seen for s in cell.sums)
        return STEP * weight, STEP * sums

    def total(self, rows) -> Cell:
        return sum((self.cells[row] for row in rows), self.nothing)


def lesson_from_sums(gradient, hessian, copies) -> Lesson:
    """`gradient` has the shape (rows,) or (scores, rows)."""
    rows = np.atleast_2d(gradient).T.tolist()
    n = len(rows)
    hessian = [1.0] * n if hessian is None else hessian
    copies = [1] * n if copies is None else [int(c) for c in copies]
    cells = [
        Cell(exactly(h) * c, tuple(exactly(g) * c for g in row), c)
        for row, h, c in zip(rows, hessian, copies, strict=True)
    ]
    return Lesson(cells, [tuple(row) for row in rows])


def lesson_from_values(values, weight, copies) -> Lesson:
    """`values` has the shape (outputs, rows)."""
    rows = np.asarray(values).T.tolist()
    weight = [1.0] * len(rows) if weight is None else weight
    copies = [1] * len(rows) if copies is None else [int(c) for c in copies]
    cells = [
        Cell(exactly(w) * c, tuple(exactly(w) * exactly(y) * c for y in row), c)
        for row, w, c in zip(rows, weight, copies, strict=True)
    ]
    return Lesson(cells, [tuple(row) for row in rows])


def lesson_from_classes(classes, n_classes: int, weight, copies) -> Lesson:
    one_hot = np.eye(n_classes)[np.asarray(classes)].T
    return lesson_from_values(one_hot, weight, copies)


# ---- splits ----


@dataclass(frozen=True)
class Penalty:
    """Constraints on the value of a leaf; the bounds are those of its node."""

    l2: int | Fraction = 0
    l1: int | Fraction = 0
    lower: float | Fraction = -math.inf
    upper: float | Fraction = math.inf


def newton_value(cell: Cell, penalty: Penalty) -> Fraction:
    """The value of least loss S w + (W + l2) w^2 / 2 + l1 |w| within the bounds."""
    gradient, curvature = cell.sums[0], cell.weight + penalty.l2
    size = max(abs(gradient) - penalty.l1, 0)
    value = Fraction(size if gradient < 0 else -size) / curvature if curvature > 0 else Fraction(0)
    return min(max(value, penalty.lower), penalty.upper)


def directed_value(criterion: str, cell: Cell, penalty: Penalty) -> Fraction | float:
    """What a direction is about: the only number, or the share of the second of two classes.

    Newton's are held by bounds; others are compared with them, rounded as doubles are.
    """
    if criterion == "newton":
        return newton_value(cell, penalty)
    return float(Fraction(cell.sums[-1]) / cell.weight)


def score(criterion: str, cell: Cell, penalty: Penalty) -> Fraction | float:
    if criterion == "newton":
        if len(cell.sums) > 1:  # several scores have no bounds
            shrunk = [max(abs(s) - penalty.l1, 0) for s in cell.sums]
            return Fraction(sum(s**2 for s in shrunk)) / (2 * (cell.weight + penalty.l2))
        w = newton_value(cell, penalty)
        curvature = cell.weight + penalty.l2
        return -(cell.sums[0] * w + curvature * w * w / 2 + penalty.l1 * abs(w))
    if criterion in ("squared_error", "gini"):
        return Fraction(sum(s**2 for s in cell.sums)) / cell.weight
    if criterion == "entropy":
        return math.fsum(float(s) * math.log2(s / cell.weight) for s in cell.sums if s > 0)
    if criterion == "poisson":
        return math.fsum(float(s) * math.log(s / cell.weight) for s in cell.sums if s > 0)
    raise ValueError(f"no twin for the criterion {criterion!r}: write one")


def unsure_of_score(
    criterion: str, cell: Cell, penalty: Penalty, rounding: tuple[float, float]
) -> float:
    """How far a score computed in doubles, from rounded addends, may lie from the exact one."""
    exact = abs(float(score(criterion, cell, penalty)))
    weight, sums = (cell.copies * step for step in rounding)
    curvature = float(cell.weight + penalty.l2)
    if criterion == "newton":
        w = abs(float(newton_value(cell, penalty)))
        parts = abs(float(cell.sums[0])) * w + curvature * w * w + float(penalty.l1) * w
        return parts * NEAR + 2 * w * sums + sums**2 / curvature + w * w * weight
    if criterion in ("entropy", "poisson"):
        # Large terms of either sign may cancel.
        logs = [math.log(s / cell.weight) for s in cell.sums if s > 0]
        moved = len(cell.sums) * 64 * sums
        if criterion == "poisson":
            parts = [abs(float(s)) for s in cell.sums if s > 0]
            most = [abs(log) + 40.0 for log in logs]
            return moved + sum(a * b for a, b in zip(parts, most, strict=True)) * (
                NEAR + weight / curvature
            )
    else:
        moved = sum(2 * abs(float(s)) * sums + sums**2 for s in cell.sums) / curvature
    return exact * (NEAR + weight / curvature) + moved


def leaf_values(criterion: str, cell: Cell, penalty: Penalty) -> list[float]:
    if criterion == "newton":
        if len(cell.sums) > 1:
            each = (Cell(cell.weight, (s,), cell.copies) for s in cell.sums)
            return [float(newton_value(one, penalty)) for one in each]
        return [float(newton_value(cell, penalty))]
    values = [float(Fraction(s) / cell.weight) for s in cell.sums]
    if penalty.lower > -math.inf or penalty.upper < math.inf:
        directed = directed_value(criterion, cell, penalty)
        values[-1] = float(min(max(directed, penalty.lower), penalty.upper))
        if len(values) == 2:
            values[0] = 1.0 - values[-1]
    return values


@dataclass(frozen=True)
class Split:
    column: int
    code: int  # the last one that goes left
    missing_left: bool | None  # None: no row is missing and both sides have equal weight as doubles
    gain: float
    children_score: float
    unsure: float  # how far rounding may move the gain
    left: Cell
    right: Cell

    @property
    def children(self) -> frozenset[Cell]:
        return frozenset((self.left, self.right))


@dataclass(frozen=True)
class Limits:
    growth: str = "best_first"
    max_leaf_nodes: int | None = None
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_child_weight: float = 0.0
    min_gain: float = -math.inf
    prune_gain: float = 0.0
    l2: float = 0.0
    l1: float = 0.0
    max_features: int | None = None
    feature_sampling: str = "node"
    seed: int = 0
    groups: tuple[tuple[int, ...], ...] | None = None
    directions: tuple[int, ...] | None = None

    def penalty(self, bounds: tuple[float, float]) -> Penalty:
        return Penalty(exactly(self.l2), exactly(self.l1), *bounds)


def histogram(codes, n_bins: int, rows, lesson: Lesson) -> list[Cell]:
    """Sums per code of one column; the first cell is that of missing values."""
    cells = [lesson.nothing] * (n_bins + 1)
    for row in rows:
        cells[codes[row]] = cells[codes[row]] + lesson.cells[row]
    return cells


class SplitTwin:
    """Tries every split of a column."""

    def __init__(self, lesson: Lesson, criterion: str, limits: Limits) -> None:
        self.criterion, self.limits = criterion, limits
        self.rounding = lesson.rounding()
        self.look_into((-math.inf, math.inf))

    def look_into(self, bounds: tuple[float, float]) -> None:
        """Turn to a node; what is tried next are its splits."""
        self.penalty, self.any_admitted = self.limits.penalty(bounds), False

    def splits(self, column: int, cells: list[Cell], total: Cell) -> list[Split]:
        """The splits that the limits admit, in the order in which ties are settled."""
        missing, *present = cells
        found = []
        left = total - total
        for code, cell in enumerate(present, start=1):
            if cell.copies == 0:
                # The cut before has the same children. Where there is none, "missing left, all
                # values right" is written the other way round, after the last bin.
                continue
            left = left + cell
            if missing.copies and (left + missing).copies == total.copies:
                code = len(present)
            # Missing values go right, then left; without any there is only one way.
            for missing_left in (False, True) if missing.copies else (None,):
                side = left + missing if missing_left else left
                # Values parted from missing ones have no direction.
                parts_missing = missing_left is False and (side + missing).copies == total.copies
                if self.admits(column, side, total - side, is_free=parts_missing):
                    split = self.judged(column, code, missing_left, side, total - side)
                    if self.is_worth(split):
                        found.append(split)
        return found

    def admits(self, column: int, left: Cell, right: Cell, is_free: bool = False) -> bool:
        if not (self.is_admitted(left) and self.is_admitted(right)):
            return False
        directions = self.limits.directions
        if directions is not None and directions[column] and not is_free:
            values = [directed_value(self.criterion, c, self.penalty) for c in (left, right)]
            if not all(self.penalty.lower <= value <= self.penalty.upper for value in values):
                return False
            if (values[1] - values[0]) * directions[column] < 0:
                return False
        self.any_admitted = True
        return True

    def is_admitted(self, side: Cell) -> bool:
        limits = self.limits
        enough = side.copies >= max(1, limits.min_samples_leaf)
        if self.criterion == "poisson" and min(side.sums) <= 0:
            return False
        return enough and side.weight > 0 and side.weight >= exactly(limits.min_child_weight)

    def judged(self, column, code, missing_left, left: Cell, right: Cell) -> Split:
        cells = (left, right, left + right)
        criterion, penalty = self.criterion, self.penalty
        scores = [score(criterion, cell, penalty) for cell in cells]
        unsure = [unsure_of_score(criterion, cell, penalty, self.rounding) for cell in cells]
        children = scores[0] + scores[1]
        if missing_left is None:
            missing_left = self.heavier_left(left, right)
        gain = float(children - scores[2])
        return Split(
            column, code, missing_left, gain, abs(float(children)), sum(unsure), left, right
        )

    def heavier_left(self, left: Cell, right: Cell) -> bool | None:
        """Where a value missing only when predicting goes; None if rounding decides."""
        gap = abs(float(left.weight - right.weight))
        is_near = 0 < gap <= (left.copies + right.copies) * self.rounding[0]
        return None if is_near else left.weight >= right.weight

    def is_worth(self, split: Split) -> bool:
        least = self.limits.min_gain
        return least == -math.inf or (
            split.gain > least and split.gain > 1e-13 * split.children_score
        )


def best_splits(candidates: list[Split]) -> list[Split]:
    """The best split first, then those whose gain is equal to it in double precision.

    Of splits with the same two children (bit for bit the same gain) only the first stays: lowest
    column, lowest bin, missing on the right.
    """
    if not candidates:
        return []
    top = max(candidates, key=lambda split: split.gain)
    first_of: dict[frozenset[Cell], Split] = {}
    for split in candidates:
        if split.gain >= top.gain - top.unsure - split.unsure:
            first_of.setdefault(split.children, split)
    best = first_of[top.children]
    return [best, *(split for split in first_of.values() if split is not best)]


# ---- trees ----


@dataclass
class Node:
    rows: list[int]
    cell: Cell
    depth: int
    number: int  # in the order of making
    guide: int | None  # the node of the other tree that stands in the same place
    split: Split | None = None
    left: "Node | None" = None
    right: "Node | None" = None
    value: list[float] = field(default_factory=list)
    bounds: tuple[float, float] = (-math.inf, math.inf)
    path: str = ""  # L and R from the root
    used: frozenset[int] = frozenset()  # columns split on along the path

    def in_order(self) -> list["Node"]:
        """This node and all below it, parents first, left before right."""
        below = [] if self.left is None else [*self.left.in_order(), *self.right.in_order()]
        return [self, *below]


class Guide:
    """Another grower's tree, consulted only for ties in double precision."""

    def __init__(self, feature, code, missing_left, right) -> None:
        self.feature, self.code = feature, code
        self.missing_left, self.right = missing_left, right

    def agrees(self, node: int, split: Split) -> bool:
        if (self.feature[node], self.code[node]) != (split.column, split.code):
            return False
        return split.missing_left in (None, bool(self.missing_left[node]))

    def is_inner(self, node: int) -> bool:
        return self.feature[node] >= 0


class TreeTwin:
    """Grows a tree on columns of codes."""

    def __init__(self, codes, n_bins, lesson, criterion: str, limits: Limits, guide: Guide | None):
        self.codes, self.n_bins, self.lesson = codes, n_bins, lesson
        self.criterion, self.limits, self.guide = criterion, limits, guide
        self.search = SplitTwin(lesson, criterion, limits)
        choice = (limits.max_features, limits.feature_sampling, limits.seed, limits.groups)
        self.columns = ColumnTwin(len(codes), *choice)

    def grow(self) -> Node:
        rows = [row for row, cell in enumerate(self.lesson.cells) if cell.copies > 0]
        root = Node(rows, self.lesson.total(rows), 0, 0, None if self.guide is None else 0)
        nodes, open_nodes = [root], [root] if self.find_split(root) else []
        most = self.limits.max_leaf_nodes or math.inf
        while open_nodes and (len(nodes) + 1) // 2 < most:
            node = self.next_of(open_nodes)
            open_nodes.remove(node)
            for child in self.divide(node, len(nodes)):
                nodes.append(child)
                if self.find_split(child):
                    open_nodes.append(child)
        self.finish(nodes)
        return root

    def finish(self, nodes: list[Node]) -> None:
        """Take back what gains too little, from below, and give the leaves their values."""
        for node in reversed(nodes if self.limits.prune_gain > 0 else []):
            ends = node.left is not None and node.left.left is None and node.right.left is None
            if ends and node.split.gain <= self.limits.prune_gain:
                node.left = node.right = None
        for node in nodes:
            if node.left is None:
                node.split = None
                penalty = self.limits.penalty(node.bounds)
                node.value = leaf_values(self.criterion, node.cell, penalty)

    def find_split(self, node: Node) -> bool:
        if self.may_split(node):
            self.search.look_into(node.bounds)
            first, further = self.columns.of(node.path, node.used)
            candidates = [split for column in sorted(first) for split in self.tried(column, node)]
            while not self.search.any_admitted and further:
                candidates = self.tried(further.pop(0), node)
            node.split = self.chosen(node, best_splits(candidates))
        return node.split is not None

    def tried(self, column: int, node: Node) -> list[Split]:
        cells = histogram(self.codes[column], self.n_bins[column], node.rows, self.lesson)
        return self.search.splits(column, cells, node.cell)

    def may_split(self, node: Node) -> bool:
        limits = self.limits
        if limits.max_depth is not None and node.depth >= limits.max_depth:
            return False
        if node.cell.copies < limits.min_samples_split:
            return False
        targets = {self.lesson.target[row] for row in node.rows}
        return limits.min_gain >= 0 or len(targets) > 1

    def chosen(self, node: Node, best: list[Split]) -> Split | None:
        if not best:
            return None
        if self.is_guided(node):
            for split in best:
                if self.guide.agrees(node.guide, split):
                    return split
        return best[0]

    def is_guided(self, node: Node) -> bool:
        return node.guide is not None and self.guide.is_inner(node.guide)

    def next_of(self, open_nodes: list[Node]) -> Node:
        """Depth-wise: nearest to the root; then by gain; then the oldest."""
        if self.limits.growth == "depth_wise":
            depth = min(node.depth for node in open_nodes)
            open_nodes = [node for node in open_nodes if node.depth == depth]
        top = max(open_nodes, key=lambda node: node.split.gain)
        near = [
            node
            for node in open_nodes
            if node.split.gain >= top.split.gain - top.split.unsure - node.split.unsure
        ]
        if self.guide is not None:
            near = [node for node in near if self.is_guided(node)] or near
        return min(near, key=lambda node: node.number)

    def divide(self, node: Node, number: int) -> list[Node]:
        split, codes = node.split, self.codes[node.split.column]
        goes_left = {row: self.goes_left(split, codes[row]) for row in node.rows}
        sides = [[row for row in node.rows if goes_left[row] == side] for side in (True, False)]
        guides = [None, None]
        if self.is_guided(node):
            guides = [node.guide + 1, int(self.guide.right[node.guide])]
        node.left, node.right = (
            Node(rows, self.lesson.total(rows), node.depth + 1, number + i, guides[i])
            for i, rows in enumerate(sides)
        )
        for child, side in ((node.left, "L"), (node.right, "R")):
            child.bounds, child.path = node.bounds, node.path + side
            child.used = node.used | {split.column}
        direction = 0 if self.limits.directions is None else self.limits.directions[split.column]
        parts_missing = split.code == self.n_bins[split.column] and split.missing_left is False
        if direction and not parts_missing:
            low, high = (node.left, node.right) if direction > 0 else (node.right, node.left)
            penalty = self.limits.penalty(node.bounds)
            values = [directed_value(self.criterion, c.cell, penalty) for c in (low, high)]
            middle = values[0] / 2 + values[1] / 2
            low.bounds, high.bounds = (low.bounds[0], middle), (middle, high.bounds[1])
        return [node.left, node.right]

    def goes_left(self, split: Split, code: int) -> bool | None:
        return split.missing_left if code == 0 else code <= split.code
