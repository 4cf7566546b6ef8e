"""The trees of a round: how they are grown, and what their leaves answer."""

from dataclasses import replace

import numpy as np

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.boosting import Stage, refuse_runaway
from weald.losses import BuiltinLoss, Loss
from weald.trees import Forest, ForestBuilder, GrownTree, TreeGrower

_LN2 = 0.6931471805599453


def refined_values(stage: Stage, tree: GrownTree) -> Floats:
    """The best constant of the residuals in each leaf."""
    assert isinstance(stage.loss, BuiltinLoss)
    return stage.loss.leaf_constants(
        stage.training.y,
        stage.scores,
        stage.training.rows.weight,
        stage.copies,
        tree.leaf_of_row,
        len(tree.value),
    )


def in_user_units(forest: ForestBuilder, rows: Rows, loss: Loss) -> Forest:
    """Join the trees and take back what extreme targets and weights were divided by."""
    exponent = rows.target_exponent
    if not loss.is_of_logarithms:
        return forest.build(exponent, rows.weight_exponent)
    built = forest.build(0, rows.weight_exponent)
    # The logarithm of a product: only where scores start changes.
    return replace(built, base_score=built.base_score + exponent * _LN2)


class NewtonTrees:
    """A tree per score on gradients and hessians; its leaves hold Newton steps."""

    weighs_gradients = True

    def __init__(
        self, grower: TreeGrower, forest: ForestBuilder, learning_rate: float, n_threads: int
    ) -> None:
        self._grower = grower
        self._forest = forest
        self._learning_rate = learning_rate
        self._n_threads = n_threads

    def learn(self, stage: Stage) -> None:
        trees = self._grower.on_each(stage.gradient, stage.hessian, stage.copies)
        for k, tree in enumerate(trees):
            if stage.loss.refines_leaves:
                values = refined_values(stage, tree)
            else:
                values = stage.loss.capped(tree.value[:, 0])
            tree = replace(tree, value=values[:, np.newaxis] * self._learning_rate)
            refuse_runaway(tree.value, stage.number, self._learning_rate)
            tree.add_to(stage.scores[k], n_threads=self._n_threads)
            self._forest.add(tree, output=k)
