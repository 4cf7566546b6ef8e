"""The naive twin of symmetric growth on columns of categories: every pair of sets in every node."""

from dataclasses import dataclass
from fractions import Fraction

from native.naive import Cell, Node, histogram
from native.naive_categories import (
    FEW,
    L2_ROWS,
    MANY,
    RARE_ROWS,
    SMOOTH_ROWS,
    CategorySplits,
)
from native.naive_levels import LevelTwin, Test


@dataclass(frozen=True)
class SetTest(Test):
    told: frozenset[int] = frozenset()
    left_set: frozenset[int] = frozenset()

    def sends_left(self, code: int) -> bool | None:
        return code in self.left_set if code in self.told else self.missing_left


class SetLevelTwin(LevelTwin):
    def __init__(self, codes, n_bins, lesson, criterion, limits, guide, is_category) -> None:
        super().__init__(codes, n_bins, lesson, criterion, limits, guide)
        self.is_category = is_category
        seen = [cell for cell in lesson.cells if cell.copies > 0]
        self.mean = float(Fraction(sum(c.weight for c in seen)) / sum(c.copies for c in seen))
        self.sets = CategorySplits(self.search, criterion in ("gini", "entropy"), self.mean)

    def goes_left(self, split, code: int):
        return (
            split.sends_left(code) if isinstance(split, SetTest) else super().goes_left(split, code)
        )

    def tests(self, column: int, level: list[Node]) -> list[Test]:
        if not self.is_category[column]:
            return super().tests(column, level)
        if not level:
            return []
        n_bins = self.n_bins[column]
        of_nodes = [histogram(self.codes[column], n_bins, n.rows, self.lesson) for n in level]
        pooled = [sum(cells, self.lesson.nothing) for cells in zip(*of_nodes, strict=True)]
        least = min(1.0, n_bins / MANY) * RARE_ROWS * self.mean
        told = [
            code
            for code in range(1, n_bins + 1)
            if pooled[code].copies and float(pooled[code].weight) >= least
        ]
        if not told:
            return []
        few = len(told) <= FEW
        lefts = [([code], 0.0) for code in told] if few else []
        for channel in self.sets.orders(sum((node.cell for node in level), self.lesson.nothing)):
            keys = self.keys(channel, level, of_nodes, pooled, 0.0 if few else SMOOTH_ROWS)
            order = sorted(told, key=lambda code, keys=keys: (keys[code], code))
            l2 = 0.0 if few else L2_ROWS * self.mean
            lefts += [(order[: i + 1], l2) for i in range(len(order))]
        tests = [
            self.asked_sets(column, told, left, l2, others_left, level, of_nodes)
            for left, l2 in lefts
            for others_left in (False, True)
        ]
        return [test for test in tests if test is not None]

    def keys(self, channel, level, of_nodes, pooled, smooth_rows) -> dict[int, float]:
        """Summed deviations from the means of the nodes, by weight: as doubles, in one order."""
        keys = {}
        for code in range(1, len(pooled)):
            deviation = 0.0
            for node, cells in zip(level, of_nodes, strict=True):
                mean = float(node.cell.sums[channel]) / float(node.cell.weight)
                deviation += float(cells[code].sums[channel]) - mean * float(cells[code].weight)
            weight = float(pooled[code].weight) + smooth_rows * self.mean
            keys[code] = deviation / weight if weight > 0 else 0.0
        return keys

    def asked_sets(self, column, told, left, l2, others_left, level, of_nodes) -> SetTest | None:
        sides: dict[int, tuple[Cell, Cell]] = {}
        gain = after = unsure = 0.0
        others = low = self.lesson.nothing
        total = self.lesson.nothing
        for node, cells in zip(level, of_nodes, strict=True):
            of_left = sum((cells[code] for code in left), self.lesson.nothing)
            of_told = sum((cells[code] for code in told), self.lesson.nothing)
            rest = node.cell - of_told
            others, low, total = others + rest, low + of_left, total + of_told
            side = of_left + rest if others_left else of_left
            self.search.look_into(node.bounds)
            if not self.search.admits(column, side, node.cell - side):
                after += self.score(node)
                continue
            split = self.sets.judged(column, others_left, side, node.cell - side, l2)
            sides[node.number] = (side, node.cell - side)
            gain, after = gain + split.gain, after + split.children_score
            unsure += split.unsure
        if not sides or (others_left and (others.copies == 0 or len(left) == len(told))):
            return None
        self.any_admitted = True
        if not self.is_worth(gain, after):
            return None
        missing_left: bool | None = others_left
        if others.copies == 0:
            missing_left = self.search.heavier_left(low, total - low)
        return SetTest(
            column,
            0,
            missing_left,
            gain,
            unsure,
            sides,
            told=frozenset(told),
            left_set=frozenset(left),
        )
