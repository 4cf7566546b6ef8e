"""Tree learners: the trees of a boosting round and their leaf values."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions
from weald.ensembles.rounds.constraints import monotone_values
from weald.ensembles.rounds.loop import Stage, check_divergence, check_largest
from weald.losses import BuiltinLoss, Loss, TargetLosses, best_step
from weald.trees import (
    Forest,
    ForestBuilder,
    GrownTree,
    GrownTrees,
    TreeGrower,
    picked_sets,
    unit_parts,
)

_LN2 = 0.6931471805599453

# Above this many rows, derivatives are computed twice per tree instead of stored: this saves 16
# bytes per row and costs about 3 ms per tree and million rows.
_MANY_ROWS = 2_000_000


def refined_values(stage: Stage, leaf_of_row: NDArray[np.int32], n_leaves: int, k: int) -> Floats:
    """Loss-minimising constant of the residuals of score k in each leaf."""
    assert isinstance(stage.loss, BuiltinLoss)
    return stage.loss.of_score(k).leaf_constants(
        stage.training.y,
        stage.scores[k : k + 1],
        stage.training.rows.weight,
        stage.copies,
        leaf_of_row,
        n_leaves,
    )


def in_user_units(forest: Forest, rows: Rows, loss: Loss) -> Forest:
    """Convert a forest to the user's units, undoing the scaling of targets and weights."""
    return in_units_of_targets(forest.scaled(0, rows.weight_unit), rows.target_exponent, loss)


def in_units_of_targets(forest: Forest, exponent: int, loss: Loss) -> Forest:
    """Return the forest for targets multiplied by 2**exponent and, if several, by their scales."""
    if isinstance(loss, TargetLosses):
        scales, factor = np.array(loss.scales), np.array(loss.scales)
        if forest.value.shape[1] == 1:  # a tree per target
            factor = np.repeat(scales[forest.output], np.diff(forest.first_leaf))[:, np.newaxis]
        forest = replace(forest, value=forest.value * factor, base_score=forest.base_score * scales)
    return moved(forest, exponent, loss)


def moved(forest: Forest, exponent: int, loss: Loss) -> Forest:
    """Return the forest for targets multiplied by 2**exponent."""
    if exponent == 0:
        return forest
    if loss.has_log_link:
        # Scores are logarithms: the factor only shifts the base score.
        return replace(forest, base_score=forest.base_score + exponent * _LN2)
    return replace(
        forest,
        value=np.ldexp(forest.value, exponent),
        base_score=np.ldexp(forest.base_score, exponent),
    )


class NewtonTrees:
    """Second-order learner: per round and score, one tree whose leaves hold Newton steps.

    Parameters
    ----------
    grower : TreeGrower
        Grows the trees.
    forest : ForestBuilder
        Receives the trees.
    learning_rate : float
        Shrinkage of the leaf values.
    n_threads : int
        Number of threads.
    first_member : int
        Index of the first tree; keys its column sampling.
    directions : Directions or None
        Monotonic constraints, for leaf values that are not Newton steps.

    Attributes
    ----------
    grown : GrownTrees or list of GrownTree
        The trees of the last round.
    """

    weighs_gradients = True

    def __init__(
        self,
        grower: TreeGrower,
        forest: ForestBuilder,
        learning_rate: float,
        n_threads: int,
        *,
        first_member: int = 0,
        directions: Directions | None = None,
    ) -> None:
        self._grower = grower
        self._forest = forest
        self._learning_rate = learning_rate
        self._n_threads = n_threads
        self._first_member = first_member
        self._directions = directions
        self.grown: GrownTrees | list[GrownTree] = []

    def _grow(self, stage: Stage) -> GrownTrees | list[GrownTree]:
        member = self._first_member + stage.first_member
        # A uint8 target marks a large table too, even if few of its rows have a weight.
        rows = stage.training.rows
        is_large = rows.n > _MANY_ROWS or rows.y.dtype == np.uint8
        loss = stage.loss
        if not (is_large and isinstance(loss, BuiltinLoss) and loss.is_row_wise) or (
            stage.n_scores > 1
        ):
            return self._grower.on_each(
                *stage.derivatives,
                stage.used_copies,
                n_used=stage.training.n_used,
                member=member,
            )
        tree = self._grower.on_loss(
            loss.of_score(0).for_core(),
            stage.training.y,
            stage.scores[0],
            stage.weight,
            stage.used_copies,
            n_used=stage.training.n_used,
            member=member,
        )
        return [tree]

    def learn(self, stage: Stage) -> None:
        """Grow the trees of a round and add their leaf values to the scores."""
        self.grown = trees = self._grow(stage)
        loss, rate = stage.loss, self._learning_rate
        if (
            not isinstance(trees, GrownTrees)
            or not isinstance(loss, BuiltinLoss)
            or loss.refines_leaves
        ):
            self._learn_one_by_one(stage, trees)
            return
        # Fast path: the core handles all trees of the round, without copies as NumPy arrays.
        check_largest(trees.take_steps(loss.name, loss.parameter, rate), stage.number, rate)
        trees.add_to(stage.scores, n_threads=self._n_threads)
        self._forest.add_round(trees)

    def _learn_one_by_one(self, stage: Stage, trees: Iterable[GrownTree]) -> None:
        for k, tree in enumerate(trees):
            if stage.loss.refines_leaves:
                values = refined_values(stage, tree.leaf_of_row, len(tree.value), k)
                if self._directions is not None:
                    values = monotone_values(
                        tree.feature,
                        tree.threshold,
                        tree.right,
                        tree.weight,
                        values,
                        self._directions,
                    )
            else:
                values = stage.loss.capped(tree.value[:, 0], self._learning_rate)
            tree = tree.answering(values[:, np.newaxis] * self._learning_rate)
            check_divergence(tree.value, stage.number, self._learning_rate)
            tree.add_to(stage.scores[k], n_threads=self._n_threads)
            self._forest.add(tree, output=k)


