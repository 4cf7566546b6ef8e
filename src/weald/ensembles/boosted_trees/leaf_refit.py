"""Known trees, new leaves: after early stopping the held-out rows are learnt from too."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions
from weald.ensembles.rounds.constraints import monotone_values
from weald.ensembles.rounds.loop import Stage, Training, Watchers, boost, refuse_runaway
from weald.ensembles.rounds.tree_learners import refined_values
from weald.ensembles.staging import KNOWN_LEAVES, dense_pieces
from weald.losses import Loss
from weald.trees import Forest, TreeLimits


def refit_leaves(
    forest: Forest,
    training: Training,
    loss: Loss,
    *,
    learning_rate: float,
    limits: TreeLimits,
    fraction: float,
    n_threads: int,
) -> Forest:
    """The same questions with the answers that all rows of `training` give, round after round.

    Of the limits those of a leaf's value count: penalties and directions.
    """
    training = training.with_all_rows()
    rows = training.rows
    base = loss.base_scores(training.y, rows.weight, training.seen_copies)
    leaves = _KnownLeaves(forest, learning_rate, limits, n_threads)
    boost(
        training,
        loss,
        np.repeat(base[:, np.newaxis], rows.n, axis=1),
        leaves,
        rounds=range(forest.n_trees // forest.trees_a_round(loss.n_scores)),
        fraction=fraction,
        watcher=Watchers(()),
    )
    return replace(forest, value=leaves.value, weight=leaves.weight, base_score=base)


class _KnownLeaves:
    """A learner of leaves whose trees are known."""

    weighs_gradients = True

    def __init__(
        self, forest: Forest, learning_rate: float, limits: TreeLimits, n_threads: int
    ) -> None:
        self._forest = forest
        self._learning_rate = learning_rate
        self._limits = limits
        self._n_threads = n_threads
        self._first, self._leaves = 0, np.zeros((0, 0), dtype=np.int32)
        self.value = forest.value.copy()
        self.weight = forest.weight.copy()

    def learn(self, stage: Stage) -> None:
        a_round = self._forest.trees_a_round(stage.n_scores)
        for t in range(stage.number * a_round, (stage.number + 1) * a_round):
            output = self._forest.output[t]
            self._learn_tree(stage, t, range(stage.n_scores) if output < 0 else [output])

    def _learn_tree(self, stage: Stage, t: int, scores: Sequence[int]) -> None:
        """New values of a tree's leaves, one for each of the scores it answers."""
        leaf_of_row = self._leaf_of_row(t, stage)
        own = slice(self._forest.first_leaf[t], self._forest.first_leaf[t + 1])
        n_leaves = int(own.stop - own.start)
        learnt = [self._learnt(stage, k, leaf_of_row, n_leaves) for k in scores]
        self._weigh_nodes(t, sum((one.hessians for one in learnt), np.zeros(n_leaves)))
        for column, (k, one) in enumerate(zip(scores, learnt, strict=True)):
            values = one.values
            if self._limits.directions is not None:
                values = self._held(t, values, self._limits.directions)
            if not stage.loss.refines_leaves:
                values = stage.loss.capped(values, self._learning_rate)
            values = values * self._learning_rate
            refuse_runaway(values, stage.number, self._learning_rate)
            _native.add_leaf_values(stage.scores[k], leaf_of_row, values, self._n_threads)
            self.value[own, column] = values

    def _learnt(
        self, stage: Stage, k: int, leaf_of_row: NDArray[np.int32], n_leaves: int
    ) -> "_Learnt":
        hessian = None if stage.hessian is None else stage.hessian[k]
        sums, hessians = _native.leaf_sums(
            stage.gradient[k], hessian, stage.copies, leaf_of_row, n_leaves, self._n_threads
        )
        if stage.loss.refines_leaves:
            return _Learnt(refined_values(stage, leaf_of_row, n_leaves, k), hessians)
        sums = np.copysign(np.maximum(np.abs(sums) - self._limits.l1, 0.0), sums)
        curvature = hessians + self._limits.l2
        steps = np.zeros(n_leaves)
        np.divide(-sums, curvature, out=steps, where=curvature > 0.0)
        return _Learnt(steps, hessians)

    def _held(self, t: int, values: Floats, directions: Directions) -> Floats:
        nodes = slice(self._forest.first_node[t], self._forest.first_node[t + 1])
        return monotone_values(
            self._forest.feature[nodes],
            self._forest.threshold[nodes],
            self._forest.right[nodes],
            self.weight[nodes],
            values,
            directions,
        )

    def _weigh_nodes(self, t: int, hessians: Floats) -> None:
        begin, end = self._forest.first_node[t], self._forest.first_node[t + 1]
        feature, right = self._forest.feature[begin:end], self._forest.right[begin:end]
        weight = self.weight[begin:end]
        weight[feature < 0] = hessians[right[feature < 0]]
        for i in np.flatnonzero(feature >= 0)[::-1]:  # children come after their parent
            weight[i] = weight[i + 1] + weight[right[i]]

    def _leaf_of_row(self, t: int, stage: Stage) -> NDArray[np.int32]:
        """The leaf of each row in a tree; those of the next few trees are found by the way."""
        rows = stage.training.rows
        if not self._first <= t < self._first + len(self._leaves):
            end = min(self._forest.n_trees, t + max(1, KNOWN_LEAVES // rows.n))
            trees = self._forest.part(t, end)
            pieces = [
                trees.apply(piece, n_threads=self._n_threads) for piece in dense_pieces(rows.table)
            ]
            self._first, self._leaves = t, np.ascontiguousarray(np.concatenate(pieces).T)
        leaf_of_row: NDArray[np.int32] = self._leaves[t - self._first]
        return leaf_of_row


class _Learnt(NamedTuple):
    """What each leaf would answer by itself, and the sum of its hessians."""

    values: Floats
    hessians: Floats
