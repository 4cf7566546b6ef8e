"""A slow, obviously right twin of symmetric growth: every test in every node of a level."""

import math
from dataclasses import dataclass

from native.naive import Cell, Node, TreeTwin, score


@dataclass(frozen=True)
class Test:
    """One split for all nodes of a level, and its effect in those that use it."""

    column: int
    code: int
    missing_left: bool | None  # None: no row is missing and both sides have equal weight as doubles
    gain: float
    unsure: float
    sides: dict[int, tuple[Cell, Cell]]  # of the nodes that take it, by their number

    @property
    def children(self) -> frozenset:
        return frozenset((number, frozenset(sides)) for number, sides in self.sides.items())


class LevelTwin(TreeTwin):
    def grow(self) -> Node:
        rows = [row for row, cell in enumerate(self.lesson.cells) if cell.copies > 0]
        root = Node(rows, self.lesson.total(rows), 0, 0, 0)
        nodes, level, depth, used = [root], [root], 0, frozenset()
        most = self.limits.max_leaf_nodes or math.inf
        while self.limits.max_depth is None or depth < self.limits.max_depth:
            level = [node for node in level if self.may_split(node)]
            test = self.best_test(level, used, depth)
            if test is None or (len(nodes) + 1) // 2 + len(test.sides) > most:
                break
            level = self.divided(level, test, nodes)
            used |= {test.column}
            depth += 1
        self.finish(nodes)
        return root

    def may_split(self, node: Node) -> bool:
        """Nodes that no split can divide do not belong to the level."""
        is_large = node.cell.copies // 2 >= self.limits.min_samples_leaf
        return super().may_split(node) and is_large and len(node.rows) > 1

    def divided(self, level: list[Node], test: Test, nodes: list[Node]) -> list[Node]:
        following = []
        for node in level:
            if node.number not in test.sides:
                following.append(node)
                continue
            node.split = test
            children = self.divide(node, len(nodes))
            nodes += children
            following += children
        return following

    def best_test(self, level: list[Node], used: frozenset[int], depth: int) -> Test | None:
        """The first split of most gain; for ties in double precision, that of the guide."""
        first, further = self.columns.of("L" * depth, used)
        self.any_admitted = False
        tests = [test for column in sorted(first) for test in self.tests(column, level)]
        while not self.any_admitted and further:
            tests = self.tests(further.pop(0), level)
        if not tests:
            return None
        top = max(tests, key=lambda test: test.gain)
        first_of: dict[frozenset, Test] = {}
        for test in tests:
            if test.gain >= top.gain - top.unsure - test.unsure:
                first_of.setdefault(test.children, test)
        near = [first_of[top.children], *first_of.values()]
        by_number = {node.number: node for node in level}
        for test in near:
            takers = [by_number[number] for number in test.sides]
            if all(self.is_guided(n) and self.guide.agrees(n.guide, test) for n in takers):
                return test
        return near[0]

    def tests(self, column: int, level: list[Node]) -> list[Test]:
        found = []
        for code in range(1, self.n_bins[column] + 1):
            for missing_left in (False, True):
                test = self.asked(column, code, missing_left, level)
                if test is not None:
                    found.append(test)
        return found

    def score(self, node: Node) -> float:
        return abs(float(score(self.criterion, node.cell, self.limits.penalty(node.bounds))))

    def is_worth(self, gain: float, after: float) -> bool:
        """Whether a gain suffices, given the scores of all nodes after the split."""
        least = self.limits.min_gain
        return least == -math.inf or (gain > least and gain > 1e-13 * after)

    def asked(self, column: int, code: int, missing_left: bool, level: list[Node]) -> Test | None:
        codes, nothing = self.codes[column], self.lesson.nothing
        sides: dict[int, tuple[Cell, Cell]] = {}
        gain, after, unsure = 0.0, 0.0, 0.0
        below = above = missing = nothing
        for node in level:
            present = [row for row in node.rows if codes[row] > 0]
            low = self.lesson.total(row for row in present if codes[row] <= code)
            high = self.lesson.total(row for row in present if codes[row] > code)
            absent = node.cell - low - high
            left, right = (low + absent, high) if missing_left else (low, high + absent)
            self.search.look_into(node.bounds)
            if not self.search.admits(column, left, right):
                after += self.score(node)
                continue
            split = self.search.judged(column, code, missing_left, left, right)
            sides[node.number] = (left, right)
            gain, after = gain + split.gain, after + split.children_score
            unsure += split.unsure
            below, above, missing = below + low, above + high, missing + absent
        if not sides or (missing_left and below.weight == 0):
            return None
        self.any_admitted = True
        if not self.is_worth(gain, after):
            return None
        side: bool | None = missing_left
        if missing.copies == 0:
            side = self.search.heavier_left(below, above)
        elif above.copies == 0:
            code = self.n_bins[column]
        return Test(column, code, side, gain, unsure, sides)
