"""The naive twin of an isolation forest: lists, dicts and the definition, one node at a time."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from native.naive_columns import GOLDEN, WRAP, key_of_child, mix

COLUMNS, BOOTSTRAP, PASTE = 4, 3, 20  # weald.resampling.Purpose


def key_of(seed: int, member: int, purpose: int) -> int:
    low = high = 0
    for word in (seed, member, purpose):
        low = (mix(low ^ word) + GOLDEN) & WRAP
        high = mix((high + word * 0xC2B2AE3D27D4EB4F) & WRAP) ^ low
    return mix(high ^ mix(low))


def word_of(key: int, i: int) -> int:
    return mix((key + (i + 1) * GOLDEN) & WRAP)


def below(key: int, i: int, n: int) -> int:
    return word_of(key, i) * n >> 64


def unit(key: int, i: int) -> float:
    return (word_of(key, i) >> 11) * 2.0**-53


def mean_path_length(n: int) -> float:
    """The formula of the paper, as a multiple of 2**-24."""
    if n <= 2:
        return float(n == 2)
    exact = 2 * (math.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    return math.floor(exact * 2**24 + 0.5) / 2**24


def drawn(n: int, n_draws: int, replace: bool, mass: list[int] | None, key: int) -> list[int]:
    """Places of the drawn rows, those drawn twice twice."""
    if replace:
        owner = [row for row in range(n) for _ in range(1 if mass is None else mass[row])]
        return sorted(owner[below(key, i, len(owner))] for i in range(n_draws))
    if mass is not None:
        clock = [-math.log(1 - unit(key, row)) / mass[row] for row in range(n)]
        return sorted(sorted(range(n), key=lambda row: clock[row])[:n_draws])
    chosen: set[int] = set()
    for last in range(n - n_draws, n):
        place = below(key, last, last + 1)
        chosen.add(last if place in chosen else place)
    return sorted(chosen)


@dataclass
class Node:
    n_rows: int
    value: float = 0.0
    column: int = -1
    threshold: float = 0.0
    levels: set[int] = field(default_factory=set)
    missing_left: bool = False
    left: "Node | None" = None
    right: "Node | None" = None

    def length(self, row: Any) -> float:
        """Path length of a row."""
        if self.column < 0:
            return self.value
        assert self.left is not None and self.right is not None
        return (self.left if self.sends_left(row) else self.right).length(row)

    def sends_left(self, row: Any) -> bool:
        x = row[self.column]
        if math.isnan(x):
            return self.missing_left
        return x in self.levels if self.levels else x <= self.threshold


@dataclass
class Twin:
    """One tree; `n_levels` is 0 for numeric columns."""

    seed: int
    n_levels: list[int]
    max_features: int
    max_depth: int

    def grow(self, rows: list[Any], member: int) -> Node:
        key, columns = key_of(self.seed, member, COLUMNS), list(range(len(self.n_levels)))
        if self.max_features < len(columns):
            for j in range(self.max_features):
                k = j + below(key, j, len(columns) - j)
                columns[j], columns[k] = columns[k], columns[j]
        return self.node(rows, columns[: self.max_features], 0, 0, key_of_child(key, "L"))

    def node(
        self, rows: list[Any], columns: list[int], n_constant: int, depth: int, key: int
    ) -> Node:
        node = Node(len(rows), depth + mean_path_length(len(rows)))
        if depth == self.max_depth:
            return node
        columns = list(columns)
        for j in range(n_constant, len(columns)):
            k = j + below(key, 2 + j, len(columns) - j)
            columns[j], columns[k] = columns[k], columns[j]
            if self.cut(node, rows, columns[j], key):
                sides: dict[bool, list[Any]] = {True: [], False: []}
                for row in rows:
                    sides[node.sends_left(row)].append(row)
                left, right = key_of_child(key, "L"), key_of_child(key, "R")
                node.left = self.node(sides[True], columns, j, depth + 1, left)
                node.right = self.node(sides[False], columns, j, depth + 1, right)
                return node
        return node

    def cut(self, node: Node, rows: list[Any], column: int, key: int) -> bool:
        """Draw a split of the column; False if it has one value only."""
        present = [row[column] for row in rows if not math.isnan(row[column])]
        different = set(present)
        if not different or (len(different) == 1 and len(present) == len(rows)):
            return False
        node.column, n_levels = column, self.n_levels[column]
        if len(different) == 1:  # missing values are split off
            node.threshold, node.levels = math.inf, set(range(-(-n_levels // 64) * 64))
            return True
        if n_levels:
            self.draw_levels(node, different, n_levels, key)
        else:
            low, high = min(present), max(present)
            node.threshold = low + unit(key, 0) * (high - low)
        n_left = sum(node.sends_left(row) for row in rows if not math.isnan(row[column]))
        node.missing_left = below(key, 1, len(present)) < n_left
        return True

    def draw_levels(self, node: Node, different: set[int], n_levels: int, key: int) -> None:
        n_words, next_word = -(-n_levels // 64), 2**32
        while True:
            words = [word_of(key, next_word + w) for w in range(n_words)]
            next_word += n_words
            node.levels = {i for i in range(64 * n_words) if words[i // 64] >> (i % 64) & 1}
            if different & node.levels and different - node.levels:
                return
