"""The naive twin of splits by sets of levels: brute force over the documented search."""

from dataclasses import dataclass, replace
from fractions import Fraction

from native import naive
from native.naive import Cell, Split

FEW, RARE_ROWS, MANY, SMOOTH_ROWS, L2_ROWS, MOST_ORDERS = 4, 10.0, 64.0, 10.0, 10.0, 4


@dataclass(frozen=True)
class SetSplit(Split):
    told: frozenset[int] = frozenset()  # codes of categories that are distinguished
    left_set: frozenset[int] = frozenset()  # those of them that go left
    plain_gain: float = 0.0  # without the l2 penalty added for category sets

    def sends_left(self, code: int) -> bool | None:
        return code in self.left_set if code in self.told else self.missing_left


@dataclass
class CategorySplits:
    """Every pair of sets that the search tries in one node, in its order."""

    search: naive.SplitTwin
    is_classes: bool
    mean_weight: float  # of a copy, over all rows of the tree

    def of(self, column: int, cells: list[Cell], total: Cell) -> list[SetSplit]:
        told, others = self.sorted_out(cells)
        if not told:
            return []
        few = len(told) <= FEW
        smooth = 0.0 if few else SMOOTH_ROWS * self.mean_weight
        more_l2 = 0.0 if few else L2_ROWS * self.mean_weight
        lefts = [([code], 0.0) for code in told] if few else []
        for channel in self.orders(total):
            centre = 0.0 if self.search.criterion == "newton" else mean_of(total, channel, 0.0, 0.0)
            told = sorted(
                told,
                key=lambda code, k=channel, c=centre: (mean_of(cells[code], k, smooth, c), code),
            )
            lefts += [(told[: i + 1], more_l2) for i in range(len(told))]
        found = []
        for left, l2 in lefts:
            found += self.both_sides(column, cells, total, told, others, left, l2)
        return found

    def sorted_out(self, cells: list[Cell]) -> tuple[list[int], Cell]:
        """Codes of the levels with enough rows, and the sum of all other rows."""
        missing, *levels = cells
        least = min(1.0, len(levels) / MANY) * RARE_ROWS * self.mean_weight
        told, others = [], missing
        for code, cell in enumerate(levels, start=1):
            if cell.copies and float(cell.weight) >= least:
                told.append(code)
            else:
                others = others + cell
        return told, others

    def orders(self, total: Cell) -> list[int]:
        channels = sorted(range(len(total.sums)), key=lambda k: -abs(total.sums[k]))
        if self.is_classes and len(channels) == 2:
            return channels[:1]
        return channels[:MOST_ORDERS]

    def both_sides(self, column, cells, total, told, others, left, more_l2) -> list[SetSplit]:
        side = sum((cells[code] for code in left), total - total)
        is_all = len(left) == len(told)
        if is_all and not others.copies:
            return []
        ways = [(None, side)] if not others.copies else [(False, side)]
        if others.copies and not is_all:
            ways.append((True, side + others))
        found = []
        for others_left, sum_left in ways:
            right = total - sum_left
            if not self.search.admits(column, sum_left, right):
                continue
            split = self.judged(column, others_left, sum_left, right, more_l2)
            split = replace(split, told=frozenset(told), left_set=frozenset(left))
            if self.search.is_worth(split):
                found.append(split)
        return found

    def judged(self, column, others_left, left: Cell, right: Cell, more_l2: float) -> SetSplit:
        """By the search's own l2 and more for the children, without more for the parent."""
        plain = self.search.judged(column, 0, others_left, left, right)
        penalty = replace(self.search.penalty, l2=self.search.penalty.l2 + Fraction(more_l2))
        criterion, whole = self.search.criterion, left + right
        children = sum(naive.score(criterion, cell, penalty) for cell in (left, right))
        gain = float(children - naive.score(criterion, whole, self.search.penalty))
        return SetSplit(
            **{**vars(plain), "gain": gain, "children_score": abs(float(children))},
            plain_gain=plain.gain,
        )


def mean_of(cell: Cell, channel: int, smooth: float, centre: float) -> float:
    """S / W, as if `smooth` more weight had the mean `centre`."""
    weight = float(cell.weight) + smooth
    return (float(cell.sums[channel]) + smooth * centre) / weight if weight > 0 else 0.0


class SetGuide(naive.Guide):
    """A guide with category sets: `sets[node]` are the codes that go left, or None."""

    def __init__(self, feature, code, missing_left, right, sets) -> None:
        super().__init__(feature, code, missing_left, right)
        self.sets = sets

    def agrees(self, node: int, split: Split) -> bool:
        if not isinstance(split, SetSplit):
            return self.sets[node] is None and super().agrees(node, split)
        if self.feature[node] != split.column or self.sets[node] is None:
            return False
        return self.sets[node] & split.told == split.left_set and (
            split.missing_left in (None, bool(self.missing_left[node]))
        )


class CategoryTreeTwin(naive.TreeTwin):
    """Grows a tree on columns of codes of which some are categories."""

    def __init__(self, codes, n_bins, lesson, criterion, limits, guide, is_category) -> None:
        super().__init__(codes, n_bins, lesson, criterion, limits, guide)
        self.is_category = is_category
        seen = [cell for cell in lesson.cells if cell.copies > 0]
        mean = float(Fraction(sum(c.weight for c in seen)) / sum(c.copies for c in seen))
        is_classes = criterion in ("gini", "entropy")
        self.sets = CategorySplits(self.search, is_classes, mean)

    def tried(self, column: int, node: naive.Node) -> list[Split]:
        if not self.is_category[column]:
            return super().tried(column, node)
        cells = naive.histogram(self.codes[column], self.n_bins[column], node.rows, self.lesson)
        return self.sets.of(column, cells, node.cell)

    def goes_left(self, split: Split, code: int):
        if isinstance(split, SetSplit):
            return split.sends_left(code)
        return super().goes_left(split, code)