class DescentTrees:
    """First-order learner: per round and score, one tree fitted to the negative gradient.

    Parameters
    ----------
    grower : TreeGrower or None
        Grows the trees; None for a constant model, which has none.
    forest : ForestBuilder
        Receives the trees.
    step : {"leaf", "line_search", "constant"}
        Step size: chosen per leaf, by a line search per round, or 1.
    learning_rate : float
        Shrinkage of the step sizes.
    prune : callable
        Prunes a tree after growth.
    n_threads : int
        Number of threads.

    Attributes
    ----------
    step_sizes : list of float
        Step size of each tree.
    """

    weighs_gradients = True

    def __init__(
        self,
        grower: TreeGrower | None,
        forest: ForestBuilder,
        *,
        step: str,
        learning_rate: float,
        prune: Callable[[GrownTree], GrownTree],
        n_threads: int,
    ) -> None:
        self._grower = grower
        self.forest = forest
        self._step = step
        self._learning_rate = learning_rate
        self._prune = prune
        self._n_threads = n_threads
        self.step_sizes: list[float] = []

    def learn(self, stage: Stage) -> None:
        """Grow the trees of a round, all at the scores before it, and update the scores."""
        assert self._grower is not None
        trees, directions = [], np.empty_like(stage.scores)
        for k in range(stage.n_scores):
            tree = self._prune(
                self._grower.on_sums(
                    stage.gradient[k : k + 1],
                    stage.training.rows.weight,
                    stage.used_copies,
                    n_used=stage.training.n_used,
                    member=stage.first_member + k,
                )
            )
            tree = replace(tree, value=self._leaf_values(stage, tree, k)[:, np.newaxis])
            directions[k] = tree.value[tree.leaf_of_row, 0]
            trees.append(tree)
        size = self._learning_rate
        if self._step == "line_search":
            size *= searched_step(stage, directions)
        for k, tree in enumerate(trees):
            check_divergence(tree.value * size, stage.number, self._learning_rate)
            self.forest.add(tree, output=k)
            self.step_sizes.append(size)
        # Multiply, then add, as the predictor does: the same floating-point results.
        stage.scores += directions * size

    def _leaf_values(self, stage: Stage, tree: GrownTree, k: int) -> Floats:
        loss = stage.loss
        if self._step != "leaf":
            return tree.value[:, 0]
        if loss.refines_leaves:
            return refined_values(stage, tree.leaf_of_row, len(tree.value), k)
        if loss.hessian_is_one or stage.hessian is None:
            return tree.value[:, 0]
        steps = loss.leaf_steps(
            stage.gradient[k],
            stage.hessian[k],
            stage.copies,
            tree.leaf_of_row,
            len(tree.value),
            self._learning_rate,
        )
        # Friedman's factor (K - 1) / K for K classes, whose K scores have K - 1 degrees of freedom.
        return steps * ((stage.n_scores - 1) / stage.n_scores) if stage.n_scores > 1 else steps


def searched_step(stage: Stage, directions: Floats) -> float:
    """Line search: the step along the directions that minimises the loss of a round's rows."""
    rows = stage.training.rows
    return best_step(
        stage.loss, stage.training.y, stage.scores, directions, rows.weight, stage.copies
    )


def trees_of(forest: Forest, exponent: int = 0, weight_unit: float = 1.0) -> list[GrownTree]:
    """Trees of a forest as `ForestBuilder` takes them, in the units of a fit; to continue it."""
    trees = []
    for t in range(forest.n_trees):
        nodes = slice(forest.first_node[t], forest.first_node[t + 1])
        leaves = slice(forest.first_leaf[t], forest.first_leaf[t + 1])
        trees.append(
            GrownTree(
                feature=forest.feature[nodes],
                threshold=forest.threshold[nodes],
                right=forest.right[nodes],
                missing_left=forest.missing_left[nodes],
                weight=forest.weight[nodes] / weight_unit,
                gain=forest.gain[nodes] / unit_parts(weight_unit)[0],
                value=np.ldexp(forest.value[leaves], -exponent),
                leaf_of_row=np.zeros(0, dtype=np.int32),
                **picked_sets(forest.category_set[nodes], forest.first_word, forest.words),
                saw_missing=forest.saw_missing,
            )
        )
    return trees


def single_tree(forest: Forest, t: int) -> Forest:
    """Extract one tree as a forest, with its leaf values unscaled by the tree's weight."""
    nodes = slice(forest.first_node[t], forest.first_node[t + 1])
    leaves = slice(forest.first_leaf[t], forest.first_leaf[t + 1])
    node_arrays = ("feature", "threshold", "right", "missing_left", "weight", "gain")
    return Forest(
        **{name: getattr(forest, name)[nodes].copy() for name in node_arrays},
        value=forest.value[leaves].copy(),
        first_node=np.array([0, nodes.stop - nodes.start], dtype=np.int64),
        first_leaf=np.array([0, leaves.stop - leaves.start], dtype=np.int64),
        output=np.array([-1], dtype=np.int32),
        tree_weight=np.ones(1),
        base_score=np.zeros(1),
        n_columns=forest.n_columns,
        **picked_sets(forest.category_set[nodes], forest.first_word, forest.words),
        saw_missing=forest.saw_missing,
    )
