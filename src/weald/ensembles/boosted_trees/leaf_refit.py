"""Refit of leaf values on all rows after early stopping, with the tree structures kept."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions
from weald.ensembles.rounds.constraints import monotone_values
from weald.ensembles.rounds.loop import Stage, Training, Watchers, boost, check_divergence
from weald.ensembles.rounds.starting_scores import fitted_base, starting_scores
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
    """Re-estimate base scores and leaf values on all rows of `training`, round by round.

    The splits are kept. Of `limits`, the penalties and the monotonic constraints apply.
    """
    training = training.with_all_rows()
    rows = training.rows
    base = fitted_base(loss, training)
    refitter = _LeafRefitter(forest, learning_rate, limits, n_threads)
    boost(
        training,
        loss,
        starting_scores(loss, rows, base),
        refitter,
        rounds=range(forest.n_trees // forest.trees_a_round(loss.n_scores)),
        fraction=fraction,
        watcher=Watchers(()),
    )
    return replace(forest, value=refitter.value, weight=refitter.weight, base_score=base)


class _LeafRefitter:
    """Learner that re-estimates the leaf values of given trees."""

    weighs_gradients = True

    def __init__(
        self, forest: Forest, learning_rate: float, limits: TreeLimits, n_threads: int
    ) -> None:
        self._forest = forest
        self._learning_rate = learning_rate
        self._limits = limits
        self._n_threads = n_threads
        # Leaf indices of a few consecutive trees, from tree `_first` on.
        self._first, self._leaves = 0, np.zeros((0, 0), dtype=np.int32)
        self.value = forest.value.copy()
        self.weight = forest.weight.copy()

    def learn(self, stage: Stage) -> None:
        """Refit the trees of a round and add their new leaf values to the scores."""
        per_round = self._forest.trees_a_round(stage.n_scores)
        for t in range(stage.number * per_round, (stage.number + 1) * per_round):
            output = self._forest.output[t]
            self._refit_tree(stage, t, range(stage.n_scores) if output < 0 else [output])

    def _refit_tree(self, stage: Stage, t: int, scores: Sequence[int]) -> None:
        """Set new leaf values of a tree, one for each of the scores it predicts."""
        leaf_of_row = self._leaf_of_row(t, stage)
        own = slice(self._forest.first_leaf[t], self._forest.first_leaf[t + 1])
        n_leaves = int(own.stop - own.start)
        estimates = [self._estimate(stage, k, leaf_of_row, n_leaves) for k in scores]
        self._set_node_weights(t, sum((one.hessians for one in estimates), np.zeros(n_leaves)))
        for column, (k, estimate) in enumerate(zip(scores, estimates, strict=True)):
            values = estimate.values
            if self._limits.directions is not None:
                values = self._monotone(t, values, self._limits.directions)
            if not stage.loss.refines_leaves:
                values = stage.loss.capped(values, self._learning_rate)
            values = values * self._learning_rate
            check_divergence(values, stage.number, self._learning_rate)
            _native.add_leaf_values(stage.scores[k], leaf_of_row, values, self._n_threads)
            self.value[own, column] = values

    def _estimate(
        self, stage: Stage, k: int, leaf_of_row: NDArray[np.int32], n_leaves: int
    ) -> "_LeafEstimate":
        """Leaf values of score k, before constraints and shrinkage."""
        hessian = None if stage.hessian is None else stage.hessian[k]
        sums, hessians = _native.leaf_sums(
            stage.gradient[k], hessian, stage.copies, leaf_of_row, n_leaves, self._n_threads
        )
        if stage.loss.refines_leaves:
            return _LeafEstimate(refined_values(stage, leaf_of_row, n_leaves, k), hessians)
        sums = np.copysign(np.maximum(np.abs(sums) - self._limits.l1, 0.0), sums)
        curvature = hessians + self._limits.l2
        steps = np.zeros(n_leaves)
        np.divide(-sums, curvature, out=steps, where=curvature > 0.0)
        return _LeafEstimate(steps, hessians)

    def _monotone(self, t: int, values: Floats, directions: Directions) -> Floats:
        nodes = slice(self._forest.first_node[t], self._forest.first_node[t + 1])
        return monotone_values(
            self._forest.feature[nodes],
            self._forest.threshold[nodes],
            self._forest.right[nodes],
            self.weight[nodes],
            values,
            directions,
        )

    def _set_node_weights(self, t: int, hessians: Floats) -> None:
        """Set the weight of each node to the sum of the hessians of its leaves."""
        begin, end = self._forest.first_node[t], self._forest.first_node[t + 1]
        feature, right = self._forest.feature[begin:end], self._forest.right[begin:end]
        weight = self.weight[begin:end]
        weight[feature < 0] = hessians[right[feature < 0]]
        for i in np.flatnonzero(feature >= 0)[::-1]:  # children come after their parent
            weight[i] = weight[i + 1] + weight[right[i]]

    def _leaf_of_row(self, t: int, stage: Stage) -> NDArray[np.int32]:
        """Leaf index of each row in a tree; those of the next few trees are computed with it."""
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


class _LeafEstimate(NamedTuple):
    """Unconstrained values of the leaves of a tree, and the sums of their hessians."""

    values: Floats
    hessians: Floats
