"""Shapley values of trees by their definitions, in plain Python."""

import itertools
import math
from collections.abc import Callable

import numpy as np

from weald.trees import Forest

Game = Callable[[frozenset[int]], float]


def goes_left(forest: Forest, node: int, x: np.ndarray) -> bool:
    value, missing_left = x[forest.feature[node]], bool(forest.missing_left[node])
    if np.isnan(value):
        return missing_left
    own = forest.category_set[node]
    if own < 0:
        return bool(value <= forest.threshold[node])
    words = forest.words[forest.first_word[own] : forest.first_word[own + 1]]
    level = int(value)
    if level != value or not 0 <= level < 64 * len(words):
        return missing_left
    return bool(int(words[level // 64]) >> (level % 64) & 1)


def children(forest: Forest, tree: int, node: int) -> tuple[int, int]:
    return node + 1, int(forest.first_node[tree] + forest.right[node])


def left_share(forest: Forest, tree: int, node: int) -> float:
    left, right = (float(forest.weight[child]) for child in children(forest, tree, node))
    return left / (left + right) if left + right > 0 else 0.5


def leaf_value(forest: Forest, tree: int, node: int, output: int) -> float:
    values = forest.value[forest.first_leaf[tree] + forest.right[node]]
    if forest.output[tree] >= 0:
        return float(values[0] * forest.tree_weight[tree]) * (forest.output[tree] == output)
    return float(values[output] * forest.tree_weight[tree])


def path_game(forest: Forest, x: np.ndarray, player: np.ndarray, output: int) -> Game:
    """The mean score of rows that agree with x in the columns of a coalition, by node weights."""

    def below(tree: int, node: int, known: frozenset[int]) -> float:
        if forest.feature[node] < 0:
            return leaf_value(forest, tree, node, output)
        left, right = children(forest, tree, node)
        if player[forest.feature[node]] in known:
            return below(tree, left if goes_left(forest, node, x) else right, known)
        share = left_share(forest, tree, node)
        return share * below(tree, left, known) + (1 - share) * below(tree, right, known)

    def game(known: frozenset[int]) -> float:
        roots = forest.first_node[:-1]
        return float(forest.base_score[output]) + sum(
            below(tree, int(root), known) for tree, root in enumerate(roots)
        )

    return game


def background_game(
    forest: Forest, x: np.ndarray, rows: np.ndarray, player: np.ndarray, output: int
) -> Game:
    """The mean score of background rows with the columns of a coalition taken from x."""

    def game(known: frozenset[int]) -> float:
        mixed = np.where(np.isin(player, list(known)), x, rows)
        return float(forest.predict(mixed, n_threads=1)[:, output].mean())

    return game


def shapley(game: Game, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and interactions from all coalitions of n players."""
    worth = {
        frozenset(some): game(frozenset(some))
        for size in range(n + 1)
        for some in itertools.combinations(range(n), size)
    }
    values, pairs = np.zeros(n), np.zeros((n, n))
    for some, size in ((some, len(some)) for some in worth):
        for i in set(range(n)) - some:
            gain = worth[some | {i}] - worth[some]
            values[i] += gain / (n * math.comb(n - 1, size))
            for j in set(range(n)) - some - {i}:
                both = worth[some | {i, j}] - worth[some | {j}] - gain
                pairs[i, j] += 0.5 * both / ((n - 1) * math.comb(n - 2, size))
    np.fill_diagonal(pairs, values - pairs.sum(axis=1))
    return values, pairs


def integrated_values(forest: Forest, x: np.ndarray, player: np.ndarray, output: int) -> np.ndarray:
    """Path-dependent values: for each leaf and player, the integral of a polynomial.

    NumPy's quadrature of 64 points integrates those of up to 128 players.
    """
    values = np.zeros(int(player.max()) + 1)
    points, weights = np.polynomial.legendre.leggauss(64)
    points, weights = (points + 1) / 2, weights / 2

    def add_leaf(value: float, met: dict[int, bool], share: dict[int, float]) -> None:
        factor = {j: share[j] + points * (met[j] - share[j]) for j in met}
        for i in met:
            others = np.prod([factor[j] for j in met if j != i], axis=0)
            values[i] += value * (met[i] - share[i]) * float((weights * others).sum())

    def visit(tree: int, node: int, met: dict[int, bool], share: dict[int, float]) -> None:
        if forest.feature[node] < 0:
            add_leaf(leaf_value(forest, tree, node, output), met, share)
            return
        left, of_left = goes_left(forest, node, x), left_share(forest, tree, node)
        own = int(player[forest.feature[node]])
        for child, is_met, part in zip(
            children(forest, tree, node), (left, not left), (of_left, 1 - of_left), strict=True
        ):
            now = met.get(own, True) and is_met
            visit(tree, child, {**met, own: now}, {**share, own: share.get(own, 1.0) * part})

    for tree in range(forest.n_trees):
        visit(tree, int(forest.first_node[tree]), {}, {})
    return values


def tree_shap(forest: Forest, x: np.ndarray, output: int) -> np.ndarray:
    """Path-dependent values by the algorithm of Lundberg, Erion and Lee (2018)."""
    values = np.zeros(forest.n_columns)
    Entry = tuple[int, float, float, float]  # column, share if unknown, if known, weight

    def extend(path: list[Entry], zero: float, one: float, column: int) -> list[Entry]:
        n = len(path)
        weights = [entry[3] for entry in path] + [1.0 if n == 0 else 0.0]
        for i in range(n - 1, -1, -1):
            weights[i + 1] += one * weights[i] * (i + 1) / (n + 1)
            weights[i] = zero * weights[i] * (n - i) / (n + 1)
        entries = [*[entry[:3] for entry in path], (column, zero, one)]
        return [(*entry, weight) for entry, weight in zip(entries, weights, strict=True)]

    def unwind(path: list[Entry], at: int) -> list[Entry]:
        n = len(path) - 1
        weights = [entry[3] for entry in path]
        _, zero, one, _ = path[at]
        follows = weights[n]
        for i in range(n - 1, -1, -1):
            if one != 0:
                before = weights[i]
                weights[i] = follows * (n + 1) / ((i + 1) * one)
                follows = before - weights[i] * zero * (n - i) / (n + 1)
            else:
                weights[i] = weights[i] * (n + 1) / (zero * (n - i))
        entries = [entry[:3] for k, entry in enumerate(path) if k != at]
        return [(*entry, weight) for entry, weight in zip(entries, weights[:n], strict=True)]

    def visit(
        tree: int, node: int, path: list[Entry], zero: float, one: float, column: int
    ) -> None:
        path = extend(path, zero, one, column)
        if forest.feature[node] < 0:
            value = leaf_value(forest, tree, node, output)
            for at in range(1, len(path)):
                total = sum(entry[3] for entry in unwind(path, at))
                values[path[at][0]] += total * (path[at][2] - path[at][1]) * value
            return
        own, zero, one = int(forest.feature[node]), 1.0, 1.0
        earlier = [k for k in range(1, len(path)) if path[k][0] == own]
        if earlier:
            _, zero, one, _ = path[earlier[0]]
            path = unwind(path, earlier[0])
        left, share = goes_left(forest, node, x), left_share(forest, tree, node)
        for child, is_met, part in zip(
            children(forest, tree, node), (left, not left), (share, 1 - share), strict=True
        ):
            visit(tree, child, path, zero * part, one * is_met, own)

    for tree in range(forest.n_trees):
        visit(tree, int(forest.first_node[tree]), [], 1.0, 1.0, -1)
    return values
