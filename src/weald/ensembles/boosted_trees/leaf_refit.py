"""Refit of leaf values on all rows, those held out included, with the tree structures kept."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions
from weald.ensembles.rounds.constraints import monotone_values
from weald.ensembles.rounds.loop import (
    Copies,
    DerivativeBuffers,
    Mask,
    Stage,
    Training,
    check_divergence,
    check_largest,
)
from weald.ensembles.rounds.starting_scores import fitted_base, starting_scores
from weald.ensembles.rounds.tree_learners import refined_values
from weald.ensembles.staging import KNOWN_LEAVES, of_rows
from weald.losses import BuiltinLoss, Loss
from weald.trees import Forest, GrownTree, GrownTrees, TreeLimits

RoundTrees = GrownTrees | Sequence[GrownTree]


class TreeLearner(Protocol):
    """A learner that keeps the trees of its last round."""

    @property
    def grown(self) -> RoundTrees:
        """The trees of the last round."""

    def learn(self, stage: Stage) -> None:
        """Fit trees to the gradients and add their predictions to the scores."""


class RefittedTrees:
    """Learner whose trees also get leaf values that are estimated on all rows.

    The leaf of every row is known when a tree has just been grown: no row descends it again.
    """

    weighs_gradients = True

    def __init__(self, learner: TreeLearner, refit: "LeafRefit") -> None:
        self._learner, self._refit = learner, refit

    def learn(self, stage: Stage) -> None:
        """Train the trees of a round, then pass them on to the refit."""
        self._learner.learn(stage)
        self._refit.add_round(self._learner.grown, stage.drawn_of_all, stage.buffers)


class RefittedLeaves:
    """Leaf values of the trees of a booster and the sums of their hessians, from all rows.

    Parameters
    ----------
    base : array
        Base scores of all rows.
    """

    def __init__(self, base: Floats) -> None:
        self._base = base
        self._values: list[Floats] = []  # of the leaves of every tree, and their hessians
        self._hessians: list[Floats] = []

    @property
    def n_trees(self) -> int:
        """Number of trees whose leaves are known."""
        return len(self._values)

    def add(self, values: Floats, hessians: Floats) -> None:
        """Add the leaves of the next tree."""
        self._values.append(values)
        self._hessians.append(hessians)

    def refitted(self, forest: Forest) -> Forest:
        """Return the forest, which holds the first trees, with these leaf values."""
        n = forest.n_trees
        if n == 0:
            return replace(forest, base_score=self._base)
        hessians = np.concatenate(self._hessians[:n])
        weight = _native.node_weights(
            forest.feature, forest.right, hessians, forest.first_node, forest.first_leaf
        )
        value = np.concatenate(self._values[:n])
        return replace(forest, value=value, weight=weight, base_score=self._base)


class LeafRefit:
    """Leaf values of a booster's trees, estimated on all rows, round by round.

    Base scores are estimated on all rows, too; the splits are kept.

    Parameters
    ----------
    training : Training
        The rows of the booster; those that are held out are used as well.
    loss : Loss
        Loss function to minimise.
    learning_rate : float
        Shrinkage of the leaf values.
    limits : TreeLimits
        Of these, the penalties and the monotonic constraints apply.
    fraction : float
        Row subsampling rate of each round.
    n_threads : int
        Number of threads.
    waits : int
        Number of last rounds that are refitted only if they are kept. Early stopping drops as many
        as it is patient; for each of them, a waiting round holds the leaf of every row.
    """

    def __init__(
        self,
        training: Training,
        loss: Loss,
        *,
        learning_rate: float,
        limits: TreeLimits,
        fraction: float,
        n_threads: int,
        waits: int = 0,
    ) -> None:
        self._training, self._loss = training.with_all_rows(), loss
        self._learning_rate, self._limits, self._fraction = learning_rate, limits, fraction
        self._n_threads, self._waits = n_threads, waits
        self._base = fitted_base(loss, self._training)
        self._scores = starting_scores(loss, self._training.rows, self._base)
        self._buffers = DerivativeBuffers(self._scores)
        self._waiting: deque[_Leaves] = deque()
        self._n_rounds = 0
        self._leaves = RefittedLeaves(self._base)

    def add_round(self, trees: RoundTrees, drawn: Mask, buffers: DerivativeBuffers) -> None:
        """Refit the trees of a round that was just grown, or an earlier one if rounds wait.

        `drawn` marks the rows of the round, as if no row were held out. `buffers` are those of the
        round, whose derivatives are not needed any more.
        """
        self._buffers = buffers
        leaves = _leaves_of(trees, drawn, with_splits=self._limits.directions is not None)
        if self._waits == 0:
            self._refit_round(leaves)
            return
        self._waiting.extend([tree.compact() for tree in leaves])
        if len(self._waiting) > self._waits * len(leaves):
            self._refit_waiting(len(leaves))

    def add_forest(self, forest: Forest) -> None:
        """Refit all rounds of an earlier fit; its trees are applied to the rows."""
        table, n_rows = self._training.rows.table, self._training.rows.n
        a_round = forest.trees_a_round(len(self._scores))
        step = a_round * max(1, KNOWN_LEAVES // (n_rows * a_round))
        for first in range(0, forest.n_trees, step):
            trees = forest.part(first, min(first + step, forest.n_trees))
            leaves_of_rows = of_rows(table, partial(trees.apply, n_threads=self._n_threads))
            leaf_of_row = np.ascontiguousarray(leaves_of_rows.T)
            for t in range(0, trees.n_trees, a_round):
                members = range(t, t + a_round)
                _, drawn = self._training.drawn(self._fraction, self._n_rounds)
                self._refit_round(
                    [_Leaves.of_tree(trees, s, leaf_of_row[s], drawn) for s in members]
                )

    def refitted(self, forest: Forest) -> Forest:
        """Return the forest, which holds the first rounds, with the new leaf values."""
        while self._leaves.n_trees < forest.n_trees:
            self._refit_waiting(forest.trees_a_round(len(self._scores)))
        return self._leaves.refitted(forest)

    def _refit_waiting(self, a_round: int) -> None:
        """Refit the first of the waiting rounds, which has so many trees."""
        self._refit_round([self._waiting.popleft() for _ in range(a_round)])

    def _refit_round(self, trees: Sequence["_Leaves"]) -> None:
        """Estimate the leaf values of the next round and add them to the scores."""
        training, weight = self._training, self._training.rows.weight
        seen, scores, drawn = training.train_copies, self._scores, trees[0].drawn
        loss = self._loss.at(training.y, scores, weight, seen)
        stage = Stage(self._n_rounds, loss, training, seen, scores, weight, self._buffers, drawn)
        takes_newton_steps = (
            isinstance(loss, BuiltinLoss)
            and not loss.refines_leaves
            and self._limits.directions is None
        )
        refit_tree = self._take_newton_steps if takes_newton_steps else self._refit_tree
        has_tree_per_score = len(trees) == stage.n_scores
        for k, tree in enumerate(trees):
            values, hessians = refit_tree(
                stage, tree, slice(k, k + 1) if has_tree_per_score else slice(None)
            )
            self._leaves.add(values, hessians)
        self._n_rounds += 1

    def _take_newton_steps(
        self, stage: Stage, tree: "_Leaves", scores: slice
    ) -> tuple[Floats, Floats]:
        """Values of the leaves and sums of their hessians, in one call of the core."""
        assert isinstance(stage.loss, BuiltinLoss)
        values, hessians, largest = _native.refit_leaves(
            stage.loss.name,
            stage.loss.parameter,
            self._learning_rate,
            stage.gradient[scores],
            None if stage.hessian is None else stage.hessian[scores],
            stage.copies,
            stage.drawn_of_all,
            tree.of_row,
            tree.n_leaves,
            self._limits.l1,
            self._limits.l2,
            stage.scores[scores],
            self._n_threads,
        )
        check_largest(largest, stage.number, self._learning_rate)
        return values, hessians

    def _refit_tree(self, stage: Stage, tree: "_Leaves", scores: slice) -> tuple[Floats, Floats]:
        """The same for losses and constraints that Newton steps do not suffice for."""
        leaf_of_row, loss = tree.of_row.astype(np.int32, copy=False), stage.loss
        stage.copies = _copies_of(stage.drawn_of_all, self._training.train_copies)
        steps, hessians = _native.newton_steps(
            stage.gradient[scores],
            None if stage.hessian is None else stage.hessian[scores],
            stage.copies,
            leaf_of_row,
            tree.n_leaves,
            self._limits.l1,
            self._limits.l2,
            self._n_threads,
        )
        if loss.refines_leaves:  # a tree has one score
            values = refined_values(stage, leaf_of_row, tree.n_leaves, scores.start)
            steps = values[:, np.newaxis]
        if self._limits.directions is not None and tree.splits is not None:
            steps = monotone_steps(steps[:, 0], hessians, tree.splits, self._limits.directions)
            steps = steps[:, np.newaxis]
        if not loss.refines_leaves:
            steps = loss.capped(steps, self._learning_rate)
        values = steps * self._learning_rate
        check_divergence(values, stage.number, self._learning_rate)
        _native.add_leaf_values(stage.scores[scores], leaf_of_row, values, self._n_threads)
        return values, hessians


class Splits(NamedTuple):
    """The arrays of a tree from which monotonic constraints are derived."""

    feature: NDArray[np.int32]
    threshold: Floats
    right: NDArray[np.int32]


def monotone_steps(
    steps: Floats, hessians: Floats, splits: Splits, directions: Directions
) -> Floats:
    """Steps of the leaves of a tree that respect monotonic constraints."""
    weight = _native.node_weights(
        splits.feature,
        splits.right,
        hessians,
        np.array([0, len(splits.feature)]),
        np.array([0, len(steps)]),
    )
    return monotone_values(*splits, weight, steps, directions)


class _Leaves(NamedTuple):
    """The leaf of each row in a tree; its splits, if there are monotonic constraints.

    `drawn` marks the rows that were drawn for its round; None: all of them. All in one tuple, as
    the garbage collector visits every container.
    """

    of_row: NDArray[Any]
    n_leaves: int
    splits: Splits | None
    drawn: Mask

    @classmethod
    def of_tree(
        cls, forest: Forest, t: int, leaf_of_row: NDArray[np.int32], drawn: Mask
    ) -> "_Leaves":
        """Describe a tree of a forest."""
        nodes = slice(forest.first_node[t], forest.first_node[t + 1])
        splits = Splits(forest.feature[nodes], forest.threshold[nodes], forest.right[nodes])
        n_leaves = int(forest.first_leaf[t + 1] - forest.first_leaf[t])
        return cls(leaf_of_row, n_leaves, splits, drawn)

    def compact(self) -> "_Leaves":
        """Copy the leaves, in as few bytes as they need."""
        n = self.n_leaves
        dtype = np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.int32
        return _Leaves(self.of_row.astype(dtype), n, self.splits, self.drawn)


def _copies_of(drawn: Mask, copies: Copies) -> Copies:
    """Number of copies of each row, 0 for those that are not drawn; None: 1 each."""
    if drawn is None:
        return copies
    return drawn.astype(np.int64) if copies is None else np.where(drawn, copies, 0)


def _leaves_of(trees: RoundTrees, drawn: Mask, *, with_splits: bool) -> list[_Leaves]:
    if isinstance(trees, GrownTrees) and not with_splits:
        return [_Leaves(of_row, n_leaves, None, drawn) for of_row, n_leaves in trees.leaves()]
    return [
        _Leaves(
            tree.leaf_of_row,
            len(tree.value),
            Splits(tree.feature, tree.threshold, tree.right) if with_splits else None,
            drawn,
        )
        for tree in trees
    ]
