"""The trees of a round: how they are grown, and what their leaves answer."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions
from weald.ensembles.rounds.constraints import held_monotone
from weald.ensembles.rounds.loop import Stage, refuse_largest, refuse_runaway
from weald.losses import BuiltinLoss, Loss, best_step
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

# Of more rows the derivatives are computed twice a tree instead of kept: 16 bytes a row less, for
# some 3 ms a tree and million rows.
_MANY_ROWS = 2_000_000


def refined_values(stage: Stage, leaf_of_row: NDArray[np.int32], n_leaves: int, k: int) -> Floats:
    """The best constant of the residuals of score k in each leaf."""
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
    """Take back what targets and weights were divided by."""
    forest = forest.scaled(0, rows.weight_unit)
    return moved(forest, rows.target_exponent, loss)


def moved(forest: Forest, exponent: int, loss: Loss) -> Forest:
    """A forest for targets that are multiplied by two to an exponent."""
    if exponent == 0:
        return forest
    if loss.is_of_logarithms:
        # The logarithm of a product: only where scores start changes.
        return replace(forest, base_score=forest.base_score + exponent * _LN2)
    return replace(
        forest,
        value=np.ldexp(forest.value, exponent),
        base_score=np.ldexp(forest.base_score, exponent),
    )


class NewtonTrees:
    """A tree per score on gradients and hessians; its leaves hold Newton steps."""

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
        self._first_member = first_member  # names the draws of the first tree
        self._directions = directions

    def _grown(self, stage: Stage) -> Iterable[GrownTree]:
        member = self._first_member + stage.first_member
        # Bytes are a target of many rows too, of which some had no weight.
        rows = stage.training.rows
        is_large = rows.n > _MANY_ROWS or rows.y.dtype == np.uint8
        if not is_large or stage.n_scores > 1 or not isinstance(stage.loss, BuiltinLoss):
            return self._grower.on_each(*stage.derivatives, stage.copies, member=member)
        tree = self._grower.on_loss(
            stage.loss.of_score(0).for_core(),
            stage.training.y,
            stage.scores[0],
            stage.weight,
            stage.copies,
            member=member,
        )
        return [tree]

    def learn(self, stage: Stage) -> None:
        trees, loss, rate = self._grown(stage), stage.loss, self._learning_rate
        if (
            not isinstance(trees, GrownTrees)
            or not isinstance(loss, BuiltinLoss)
            or loss.refines_leaves
        ):
            self._learn_tree_by_tree(stage, trees)
            return
        # The core knows all of it: the trees of a round at once, and no array of theirs is made.
        refuse_largest(trees.take_steps(loss.name, loss.parameter, rate), stage.number, rate)
        trees.add_to(stage.scores, n_threads=self._n_threads)
        self._forest.add_round(trees)

    def _learn_tree_by_tree(self, stage: Stage, trees: Iterable[GrownTree]) -> None:
        for k, tree in enumerate(trees):
            if stage.loss.refines_leaves:
                values = refined_values(stage, tree.leaf_of_row, len(tree.value), k)
                if self._directions is not None:
                    values = held_monotone(
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
            refuse_runaway(tree.value, stage.number, self._learning_rate)
            tree.add_to(stage.scores[k], n_threads=self._n_threads)
            self._forest.add(tree, output=k)


class DescentTrees:
    """A tree per score on the negative gradient; then a step in its direction, or in each leaf."""

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
        """Grow the trees of a round; all of them learn from the scores before it."""
        assert self._grower is not None  # None: one class, nothing to grow
        trees, directions = [], np.empty_like(stage.scores)
        for k in range(stage.n_scores):
            tree = self._prune(
                self._grower.on_sums(
                    stage.gradient[k : k + 1],
                    stage.training.rows.weight,
                    stage.copies,
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
            refuse_runaway(tree.value * size, stage.number, self._learning_rate)
            self.forest.add(tree, output=k)
            self.step_sizes.append(size)
        # As the predictor does: first the product, then the sum.
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
        # Friedman's factor for many classes, whose scores are one too many.
        return steps * ((stage.n_scores - 1) / stage.n_scores) if stage.n_scores > 1 else steps


def searched_step(stage: Stage, directions: Floats) -> float:
    """The step along the directions at which the loss of the rows of a round is least."""
    rows = stage.training.rows
    return best_step(
        stage.loss, stage.training.y, stage.scores, directions, rows.weight, stage.copies
    )


def trees_of(forest: Forest, exponent: int = 0, weight_unit: float = 1.0) -> list[GrownTree]:
    """A forest's trees in the units of a fit, as a builder takes them: to go on from there."""
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
    """One tree of a forest by itself, with the values of its leaves as they are."""
    nodes = slice(forest.first_node[t], forest.first_node[t + 1])
    leaves = slice(forest.first_leaf[t], forest.first_leaf[t + 1])
    of_nodes = ("feature", "threshold", "right", "missing_left", "weight", "gain")
    return Forest(
        **{name: getattr(forest, name)[nodes].copy() for name in of_nodes},
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
